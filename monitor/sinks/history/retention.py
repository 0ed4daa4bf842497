"""What is old goes, in small steps, so that nobody who writes has to wait for long. Calls that go on stay."""

from __future__ import annotations

import sqlite3

from monitor.sinks.history.rows import forget
from monitor.sinks.history.schema import transaction
from monitor.sinks.history.settings import HistorySettings
from monitor.sinks.history.writers import QUIET_CALL_MS, now

CALLS_A_STEP = 5
_PAGES_A_STEP = 500
_DAY_MS = 24 * 3600 * 1000
_LONG_SILENT_MS = 5 * 60_000
"""A writer that has not been heard of for so long is not coming back to its calls. (A reader guesses sooner.)"""

_OVER = """(ended_at IS NOT NULL OR fleet OR touched_at < :quiet
    OR writer NOT IN (SELECT writer FROM writers WHERE beat_at >= :silent))"""


def step(file: sqlite3.Connection, settings: HistorySettings) -> int:
    """Delete a few calls that are too old, or the oldest if the file is too large. -> how many went; 0: no more to
    do. To be called outside of a transaction. Raises sqlite3.Error."""
    moment = now()
    known = {"quiet": moment - QUIET_CALL_MS, "silent": moment - _LONG_SILENT_MS, "most": CALLS_A_STEP}
    aged = "0" if settings.keep_days is None else "touched_at < :oldest"
    known["oldest"] = int(moment - (settings.keep_days or 0) * _DAY_MS)
    if settings.max_mb is not None and used(file) > settings.max_mb * (1 << 20):
        aged = "1"
    chosen = f"SELECT run FROM calls WHERE {aged} AND {_OVER} ORDER BY touched_at LIMIT :most"
    gone: list[int] = []
    if file.execute(chosen, known).fetchone():
        with transaction(file):
            gone = [run for (run,) in file.execute(chosen, known)]
            if gone:
                forget(file, gone)
    if settings.keep_days is not None:
        file.execute("DELETE FROM baselines WHERE ended_at < :oldest", {"oldest": known["oldest"]})
    if gone:
        # `execute` would stop after one page, since the answer of this pragma has rows without columns.
        file.executescript(f"PRAGMA incremental_vacuum({_PAGES_A_STEP})")
    return len(gone)


def used(file: sqlite3.Connection) -> int:
    """Bytes in use: the size of the file without its free pages."""
    pages, free, size = (
        file.execute(f"PRAGMA {key}").fetchone()[0] for key in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
