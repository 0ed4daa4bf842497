"""Lengths of time gathered over a call, and their figures in seconds."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from monitor.core.clock import seconds
from monitor.core.turn_taking import spread


def percentile(ordered: Sequence[int], percent: int) -> float:
    """The value in seconds that `percent` (0..100) of the sorted, non-empty `ordered` ms lie below, by linear
    interpolation between the two nearest ranks: the value at place percent/100·(n − 1), the first being place 0 (the
    default of numpy and of most spreadsheets)."""
    low, past = divmod((len(ordered) - 1) * percent, 100)
    high = min(low + 1, len(ordered) - 1)
    return (ordered[low] * (100 - past) + ordered[high] * past) / 100_000


class Delays:
    """Whole milliseconds, eight bytes each, so a day of calls' delays takes some tens of kilobytes."""

    __slots__ = ("_ms",)

    def __init__(self) -> None:
        self._ms = array("q")

    def __len__(self) -> int:
        return len(self._ms)

    def add(self, ms: int) -> None:
        """One more."""
        self._ms.append(ms)

    def percentile(self, percent: int) -> float | None:
        """See `percentile`; None where there is none."""
        return percentile(sorted(self._ms), percent) if self._ms else None

    def figures(self) -> dict[str, int | float | None]:
        """`count`, and in seconds `p50`, `p95`, `max`, `mean` and `spread` (population standard deviation)."""
        count = len(self._ms)
        if not count:
            return {"count": 0, "p50": None, "p95": None, "max": None, "mean": None, "spread": None}
        ordered = sorted(self._ms)
        total = sum(ordered)
        return {
            "count": count,
            "p50": percentile(ordered, 50),
            "p95": percentile(ordered, 95),
            "max": seconds(ordered[-1]),
            "mean": total / (1000 * count),
            "spread": spread(count, total, sum(ms * ms for ms in ordered)) / 1000,
        }
