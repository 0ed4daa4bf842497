"""What waits for a far side that may be away, kept on disk: none is lost when the program is killed in the middle.

    spool = Spool(spool_path(None, "webhook", "hooks.example.org/alerts"))
    spool.put("call-1#7", b"...", {"type": "alert.raised"})     # on disk when this returns
    item = spool.head()                                         # the oldest; behind it: spool.after(item.number)
    spool.done(item.number)                                     # the far side has it: only now it is forgotten

One file a target, one program a file. The spool is bounded: what is too much drops the oldest, counted and told. Where
the disk refuses (full, read-only), items are kept in memory, within the same bounds, until it takes them again: told
once. A program killed between delivery and `done` delivers again, under the same key, by which the receiver knows it.

Use it from one thread at a time; `len`, `dropped` and `on_disk` may be asked from any.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.sinks import SinkError
from monitor.sinks.disk_trouble import DiskTrouble
from monitor.sinks.spool_file import Item as Item
from monitor.sinks.spool_file import SpoolFile

log = logging.getLogger("turnwatch.spool")

_TRY_AGAIN_S = 1.0
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def spool_path(spool_dir: str | None, sink: str, target: str) -> Path:
    """The file of a sink's `target` (whatever tells it from others; without secrets, since it shows in the name).
    `spool_dir`: None for `$XDG_STATE_HOME/turnwatch`, or else `~/.local/state/turnwatch`."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(spool_dir).expanduser() if spool_dir else Path(state) / "turnwatch"
    plain = re.sub(r"[^A-Za-z0-9.-]+", "_", target)[:60].strip("_")
    return folder / f"{sink}-{plain}-{hashlib.sha256(target.encode()).hexdigest()[:8]}.spool"


def spool_at(spool_dir: str | None, sink: str, target: str) -> Path:
    """The same, for a sink that is about to use it. Raises SinkError where its folder cannot be had or written to; a
    full disk may get room, and is waited for."""
    path = spool_path(spool_dir, sink, target)
    trial = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        if path.exists() and not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
            raise PermissionError(errno.EACCES, f"{path.name} in it is no file, or cannot be written")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(trial, os.O_WRONLY | os.O_CREAT, 0o600))
        trial.unlink()
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) in _NO_ROOM:
            return path
        why = getattr(error, "strerror", None) or error
        raise SinkError(
            f"{sink}.spool_dir {path.parent} cannot be written to: {why}. What waits for the far side is kept there: "
            "name a folder that this user can write to"
        ) from error
    return path


class Spool:
    """Items in the order in which they were put. `path`: None keeps them in memory only, which is told. `max_bytes`:
    of keys, bodies and meta together; the file may be a little larger. Raises SinkError where another program uses the
    file."""

    def __init__(self, path: Path | None, *, max_items: int = 10_000, max_bytes: int = 64 << 20) -> None:
        self.dropped = 0
        """Items that were given up because too many waited."""
        self._path, self._max_items, self._max_bytes = path, max_items, max_bytes
        self._sizes: dict[int, tuple[str, int]] = {}  # number -> key, size: all that waits, in order
        self._keys: dict[str, int] = {}
        self._bytes = 0
        self._held: dict[int, Item] = {}  # what is in memory only; newer than all that the file has
        self._gone: list[int] = []  # what the file has still to forget
        self._next = time.time_ns() // 1000  # beyond all numbers of former programs, also if they cannot be read yet
        self._file: SpoolFile | None = None
        self._trouble = DiskTrouble(log)
        self._overflowing = False
        self._tried_at = float("-inf")
        if path is None:
            log.warning("the spool is in memory only: what waits when the program ends is lost")
        else:
            with self._trying("opened"):
                self._open(path)

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def on_disk(self) -> bool:
        """All that waits is on disk."""
        return not self._held

    def put(self, key: str, body: bytes, meta: dict[str, str]) -> int:
        """Keep an item; it is safe when this returns, if the disk takes it. One whose key waits already is ignored.
        -> its number, or that of the one that waits."""
        key = key.encode("utf-8", "backslashreplace").decode()  # no file takes a lone surrogate
        if key in self._keys:
            return self._keys[key]
        item = Item(self._next, key, body, meta, time.time())
        self._next += 1
        self._held[item.number] = item
        self._count(item.number, key, item.size)
        self._drop_oldest()
        self._settle()
        return item.number

    def head(self) -> Item | None:
        """The oldest that waits."""
        return self.after(0)

    def after(self, number: int) -> Item | None:
        """The oldest that waits behind `number`, for those who have several on their way at once. None if there is
        none, or the disk does not give it, which is told: ask again later."""
        self._settle()
        readable, found = self._file is None or len(self._sizes) == len(self._held), None
        if self._file is not None and not readable:
            with self._trying("read"):
                found = next((one for one in self._file.behind(number) if one.number in self._sizes), None)
                readable = True
        if found is None and readable:  # what is held is newer: it may not overtake what cannot be read
            found = next((item for place, item in self._held.items() if place > number), None)
        return found

    def done(self, number: int) -> None:
        """It has arrived: forget it."""
        self._forget(number)
        if not self._sizes and self._overflowing:
            self._overflowing = False
            log.warning("%s is empty again; %d were dropped so far", self, self.dropped)
        if self._gone and self._file is not None:
            with self._trying("written"):
                self._file.write((), self._gone)
                self._gone.clear()

    def close(self) -> None:
        """Let go of the file. What waits stays in it."""
        self._tried_at = float("-inf")
        self._settle()
        if self._held:
            log.error("%s: %d items are lost: they were in memory only", self, len(self._held))
        elif not self._trouble.refused:
            self._works(last=True)
        if self._file is not None:
            self._file.close(empty=not self._sizes)
        self._file = self._path = None

    def __str__(self) -> str:
        return f"the spool {self._path}" if self._path else "the spool in memory"

    def _count(self, number: int, key: str, size: int) -> None:
        self._sizes[number] = (key, size)
        self._keys[key] = number
        self._bytes += size

    def _forget(self, number: int) -> None:
        if number not in self._sizes:
            return
        key, size = self._sizes.pop(number)
        self._bytes -= size
        del self._keys[key]
        if self._held.pop(number, None) is None:
            self._gone.append(number)

    def _drop_oldest(self) -> None:
        while len(self._sizes) > self._max_items or self._bytes > self._max_bytes:
            self._forget(next(iter(self._sizes)))
            self.dropped += 1
            if not self._overflowing:
                self._overflowing = True
                log.error("%s is full (%d items, %d bytes): its oldest are dropped", self, *self._bounds)

    @property
    def _bounds(self) -> tuple[int, int]:
        return self._max_items, self._max_bytes

    def _settle(self) -> None:
        """Bring to disk what is in memory only. A disk that refused is asked again after a second."""
        if self._path is None or not (self._held or self._file is None):
            if not self._held and not self._trouble.refused:
                self._works()
            return
        if self._trouble.refused and time.monotonic() - self._tried_at < _TRY_AGAIN_S:
            return
        with self._trying("written"):
            if self._file is None:
                self._open(self._path, late=True)
            if self._file is not None:
                self._file.write(self._held.values(), self._gone)
                self._held.clear()
                self._gone.clear()
                self._works()

    @contextmanager
    def _trying(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._tried_at = time.monotonic()
            why = "Look at the disk's space, the folder's rights and the setting spool_dir"
            self._trouble.fails(f"{self} could not be {what}: {error}. Until it can, what waits is in memory. {why}")

    def _works(self, *, last: bool = False) -> None:
        self._trouble.works(lambda: f"{self} works again: all that waits is on disk", last=last)

    def _open(self, path: Path, *, late: bool = False) -> None:
        """Open the file and learn what waits in it. `late`: something may wait in memory by now, and comes behind."""
        try:
            file = SpoolFile(path)
        except SinkError as error:
            if late:
                raise OSError(str(error)) from error
            raise
        newer, self._sizes, self._keys, self._bytes = self._sizes, {}, {}, 0
        for number, key, size in file.sizes():
            self._count(number, key, size)
        for number, (key, size) in newer.items():
            if key in self._keys:
                del self._held[number]
            else:
                self._count(number, key, size)
        self._next = max(self._next, *self._sizes, 0) + 1
        self._file = file
        self._drop_oldest()
