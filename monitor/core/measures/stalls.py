"""What is unknown of the feed, for measures that must not take it for silence."""

from __future__ import annotations

from collections import deque

from connectors.inputs import Track
from monitor.core.clock import Span

UNKNOWN_MS = 1000
"""A stall this long makes what it touches unknown, as with `Turn.after_stall`. Shorter ones are lost packets."""

_KEPT = 32
"""Measures ask about the last seconds; older stalls than the newest this many decide nothing."""


class Stalls:
    """The newest long stalls of each track; pieces that touch are one."""

    __slots__ = ("_last", "_long")

    def __init__(self) -> None:
        self._last: dict[Track, Span] = {}
        self._long: dict[Track, deque[Span]] = {}

    def add(self, track: Track, span: Span) -> Span | None:
        """One more piece. -> the whole stall that it belongs to, once that is long enough to count."""
        last = self._last.get(track)
        if last is not None and last.start <= span.start <= last.end:
            span = Span(last.start, max(last.end, span.end))
        self._last[track] = span
        if span.duration < UNKNOWN_MS:
            return None
        long = self._long.setdefault(track, deque(maxlen=_KEPT))
        if long and long[-1].start == span.start:
            long[-1] = span
        else:
            long.append(span)
        return span

    def touch(self, start: int, end: int, track: Track | None = None) -> bool:
        """Whether a long stall of `track` (None: of either) reaches into [`start`, `end`] or ends where it begins."""
        tracks = self._long.values() if track is None else [self._long.get(track, ())]
        return any(stall.start <= end and stall.end >= start for stalls in tracks for stall in stalls)
