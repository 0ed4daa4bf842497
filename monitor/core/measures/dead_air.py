"""Dead air: both sides silent for more than four seconds."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import Span, seconds
from monitor.core.measures import Measure
from monitor.core.measures.stalls import Stalls

DEAD_MS = 4000
_FAR = 1 << 60


class DeadAir(Measure):
    """`count`: stretches of the call, its beginning and its end included, in which neither spoke for more than 4 s.
    `total`: their whole length in seconds. A long stall of either track is no silence: it ends one.

    What is kept is the silence: the holes that no stretch has filled yet, and only those long enough to count. They can
    but shrink, so stretches may come in any order, and memory grows with the dead air, not with the talk.
    """

    key = "dead_air"

    def __init__(self, tracks: Collection[str]) -> None:
        super().__init__(tracks)
        self._starts = array("q", [0])
        self._ends = array("q", [_FAR])
        self._stalls = Stalls()

    def stretch(self, track: Track, span: Span) -> None:
        self._fill(span)

    def stalled(self, track: Track, span: Span) -> None:
        stall = self._stalls.add(track, span)
        if stall is not None:
            self._fill(stall)

    def _fill(self, span: Span) -> None:
        first = bisect_right(self._ends, span.start)
        behind = bisect_left(self._starts, span.end)
        if first >= behind or span.duration <= 0:
            return
        left, right = (self._starts[first], span.start), (span.end, self._ends[behind - 1])
        rest = [hole for hole in (left, right) if hole[1] - hole[0] > DEAD_MS]
        self._starts[first:behind] = array("q", [start for start, _ in rest])
        self._ends[first:behind] = array("q", [end for _, end in rest])

    def figures(self, duration_ms: int) -> dict[str, int | float | None]:
        if not self.both:
            return {"count": None, "total": None}
        holes = zip(self._starts, self._ends, strict=True)
        dead = [ms for start, end in holes if (ms := min(end, duration_ms) - start) > DEAD_MS]
        return {"count": len(dead), "total": seconds(sum(dead))}
