"""Room 8: turns -> the passing of the floor between neighbours.

Neighbours of different roles, in order of start and with backchannels left out, make a transition. It is told as soon
as both turns have been announced; while the earlier one goes on, its gap is the overlap so far. It is final when both
are known to be turns and the earlier one has ended. If the later one turns out to be a backchannel, it is withdrawn.
Where a second or more between the two is unknown, nothing is scored.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from monitor.core.events import TransitionKind
from monitor.core.stretches import LiveTurn
from monitor.core.timeline import ROLES, Timeline
from monitor.core.turn_taking import transition_kind


class Passing(NamedTuple):
    """A transition as it stands. `gap_ms` is negative in an overlap; `at` is the later turn's start; `sure` as the less
    sure of the two turns."""

    from_turn: int
    to_turn: int
    kind: TransitionKind
    gap_ms: int
    final: bool
    at: int
    sure: float = 1.0


class Withdrawn(NamedTuple):
    """A transition that was told provisionally and is none."""

    from_turn: int
    to_turn: int
    at: int
    reason: str


class Transitions:
    """Keeps the transitions that are not final yet, and drops turns that no transition needs any more."""

    def __init__(self, timeline: Timeline, count_backchannels: bool = False) -> None:
        self._timeline = timeline
        self._all = count_backchannels
        self._told: dict[tuple[int, int], Passing] = {}
        self._done: set[int] = set()  # the later turn of each final pair that is still in sight

    def update(self) -> list[Passing | Withdrawn]:
        """What has changed since the last call, withdrawals first."""
        timeline = self._timeline
        timeline.changed = False
        turns = [t for t in timeline.turns if self._all or t.fate is not True]
        pairs = {(a.index, b.index): (a, b) for a, b in pairwise(turns) if a.side != b.side}
        out: list[Passing | Withdrawn] = []
        for key, told in list(self._told.items()):
            if key not in pairs:
                del self._told[key]
                out.append(Withdrawn(*key, told.at, self._reason(key)))
        for key, (a, b) in pairs.items():
            if b.index in self._done or b.after_stall:
                continue
            passing = self._passing(a, b)
            if passing.final:
                self._told.pop(key, None)
                self._done.add(b.index)
                out.append(passing)
            elif key not in self._told or self._told[key].kind != passing.kind:
                self._told[key] = passing
                out.append(passing)
        self._drop()
        return out

    def _reason(self, key: tuple[int, int]) -> str:
        fates = {t.index: t.fate for t in self._timeline.turns}
        if any(fates.get(index) is True for index in key):
            return "backchannel"
        return "another turn came between"

    def _passing(self, a: LiveTurn, b: LiveTurn) -> Passing:
        final = a.ended and a.fate is not None and b.fate is not None
        end = a.end
        if not a.current.closed:
            end = max(end, self._timeline.sides[a.side].voiced(self._timeline.now))
        gap = b.start - end
        return Passing(
            a.index,
            b.index,
            transition_kind(ROLES[a.side], ROLES[b.side], gap),
            gap,
            final,
            b.start,
            min(a.sure, b.sure),
        )

    def _drop(self) -> None:
        """Turns from the front that have ended and whose transition to the next is final, or never will be."""
        turns = self._timeline.turns
        while len(turns) > 1 and turns[0].ended:
            first = turns[0]
            if first.fate is True and not self._all:
                del turns[0]
                continue
            after = next((t for t in turns[1:] if self._all or t.fate is not True), None)
            if after is None or after.fate is None:
                return
            if after.side != first.side and not after.after_stall and after.index not in self._done:
                return
            self._done.discard(first.index)
            del turns[0]
