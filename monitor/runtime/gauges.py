"""Wall-clock health of the program itself: for operators, never in events."""

from __future__ import annotations

import asyncio
import time

import msgspec

LAG_WINDOW = 100
"""Measurements of the event loop's lag that are kept."""


class Gauges(msgspec.Struct):
    """Counters since the start. `calls_failed`: by our own fault. `inputs_dropped`: the monitor was too slow.
    `refused`: connections turned away: for want of room, of a token, or by an endpoint."""

    calls_started: int = 0
    calls_failed: int = 0
    inputs_dropped: int = 0
    refused: int = 0


class LoopLag:
    """How late the event loop is: what a timer that should have fired was late by, in ms, over the last few seconds."""

    def __init__(self, every_s: float = 0.1) -> None:
        self._every_s = every_s
        self._lags: list[float] = []

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(self._every_s)
            self._lags.append(max(0.0, time.monotonic() - before - self._every_s) * 1000)
            del self._lags[:-LAG_WINDOW]

    @property
    def worst_ms(self) -> float:
        """The worst of late; 0 before anything is known."""
        return round(max(self._lags, default=0.0), 1)
