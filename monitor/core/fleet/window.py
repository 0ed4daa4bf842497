"""The last steps of one agent: its turns, the barge-ins on them, how many were to be expected, in which calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec


class Step(msgspec.Struct):
    """What fell into one step. `calls`: some calls that had turns, never more of them than matter. `barged`: how often
    in each call that had barge-ins."""

    number: int
    turns: int = 0
    barge_ins: int = 0
    expected: float = 0.0
    calls: set[str] = msgspec.field(default_factory=set)
    barged: dict[str, int] = msgspec.field(default_factory=dict)


class Sum(msgspec.Struct, frozen=True):
    """Several steps together. `calls`: how many calls at least, up to what matters. `barged`: how many of them had
    barge-ins. `most`: how many the one call had that had the most."""

    turns: int = 0
    barge_ins: int = 0
    expected: float = 0.0
    calls: int = 0
    barged: int = 0
    most: int = 0

    @property
    def ratio(self) -> float:
        """How many times as many as expected; 0 where nothing was."""
        return self.barge_ins / self.expected if self.expected > 0 else 0.0

    @property
    def ratio_without_one(self) -> float:
        """The same without the barge-ins of the one call that had the most."""
        return (self.barge_ins - self.most) / self.expected if self.expected > 0 else 0.0


class Window:
    """Remembers `length` steps. `calls_that_matter`: of a step no more calls are told apart than that, unless they have
    barge-ins."""

    def __init__(self, length: int, calls_that_matter: int) -> None:
        self._length = length
        self._matter = calls_that_matter
        self._steps: deque[Step] = deque()

    def turn(self, step: int, call: str, expected: float) -> None:
        """An agent turn ended, on which `expected` barge-ins were to be expected."""
        now = self._at(step)
        now.turns += 1
        now.expected += expected
        if len(now.calls) < self._matter:
            now.calls.add(call)

    def barge_in(self, step: int, call: str) -> None:
        """A barge-in was confirmed."""
        now = self._at(step)
        now.barge_ins += 1
        now.barged[call] = now.barged.get(call, 0) + 1

    def sum(self, step: int, length: int) -> Sum:
        """The `length` steps that end with `step`."""
        found = list(self._last(step, length))
        barged: dict[str, int] = {}
        for one in found:
            for call, count in one.barged.items():
                barged[call] = barged.get(call, 0) + count
        return Sum(
            sum(one.turns for one in found),
            sum(one.barge_ins for one in found),
            sum(one.expected for one in found),
            len(set().union(*(one.calls for one in found))) if found else 0,
            len(barged),
            max(barged.values(), default=0),
        )

    def step(self, number: int) -> Step:
        """One step by its number; an empty one where nothing fell into it."""
        return next((one for one in reversed(self._steps) if one.number == number), Step(number))

    def _last(self, step: int, length: int) -> Iterator[Step]:
        return (one for one in self._steps if step - length < one.number <= step)

    def _at(self, step: int) -> Step:
        if not self._steps or self._steps[-1].number < step:
            self._steps.append(Step(step))
            while self._steps[0].number <= step - self._length:
                self._steps.popleft()
        return self._steps[-1]
