"""The listener beside the traffic: a bounded queue and one worker a call, which the traffic never waits for.

The two pumps of a call leave a copy of each frame here, with its time. If the worker falls behind, copies are dropped
and that is told; if it fails on a frame, that is told and the next frame is taken; if it is stopped altogether, the
call ends for the watchers while the conversation goes on. Whatever happens, the last input is `CallEnded`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from connectors.base import Door, Feed
from connectors.elevenlabs.ending import Ending
from connectors.elevenlabs.listening import Direction, Listener
from connectors.inputs import CallEnded, CallStarted, Input

MAX_FRAMES = 4096
MAX_BYTES = 48 << 20
BIG_FRAME = 1 << 18
"""Length from which on a frame is decoded in a thread: it would hold up everybody's traffic for milliseconds."""

MAX_STUMBLES = 20
FINISH_S = 5.0

_log = logging.getLogger("connectors.elevenlabs.analysis")


class Analysis:
    """One call's listening. `offer`, `tick` and `round_trip` return at once and never raise."""

    def __init__(
        self, listener: Listener, door: Door, *, max_frames: int = MAX_FRAMES, max_bytes: int = MAX_BYTES
    ) -> None:
        self._listener = listener
        self._door = door
        self._max_frames, self._max_bytes = max_frames, max_bytes
        self._feed: Feed | None = None
        self._frames: deque[tuple[Direction, str | bytes, int]] = deque()
        self._bytes = self._lost = self._stumbles = self._last_at = 0
        self._tick: int | None = None
        self._busy = self._over = self._told_end = False
        self._ending: tuple[int, Ending] | None = None
        self._wake = asyncio.Event()
        self.task = asyncio.create_task(self._work(), name="elevenlabs-analysis")

    def offer(self, direction: Direction, frame: str | bytes, now_ms: int) -> None:
        """A frame went by at `now_ms`. Kept if there is room."""
        if self.task.done():
            return
        if len(self._frames) >= self._max_frames or self._bytes + len(frame) > self._max_bytes:
            self._lost += 1
            return
        self._frames.append((direction, frame, now_ms))
        self._bytes += len(frame)
        self._wake.set()

    def tick(self, now_ms: int) -> None:
        """The clock reached `now_ms`: heard at once if nothing waits, else after what waits."""
        if self._busy or self._frames:
            self._tick = now_ms
        elif not self.task.done():
            self._heard(lambda: self._listener.elapsed(now_ms), now_ms)

    def round_trip(self, milliseconds: int) -> None:
        """The relay measured the way to the client and back."""
        self._listener.round_trip(milliseconds)

    async def finish(self, now_ms: int, ending: Ending) -> None:
        """The conversation is over: wait, for a bounded time, until all of it has been watched."""
        self._ending = (now_ms, ending)
        self._wake.set()
        await asyncio.wait({self.task}, timeout=FINISH_S)
        await self.stop()

    async def stop(self) -> None:
        """Stop listening, however much waits. The watchers' call ends as failed if it has not ended."""
        self.task.cancel()
        await asyncio.wait({self.task})

    async def _work(self) -> None:
        try:
            while not self._over:
                await self._wake.wait()
                self._wake.clear()
                while self._frames and not self._over:
                    direction, frame, now = self._frames.popleft()
                    self._bytes -= len(frame)
                    await self._hear(direction, frame, now)
                    # The traffic goes first: every message that is ready passes before the next one is watched.
                    await asyncio.sleep(0)
                self._catch_up()
        finally:
            self._end()

    async def _hear(self, direction: Direction, frame: str | bytes, now: int) -> None:
        if self._lost:
            lost, self._lost = self._lost, 0
            self._heard(lambda: self._listener.lost(lost, now), now)
        if len(frame) < BIG_FRAME:
            self._heard(lambda: self._listener.receive(direction, frame, now), now)
            return
        self._busy = True
        try:
            inputs = await asyncio.to_thread(self._listener.receive, direction, frame, now)
        except Exception:
            self._stumbled(now)
        else:
            self._heard(lambda: inputs, now)
        finally:
            self._busy = False

    def _catch_up(self) -> None:
        """All that came has been heard: the clock, and perhaps the end."""
        tick, self._tick = self._tick, None
        if tick is not None:
            self._heard(lambda: self._listener.elapsed(tick), tick)
        if self._ending is not None:
            now, ending = self._ending
            self._heard(lambda: self._listener.closed(now, ending), now)
            self._over = True

    def _heard(self, listen: Callable[[], list[Input]], now: int) -> None:
        try:
            self._put(listen())
        except Exception:
            self._stumbled(now)

    def _stumbled(self, now: int) -> None:
        """Handling an exception: told, and after too many of them this call is no longer watched."""
        self._stumbles += 1
        if self._stumbles == 1:
            _log.exception("an error in watching a conversation; the conversation goes on, and so does the watching")
        if self._stumbles == MAX_STUMBLES or self._feed is None:
            _log.error("a conversation is no longer watched after %d errors; it goes on", self._stumbles)
            self._over = True
            self._wake.set()
        elif self._stumbles < MAX_STUMBLES:
            self._heard(lambda: self._listener.stumbled(now), now)

    def _put(self, inputs: list[Input]) -> None:
        for given in inputs:
            if isinstance(given, CallStarted):
                self._feed = self._door.open(given)
            elif self._feed is not None:
                self._last_at = max(self._last_at, getattr(given, "at", 0))
                self._told_end = self._told_end or isinstance(given, CallEnded)
                self._feed.put(given)

    def _end(self) -> None:
        """The watchers' call ends even if the worker was killed; the conversation itself may go on."""
        self._frames.clear()
        self._bytes = 0
        feed, self._feed = self._feed, None
        if feed is not None and not self._told_end:
            feed.put(CallEnded(self._last_at, "failed", "the watching of this call was stopped"))
