"""The file as one program writes it: a batch of events, one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from monitor.core.events import Event
from monitor.sinks.history import retention, rows, writers
from monitor.sinks.history.following import Whole
from monitor.sinks.history.runs import Runs
from monitor.sinks.history.schema import connect, transaction
from monitor.sinks.history.settings import HistorySettings

BUSY_MS = 500
"""How long another program's transaction is waited for; after that the batch is tried again later."""


class Told(NamedTuple):
    """An event, where it is from, and what there is to say of its call if it is the last."""

    site: str
    event: Event
    whole: Whole | None = None


class Store:
    """Writes to a history's file, which is opened when there is something to write. Everything raises sqlite3.Error or
    OSError where the disk does not take it, and SinkError where the file is none; then nothing of that has happened."""

    def __init__(self, path: Path, settings: HistorySettings) -> None:
        self.path = path
        self.duplicates = 0
        """Events that were written already."""
        self._settings = settings
        self._runs = Runs()
        self._file: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._others = -1

    def write(self, batch: Sequence[Told]) -> None:
        """On the platter when this returns, all of it or nothing."""
        file, duplicates = self._opened(), 0
        try:
            with transaction(file):
                if (others := file.execute("PRAGMA data_version").fetchone()[0]) != self._others:
                    self._runs.refresh(file)
                for told in batch:
                    run = self._runs.of(file, told.site, told.event)
                    if run.seen.add(told.event.seq):
                        rows.write(file, run, told.event, told.whole)
                    else:
                        duplicates += 1
                for run in self._runs.touched:
                    rows.finish(file, run)
        except BaseException:
            self._runs.undone()
            raise
        self._runs.kept()
        self._others = others
        self.duplicates += duplicates

    def look_after(self) -> bool:
        """Say that this program lives, and delete a little of what is too old. -> whether there is more to delete."""
        file = self._opened()
        writers.beat(file, self._runs.writer)
        return retention.step(file, self._settings) > 0

    def reopen(self) -> None:
        """Let go of the file, to open it anew with the next batch."""
        if self._file is not None:
            with suppress(sqlite3.Error):
                self._file.close()
        self._file = None

    def set_busy(self, ms: int) -> None:
        """How long to wait for other programs from now on."""
        if self._file is not None:
            self._file.execute(f"PRAGMA busy_timeout = {ms}")

    def close(self) -> None:
        """This program writes no more."""
        if self._file is not None:
            with suppress(sqlite3.Error):
                writers.leave(self._file, self._runs.writer)
        self.reopen()

    def _opened(self) -> sqlite3.Connection:
        if self._file is not None and self._inode != _inode(self.path):
            self.reopen()  # somebody has moved the file away, or put another in its place
        if self._file is None:
            file = connect(self.path, busy_ms=BUSY_MS)
            try:
                inode = _inode(self.path)
                if inode != self._inode:
                    self._runs.writer = writers.enter(file)
                    self._runs.forget_rows()
            except BaseException:
                file.close()
                raise
            self._file, self._inode, self._others = file, inode, -1
        return self._file


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
