"""Events of all calls into one file, line by line, as they come."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from pathlib import Path

from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.sinks import Sink, SinkError
from monitor.sinks.disk_trouble import DiskTrouble
from monitor.sinks.events_file.line_file import LineFile
from monitor.sinks.events_file.rotation import Aside
from monitor.sinks.events_file.settings import EventsFileSettings

log = logging.getLogger("turnwatch.events_file")

TRY_AGAIN_S = 1.0
MAX_HELD_BYTES = 16 << 20
"""So many bytes of lines are held while the disk refuses them."""
_LOOK_S = 0.5
"""How often it is looked after whether somebody has moved the file away."""
_ROTATE_AGAIN_S = 60.0
_PACK_WITHIN_S = 1.0


class EventsFileSink:
    """Each line is written, whole, before `deliver` returns; where the disk refuses (full, read-only), lines are held
    in memory, up to a bound, and written once it takes them again: told once, and how many were lost if there were too
    many. May block: give it a thread of its own."""

    def __init__(self, path: Path, settings: EventsFileSettings) -> None:
        self.written = 0
        self.lost = 0
        self._path, self._settings = path, settings
        self._aside = Aside(path, settings.keep_files, settings.gzip)
        self._file: LineFile | None = None
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._trouble = DiskTrouble(log)
        self._told_lost = 0
        self._tried_at = self._looked_at = self._synced_at = self._rotate_at = 0.0
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the file; if the disk refuses now, it is tried again."""
        self._write_held()
        if not self._trouble.refused:
            self._aside.tidy()
        self._keeping = asyncio.create_task(self._keep_house(), name="events_file")

    async def deliver(self, event: Event) -> None:
        """Write an event's line."""
        self._hold(encode(event) + b"\n")
        self._write_held()

    async def close(self) -> None:
        """Write what is left, and let go of the file."""
        if self._keeping is not None:
            self._keeping.cancel()
        self._tried_at = float("-inf")
        self._write_held()
        if self._held:
            log.error("%d events are lost: %s could not be written to the end", len(self._held), self._path)
        elif not self._trouble.refused:
            self._works(last=True)
        self._let_go()
        self._aside.wait(_PACK_WITHIN_S)

    def _hold(self, line: bytes) -> None:
        self._held.append(line)
        self._held_bytes += len(line)
        while self._held_bytes > MAX_HELD_BYTES:
            self._held_bytes -= len(self._held.popleft())
            self.lost += 1

    def _write_held(self) -> None:
        now = time.monotonic()
        if self._trouble.refused and now - self._tried_at < TRY_AGAIN_S:
            return
        try:
            file = self._opened(now)
            while self._held:
                file = self._with_room(file, len(self._held[0]))
                file.append(self._held[0])
                self._held_bytes -= len(self._held.popleft())
                self.written += 1
            self._sync(file, now)
        except (OSError, SinkError) as error:
            self._fails(error)
        else:
            self._works()

    def _opened(self, now: float) -> LineFile:
        if self._file is not None and now - self._looked_at >= _LOOK_S:
            self._looked_at = now
            if not self._file.in_place:
                self._let_go()  # moved away, as logrotate does, or deleted
        if self._file is None:
            self._file = LineFile(self._path)
        return self._file

    def _with_room(self, file: LineFile, length: int) -> LineFile:
        size, most = file.size, self._settings.max_mb
        if most is None or not size or size + length <= most * 1_000_000 or time.monotonic() < self._rotate_at:
            return file
        in_place = file.in_place
        self._let_go()
        if in_place:
            self._put_aside()
        self._file = LineFile(self._path)
        return self._file

    def _put_aside(self) -> None:
        try:
            self._aside.put()
        except OSError as error:  # better a file that is too large than no lines
            self._rotate_at = time.monotonic() + _ROTATE_AGAIN_S
            log.error("%s is full, and cannot be put aside: %s. It grows on", self._path, error.strerror or error)

    def _sync(self, file: LineFile, now: float) -> None:
        every = self._settings.sync_ms
        if every is not None and not file.synced and now - self._synced_at >= every / 1000:
            file.sync()
            self._synced_at = now

    def _let_go(self) -> None:
        if self._file is None:
            return
        try:
            if self._settings.sync_ms is not None:
                self._file.sync()
            self._file.close()
        except OSError as error:
            log.error("%s: the last lines may not have come to the disk: %s", self._path, error)
        self._file = None

    def _fails(self, error: Exception) -> None:
        self._tried_at = time.monotonic()
        self._let_go()
        why = getattr(error, "strerror", None) or error
        hint = "Look at the disk's space and the file's rights"
        self._trouble.fails(f"{self._path} cannot be written: {why}. Lines are held until it can. {hint}")

    def _works(self, *, last: bool = False) -> None:
        lost = self.lost - self._told_lost
        told = f"{self._path} is written again: {f'{lost} events were lost' if lost else 'none was lost'}"
        if self._trouble.works(lambda: told, dear=lost > 0, last=last):
            self._told_lost += lost

    async def _keep_house(self) -> None:
        """Lines that nothing comes behind are synced as well, and held ones tried again."""
        every = self._settings.sync_ms
        while True:
            await asyncio.sleep(TRY_AGAIN_S if not every else min(TRY_AGAIN_S, every / 1000))
            unsynced = every is not None and self._file is not None and not self._file.synced
            if self._held or self._trouble.lasts or unsynced:
                self._write_held()

    def figures(self) -> dict[str, float]:
        """How it is doing."""
        connected = float(not self._trouble.refused)
        return {"written": self.written, "held": len(self._held), "lost": self.lost, "connected": connected}


def make(settings: EventsFileSettings) -> list[tuple[str, Sink]]:
    """The sink, if there is to be such a file. Raises SinkError where it cannot be had."""
    if settings.path is None:
        return []
    path = Path(settings.path).expanduser()
    try:
        LineFile(path).close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SinkError(f"events_file.path {path} cannot be written: {reason}. Name another file") from error
    return [("events_file", EventsFileSink(path, settings))]
