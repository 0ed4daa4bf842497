"""One open file that whole lines are appended to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from monitor.sinks import SinkError
from monitor.sinks.events_file.torn import mend

if sys.platform != "win32":  # there, nobody is kept from opening it twice
    import fcntl


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class LineFile:
    """Open until `close`. Raises OSError where the disk refuses, SinkError where another program has the file or it is
    no regular file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not path.is_file():
            raise SinkError(f"events_file.path {path} is no regular file: name another")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, _FLAGS, 0o600)
        self.synced = True
        try:
            self._lock()
            mend(self._descriptor, str(path))
        except BaseException:
            os.close(self._descriptor)
            raise

    def _lock(self) -> None:
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SinkError(
                f"another turnwatch writes to {self.path}: give this one a file of its own (events_file.path)"
            ) from error

    @property
    def size(self) -> int:
        """Bytes, whoever wrote or cut them."""
        return os.fstat(self._descriptor).st_size

    @property
    def in_place(self) -> bool:
        """The file still stands under its name."""
        try:
            found, own = self.path.stat(), os.fstat(self._descriptor)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)

    def append(self, line: bytes) -> None:
        """Write a line, all of it or nothing."""
        start, rest = self.size, memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            if len(rest) < len(line):
                os.ftruncate(self._descriptor, start)
            raise
        self.synced = False

    def sync(self) -> None:
        """Bring it to the disk itself."""
        if not self.synced:
            os.fsync(self._descriptor)
            self.synced = True

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)
