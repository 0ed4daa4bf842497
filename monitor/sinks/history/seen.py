"""Which events of a run are written, by number."""

from __future__ import annotations

_MOST = 1000
"""So many stretches are told apart; beyond that the earliest hole is taken as filled."""


class Seen:
    """A set of whole numbers as stretches, `0-17,19-40` as text: one stretch while none is missing."""

    __slots__ = ("_stretches",)

    def __init__(self, text: str = "") -> None:
        self._stretches: list[tuple[int, int]] = []
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            self._stretches.append((int(first), int(last or first)))

    def __str__(self) -> str:
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self._stretches)

    def __contains__(self, number: int) -> bool:
        return any(first <= number <= last for first, last in reversed(self._stretches))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self._stretches)

    @property
    def last(self) -> int:
        """The greatest; -1 while there is none."""
        return self._stretches[-1][1] if self._stretches else -1

    @property
    def missing(self) -> int:
        """How many below the greatest are not there."""
        return self.last + 1 - len(self)

    def add(self, number: int) -> bool:
        """One more. -> whether it is new."""
        if number == self.last + 1:
            first = self._stretches.pop()[0] if self._stretches else number
            self._stretches.append((first, number))
        elif number > self.last and len(self._stretches) < _MOST:
            self._stretches.append((number, number))
        elif number in self:
            return False
        else:
            self._join([(number, number)])
        return True

    def merge(self, other: Seen) -> None:
        """All that `other` has as well."""
        if other._stretches != self._stretches:
            self._join(other._stretches)

    def _join(self, more: list[tuple[int, int]]) -> None:
        joined: list[tuple[int, int]] = []
        for first, last in sorted([*self._stretches, *more]):
            if joined and first <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(joined[-1][1], last))
            else:
                joined.append((first, last))
        while len(joined) > _MOST:
            joined[:2] = [(joined[0][0], joined[1][1])]
        self._stretches = joined
