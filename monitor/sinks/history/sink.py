"""Takes the events of all calls, and writes them to the history in batches. See `monitor.sinks.history`."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import ClassVar

from monitor.core.events import AlertCleared, AlertRaised, Event
from monitor.sinks import Sink, SinkError
from monitor.sinks.disk_trouble import DiskTrouble
from monitor.sinks.history.following import Following
from monitor.sinks.history.held import Held
from monitor.sinks.history.schema import connect
from monitor.sinks.history.settings import HistorySettings
from monitor.sinks.history.store import BUSY_MS, Store, Told
from monitor.sinks.history.writers import BEAT_S

log = logging.getLogger("turnwatch.history")

MAX_BATCH = 500
"""Events in one transaction."""
TRY_AGAIN_S = 1.0
_LAST_WAIT_MS = 1500
"""At the end another program's transaction is waited for a little longer: there is no later."""
_AT_ONCE = (AlertRaised, AlertCleared)


class HistorySink:
    """Writes to one file; give it a thread of its own, since it may block for half a second. Where the file cannot be
    written (disk full, read-only, locked), events are held in memory, up to a bound, until it can: told once, and how
    many were lost if there were too many. `on_written`: called with each batch once it is committed.

    `deliver_from` takes events of other sites than the settings'."""

    keeps: ClassVar[bool] = True

    def __init__(
        self, path: Path, settings: HistorySettings, on_written: Callable[[Sequence[Told]], None] | None = None
    ) -> None:
        self.written = 0
        """Events that are committed: acknowledged. Those that were written already count as well."""
        self.refused = 0
        """Events that could not be written for what they were: a fault of ours."""
        self._path, self._settings, self._on_written = path, settings, on_written
        self._store = Store(path, settings)
        self._held = Held()
        self._following = Following(settings.teach_baselines)
        self._due: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._trouble = DiskTrouble(log)
        self._tried_at = 0.0
        self._told_lost = 0
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the file; if that does not work now, it is tried again."""
        more = self._look_after()
        self._keeping = asyncio.create_task(self._keep_house(more), name="history")

    async def deliver(self, event: Event) -> None:
        """Take an event. It is committed within `commit_ms`, an alert when this returns."""
        self.deliver_from(self._settings.site, event)

    def deliver_from(self, site: str, event: Event) -> None:
        """Take an event of a call of `site`."""
        if not self._held:
            self._since = time.monotonic()
        self._held.add(Told(site, event, self._following.take(site, event)))
        late = time.monotonic() - self._since >= self._settings.commit_ms / 1000
        if late or isinstance(event, _AT_ONCE) or len(self._held) >= MAX_BATCH:
            self.flush()
        elif self._due is None:
            self._due = asyncio.get_running_loop().call_later(self._settings.commit_ms / 1000, self.flush)

    async def close(self) -> None:
        """Write what is left, and let go of the file."""
        if self._keeping is not None:
            self._keeping.cancel()
        with suppress(sqlite3.Error):
            self._store.set_busy(_LAST_WAIT_MS)
        self._tried_at = float("-inf")
        self.flush()
        if self._held:
            log.error("%d events are lost: the history %s could not be written to the end", len(self._held), self._path)
        elif not self._trouble.refused:
            self._works(last=True)
        self._store.close()

    def flush(self) -> None:
        """Commit what is held. Does nothing for a moment after the disk has refused."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._trouble.refused and time.monotonic() - self._tried_at < TRY_AGAIN_S:
            return
        while batch := self._held.first(MAX_BATCH):
            if not self._write(batch):
                return
            self._held.done(len(batch))
        self._since = time.monotonic()

    def _write(self, batch: Sequence[Told]) -> bool:
        """-> whether the batch is done with: written, or given up for a fault of its own."""
        try:
            self._store.write(batch)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError) as error:
            return self._write_singly(batch, error)
        except (sqlite3.Error, OSError, SinkError) as error:
            self._fails(error)
            return False
        except Exception as error:
            return self._write_singly(batch, error)
        self._written(batch)
        self._works()
        return True

    def _write_singly(self, batch: Sequence[Told], error: Exception) -> bool:
        """One of them is to blame: it costs itself alone."""
        if len(batch) > 1:
            done = [self._write([told]) for told in batch]
            return all(done)  # if not, those that are written come once more, and count once
        self.refused += 1
        if self.refused == 1:
            kind = batch[0].event.type
            log.error("an event (%s) cannot be written to the history: %s: %s", kind, type(error).__name__, error)
        return True

    def _written(self, batch: Sequence[Told]) -> None:
        self.written += len(batch)
        if self._on_written is not None:
            self._on_written(batch)

    def _fails(self, error: Exception) -> None:
        self._tried_at = time.monotonic()
        if "locked" not in str(error):
            self._store.reopen()
        self._trouble.fails(
            f"the history {self._path} cannot be written: {error}. Events are held until it can. {_HINT}"
        )

    def _works(self, *, last: bool = False) -> None:
        lost = self._held.lost - self._told_lost
        rest = f"{lost} events were lost" if lost else "nothing was lost"
        told = f"the history {self._path} is written again: {rest}"
        if self._trouble.works(lambda: told, dear=lost > 0, last=last):
            self._told_lost += lost

    async def _keep_house(self, more: bool) -> None:
        """Beats of this program's heart; deleting; and what the disk refused is tried again."""
        next_beat = time.monotonic() + BEAT_S
        while True:
            await asyncio.sleep(0.05 if more else TRY_AGAIN_S)
            if self._held and (self._trouble.refused or self._due is None):
                self.flush()
            if more or time.monotonic() >= next_beat or (self._trouble.refused and not self._held):
                more = self._look_after()
                next_beat = time.monotonic() + BEAT_S
            if not self._trouble.refused:
                self._works()  # for long enough, perhaps

    def _look_after(self) -> bool:
        try:
            more = self._store.look_after()
        except (sqlite3.Error, OSError, SinkError) as error:
            self._fails(error)
            return False
        if not self._held:
            self._works()
        return more

    def figures(self) -> dict[str, float]:
        """How it is doing."""
        return {
            "written": self.written,
            "duplicates": self._store.duplicates,
            "held": len(self._held),
            "lost": self._held.lost,
            "refused": self.refused,
            "connected": float(not self._trouble.refused),
        }


_HINT = "Look at the disk's space, the file's rights, and who else has it open"


def make(settings: HistorySettings) -> list[tuple[str, Sink]]:
    """The sink, if there is to be a history. Raises SinkError where the file is none, or cannot be had."""
    if settings.file is None:
        return []
    path = Path(settings.file).expanduser()
    try:
        with closing(connect(path, busy_ms=BUSY_MS)):
            pass
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise SinkError(f"history.file {path}: {error}. {_HINT}") from error
    except (sqlite3.Error, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SinkError(f"history.file {path} cannot be opened: {reason}. {_HINT}") from error
    if path.exists() and not os.access(path, os.W_OK):
        raise SinkError(f"history.file {path} cannot be written to. {_HINT}")
    return [("history", HistorySink(path, settings))]
