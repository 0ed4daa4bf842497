"""The relay's own delay: from a message being at hand to its being written to the other side."""

from __future__ import annotations

from collections import deque

REMEMBERED = 2048


class Delays:
    """The last `REMEMBERED` delays of all calls, in ms, and how many there ever were."""

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[float] = deque(maxlen=REMEMBERED)

    def add(self, seconds: float) -> None:
        """One message took so long."""
        self.count += 1
        self._last.append(seconds * 1000)

    def quantile(self, part: float) -> float | None:
        """The `part` quantile (0.5 is the median) in ms of those remembered; None while there is none."""
        ordered = sorted(self._last)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None
