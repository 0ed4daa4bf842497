"""Where the feed has a hole right now: what is silent in it is unknown."""

from __future__ import annotations

from connectors.inputs import TRACKS, Track
from monitor.core.clock import Span


class Gaps:
    """The newest hole of each track, however short; pieces that touch are one. A track is in its hole until a frame
    behind it has been heard, so that a hole told in pieces is the same as one told whole."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[Track, Span] = {}

    def add(self, track: Track, span: Span) -> None:
        """One more piece. It may be told before media time has come to it."""
        before = self._of.get(track)
        if before is not None and before.start <= span.start <= before.end:
            span = Span(before.start, max(before.end, span.end))
        self._of[track] = span

    def on(self, now: int) -> dict[Track, Span]:
        """The holes in which the tracks are at `now`."""
        if not self._of:
            return self._of
        return {track: self._of[track] for track in TRACKS if track in self._of and self._in(self._of[track], now)}

    @staticmethod
    def _in(gap: Span, now: int) -> bool:
        return gap.start < now <= gap.end

    def turns_at(self, now: int) -> int | None:
        """The next time behind `now` at which a hole begins or is over as far as is known; None if there is none."""
        edges = (at + 1 for gap in self._of.values() for at in gap if at >= now)
        return min(edges, default=None)

    @property
    def latest_end(self) -> int:
        """Where the last hole ended, in ms; 0 if there was none."""
        return max((gap.end for gap in self._of.values()), default=0)
