"""The spool's file: one SQLite table in WAL mode, held by one program alone. It raises what SQLite raises, and OSError:
`monitor.sinks.spool` knows what to do then."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from monitor.sinks import SinkError

log = logging.getLogger("turnwatch.spool")


class Item(NamedTuple):
    """What waits. `number`: its place in the order, never given twice. `put_at`: when it was put, in seconds
    since 1970."""

    number: int
    key: str
    body: bytes
    meta: dict[str, str]
    put_at: float

    @property
    def size(self) -> int:
        """Bytes that it counts for."""
        return size_of(len(self.key.encode()), len(self.body), len(json.dumps(self.meta)))


def size_of(key: int, body: int, meta: int) -> int:
    """Bytes that an item counts for, its row's own share among them."""
    return key + body + meta + 32


class SpoolFile:
    """An open file. Raises SinkError where another program holds it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._connection = _connected(path)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise SinkError(
                f"another turnwatch uses {path}: two programs cannot share what waits for one target. Give this one a "
                "folder of its own (spool_dir) and, for MQTT, a name of its own (mqtt.monitor), or stop the other"
            ) from error
        except sqlite3.DatabaseError as error:  # no spool, or a damaged one: it is put aside, since alerts must go on
            aside = path.with_suffix(f".damaged-{int(time.time())}")
            path.rename(aside)
            log.error("the spool %s is damaged (%s): it is put aside as %s, a new one begins", path, error, aside.name)
            self._connection = _connected(path)

    def sizes(self) -> Iterator[tuple[int, str, int]]:
        """Number, key and size of every item, in order."""
        wanted = "number, key, length(CAST(key AS BLOB)), length(body), length(meta)"
        for number, key, *lengths in self._connection.execute(f"SELECT {wanted} FROM items ORDER BY number"):
            yield number, key, size_of(*lengths)

    def behind(self, number: int) -> Iterator[Item]:
        """The items with greater numbers, in order."""
        wanted = "number, key, body, meta, put_at"
        rows = self._connection.execute(f"SELECT {wanted} FROM items WHERE number > ? ORDER BY number", (number,))
        for row in rows:
            yield Item(row[0], row[1], row[2], json.loads(row[3]), row[4])

    def write(self, new: Iterable[Item], gone: Iterable[int]) -> None:
        """Take the new ones in and the others out, all of it or nothing. What comes in is on the platter when this
        returns. What only goes out need not be: after a power cut it would come back, and be delivered twice."""
        rows = [(one.number, one.key, one.body, json.dumps(one.meta), one.put_at) for one in new]
        self._connection.execute(f"PRAGMA synchronous={'FULL' if rows else 'NORMAL'}")
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany("DELETE FROM items WHERE number = ?", [(number,) for number in gone])
            self._connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):  # SQLite has rolled back by itself
                self._connection.execute("ROLLBACK")
            raise

    def close(self, *, empty: bool) -> None:
        """Let go of the file; one that is `empty` is made small first."""
        with suppress(sqlite3.Error):
            if empty:
                self._connection.execute("VACUUM")
        with suppress(sqlite3.Error):
            self._connection.close()


def _connected(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives the files beside it the same rights
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # let go by the system, however the program ends
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA journal_size_limit=4194304")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS items (number INTEGER PRIMARY KEY, key TEXT, body BLOB, meta TEXT, put_at REAL)"
        )
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
