"""Which programs write to a history, and which of them live: a call that has not ended goes on only while its writer
does.

Every writer renews its row every few seconds. A reader in the same place (one machine, one space of process ids) sees
at once that a process is gone; any other believes in a writer for a minute after its last beat.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import time
from contextlib import suppress

BEAT_S = 10.0
SILENT_MS = 60_000
"""A writer is taken as gone after so long without a beat."""
QUIET_CALL_MS = 24 * 3600 * 1000
"""A call that nothing was told of for a day does not go on, whoever it was told by."""


def now() -> int:
    """Ms since 1970."""
    return time.time_ns() // 1_000_000


def place() -> str:
    """Where process ids mean the same as here."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{platform.node()} {space}".strip()


def enter(connection: sqlite3.Connection) -> int:
    """A new writer -> its number."""
    row = connection.execute(
        "INSERT INTO writers (place, pid, beat_at) VALUES (?, ?, ?) RETURNING writer", (place(), os.getpid(), now())
    ).fetchone()
    return int(row[0])


def beat(connection: sqlite3.Connection, writer: int) -> None:
    """It is still there. Those of whom nothing is left to be said are forgotten."""
    connection.execute(
        "INSERT INTO writers VALUES (?, ?, ?, ?) ON CONFLICT (writer) DO UPDATE SET beat_at = excluded.beat_at",
        (writer, place(), os.getpid(), now()),
    )
    connection.execute("DELETE FROM writers WHERE beat_at < ?", (now() - QUIET_CALL_MS,))


def leave(connection: sqlite3.Connection, writer: int) -> None:
    """It is gone, and its calls with it."""
    connection.execute("DELETE FROM writers WHERE writer = ?", (writer,))


def alive(connection: sqlite3.Connection) -> set[int]:
    """The writers that live, as far as can be told from here."""
    found = connection.execute("SELECT writer, place, pid FROM writers WHERE beat_at >= ?", (now() - SILENT_MS,))
    here = place()
    return {writer for writer, where, pid in found if where != here or _runs(pid)}


def _runs(pid: int) -> bool:
    if os.name == "nt":  # there, signal 0 would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
