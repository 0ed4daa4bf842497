"""Plays a recording at the speed of the call: each input is due when it would have been there live.

An input whose time is impossibly far ahead, as on a damaged tape, is not waited for: the core turns it away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from connectors.inputs import Audio, CallStarted, Input
from monitor.core.framing import MAX_JUMP_MS
from monitor.runtime.inbox import duration_ms


class Pace:
    """Waits until an input is due. `speed`: how many seconds of the call pass in one of ours; None: as fast as it goes.

    Time is counted from the first input on by a monotonic clock, so that steps of the wall clock do not matter.
    """

    def __init__(self, speed: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._speed = speed
        self._clock = clock
        self._begun: float | None = None
        self._reached_ms = 0
        self._delivered: set[str] = set()

    async def wait_for(self, given: Input) -> None:
        """Return when `given` is due; at once if that is past."""
        if isinstance(given, CallStarted):
            self._delivered = {name for name, track in given.tracks.items() if track.timing == "delivered"}
        if self._speed is None:
            return
        now = self._clock()
        if self._begun is None:
            self._begun = now
        due_ms = self._due_ms(given)
        if due_ms > self._reached_ms + MAX_JUMP_MS:
            return
        self._reached_ms = max(self._reached_ms, due_ms)
        wait = self._begun + due_ms / 1000 / self._speed - now
        if wait > 0:
            await asyncio.sleep(wait)

    def _due_ms(self, given: Input) -> int:
        at: int = getattr(given, "at", 0)
        if isinstance(given, Audio) and given.track not in self._delivered:
            return at + duration_ms(given)  # a piece is heard to its end before anybody can have it whole
        return at
