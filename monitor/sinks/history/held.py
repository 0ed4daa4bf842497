"""Events that are not written yet: a batch in the making, or what the disk has refused so far. Bounded."""

from __future__ import annotations

from collections import deque
from itertools import islice

from monitor.core.events import AlertCleared, AlertRaised, CallEnded, CallStarted
from monitor.sinks.history.store import Told

MAX_HELD = 20_000
_SWEPT = 1_000
"""So many are looked at when there are too many: of these, what can be missed most is given up."""
_DEAR = (CallStarted, CallEnded, AlertRaised, AlertCleared)


class Held:
    """In the order in which they came. `lost`: how many were given up."""

    def __init__(self, most: int = MAX_HELD) -> None:
        self.lost = 0
        self._most = most
        self._waiting: deque[Told] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, told: Told) -> None:
        """One more; where there are too many, the oldest are lost that are neither an alert nor the start or the end of
        a call, and those only where there is nothing else."""
        self._waiting.append(told)
        if len(self._waiting) > self._most:
            self._give_up()

    def first(self, most: int) -> list[Told]:
        """The oldest, up to so many. They stay."""
        return list(islice(self._waiting, most))

    def done(self, count: int) -> None:
        """The oldest `count` are written."""
        for _ in range(count):
            self._waiting.popleft()

    def _give_up(self) -> None:
        kept: list[Told] = []
        for _ in range(min(_SWEPT, len(self._waiting))):
            told = self._waiting.popleft()
            if isinstance(told.event, _DEAR):
                kept.append(told)
            else:
                self.lost += 1
        while len(kept) + len(self._waiting) > self._most:
            kept.pop(0)
            self.lost += 1
        self._waiting.extendleft(reversed(kept))
