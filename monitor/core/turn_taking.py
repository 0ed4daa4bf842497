"""Room 8, scored: how natural the passing of the floor is, and the running score of a call.

The one place for the formulas. For neighbouring turns of different roles, `gap` = start of the later turn − end of the
earlier one, in seconds; with the constants of DeepEval's turn-taking metric:

    gap ≥ 0                           gap            exp(−gap/2.5)
    gap < 0, assistant then user      user_barge_in  exp(−|gap|/2.0)
    gap < 0, user then assistant      agent_overlap  exp(−|gap|/0.6)

A call's score is their mean, without cap, floor or cut-off. With three or more user→assistant gaps (≥ 0), the score
*with consistency* is 0.8·score + 0.2·exp(−spread/2.0), spread being the gaps' population standard deviation in seconds.
"""

from __future__ import annotations

import math
from array import array
from typing import Final

import msgspec

from monitor.core.clock import seconds
from monitor.core.events import Role, Transition, TransitionKind, Turn, TurnTaking

TAU_SECONDS: Final[dict[TransitionKind, float]] = {"gap": 2.5, "user_barge_in": 2.0, "agent_overlap": 0.6}
CONSISTENCY_TAU_SECONDS: Final = 2.0
CONSISTENCY_SHARE: Final = 0.2
CONSISTENCY_MIN_DELAYS: Final = 3

_UNIT: Final = 1 << 80
"""Scores are added up as whole multiples of 2⁻⁸⁰. Integer sums are exact in any order and can be taken back."""

_SEEN: Final = 64
"""How many of the newest final transitions are remembered, to refuse a second answer for one of them."""


class TurnTakingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[turn_taking]`: how the score of a call is judged.

    `threshold`: the score that a call must reach, in 0..1; None means the score alone. `strict_mode`: the threshold is
    1 and any score below 1 counts as 0. `include_reason`: put the score into words. `count_backchannels`: the score of
    the summary is the plain one, over all turns. `verbose_mode`: print the breakdown. `flaky`: the result is told, and
    decides nothing.
    """

    threshold: float | None = 0.5
    strict_mode: bool = False
    include_reason: bool = True
    count_backchannels: bool = False
    verbose_mode: bool = False
    flaky: bool = False

    def __post_init__(self) -> None:
        check_threshold(self.threshold)


def check_threshold(threshold: float | None) -> None:
    """Raises `ValueError` unless `threshold` is None or lies in 0..1."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"threshold must lie between 0 and 1, or be None for the score alone; got {threshold!r}")


def verdict(score: float, threshold: float | None, strict_mode: bool) -> tuple[float, bool | None]:
    """What options make of a score: (the score, whether it passes; None without a threshold)."""
    if strict_mode:
        return (score, True) if score >= 1 else (0.0, False)
    return score, None if threshold is None else score >= threshold


def transition_kind(from_role: Role, to_role: Role, gap: float) -> TransitionKind:
    """The kind of a transition. `gap`: in any unit, negative in an overlap. Raises `ValueError` for one role twice."""
    if from_role == to_role:
        raise ValueError(f"two {from_role} turns in a row are no transition")
    if gap >= 0:
        return "gap"
    return "user_barge_in" if to_role == "user" else "agent_overlap"


def transition_score(kind: TransitionKind, gap_seconds: float) -> float:
    """exp(−|gap|/τ), in (0, 1]; it underflows to 0 after half an hour."""
    return math.exp(-abs(gap_seconds) / TAU_SECONDS[kind])


def consistency_score(spread_seconds: float) -> float:
    """exp(−spread/2.0), in (0, 1]: how even the agent's response delays are."""
    return math.exp(-spread_seconds / CONSISTENCY_TAU_SECONDS)


def with_consistency(score: float, delays: int, spread_seconds: float) -> float:
    """`score` with the share of consistency in it, where there are enough response delays to speak of any."""
    if delays < CONSISTENCY_MIN_DELAYS:
        return score
    return (1 - CONSISTENCY_SHARE) * score + CONSISTENCY_SHARE * consistency_score(spread_seconds)


def spread(count: int, total: int, squares: int) -> float:
    """Population standard deviation of whole numbers, from their count, sum and sum of squares."""
    return math.sqrt(count * squares - total * total) / count


class RunningScore:
    """The score of the transitions told so far, final and provisional alike. Every step costs the same at any length,
    and memory holds the provisional ones only. The figures are those of the batch formula to the last bits, in whatever
    order transitions came, changed and went.
    """

    __slots__ = ("_delay_squares", "_delay_sum", "_final", "_open", "_sum", "_worst", "delays", "kinds", "transitions")

    def __init__(self) -> None:
        self.transitions = 0
        self.kinds: dict[TransitionKind, int] = {"gap": 0, "user_barge_in": 0, "agent_overlap": 0}
        self.delays = 0
        """How many user→assistant gaps (≥ 0) there are."""
        self._sum = 0
        self._delay_sum = 0
        self._delay_squares = 0
        self._open: dict[tuple[int, int], tuple[Transition, bool]] = {}
        self._final = array("q", [-1]) * _SEEN
        self._worst: Transition | None = None

    def set(
        self, from_turn: int, to_turn: int, kind: TransitionKind, gap_ms: int, final: bool, *, to_role: Role
    ) -> Transition:
        """Say what is known of the transition between two turns (indexes). A provisional answer takes the place of an
        earlier one, a final one stands. Raises `ValueError` for a second answer after the final one, and where `kind`,
        `gap_ms` and `to_role` contradict each other.
        """
        if self._final[to_turn % _SEEN] == to_turn:
            raise ValueError(f"the transition from turn {from_turn} to turn {to_turn} is final and cannot be set again")
        if (gap_ms < 0) if kind == "gap" else (gap_ms > 0 or (to_role == "user") != (kind == "user_barge_in")):
            raise ValueError(f"turns {from_turn} → {to_turn}: {gap_ms} ms before a {to_role} turn is no {kind}")
        transition = Transition(
            from_turn=from_turn,
            to_turn=to_turn,
            kind=kind,
            gap_ms=gap_ms,
            score=transition_score(kind, seconds(gap_ms)),
            final=final,
        )
        reply = kind == "gap" and to_role == "assistant"
        before = self._open.pop((from_turn, to_turn), None)
        if before is not None:
            self._count(*before, -1)
        self._count(transition, reply, 1)
        if final:
            self._final[to_turn % _SEEN] = to_turn
            self._worst = _weaker(self._worst, transition)
        else:
            self._open[from_turn, to_turn] = (transition, reply)
        return transition

    def withdraw(self, from_turn: int, to_turn: int) -> None:
        """A provisional transition turned out not to be one. Raises `ValueError` if there is none between the two."""
        before = self._open.pop((from_turn, to_turn), None)
        if before is None:
            raise ValueError(f"no provisional transition from turn {from_turn} to turn {to_turn} to withdraw")
        self._count(*before, -1)

    def _count(self, transition: Transition, reply: bool, sign: int) -> None:
        self.transitions += sign
        self.kinds[transition.kind] += sign
        self._sum += sign * int(transition.score * _UNIT)
        if reply:
            self.delays += sign
            self._delay_sum += sign * transition.gap_ms
            self._delay_squares += sign * transition.gap_ms**2

    @property
    def score(self) -> float | None:
        """The mean of the transitions' scores; None while there is none."""
        return self._sum / (self.transitions * _UNIT) if self.transitions else None

    @property
    def spread_seconds(self) -> float | None:
        """The population standard deviation of the response delays; None while there is none."""
        return spread(self.delays, self._delay_sum, self._delay_squares) / 1000 if self.delays else None

    @property
    def score_with_consistency(self) -> float | None:
        """The score that also asks how even the agent's delays are; None while there is no transition."""
        score = self.score
        return None if score is None else with_consistency(score, self.delays, self.spread_seconds or 0.0)

    @property
    def turn_taking(self) -> TurnTaking:
        """Score and number of transitions, as events carry them."""
        return TurnTaking(self.score, self.transitions)

    @property
    def worst(self) -> Transition | None:
        """The transition with the lowest score, the earliest of several."""
        worst = self._worst
        for transition, _ in self._open.values():
            worst = _weaker(worst, transition)
        return worst


def _weaker(one: Transition | None, other: Transition) -> Transition:
    if one is None or (other.score, other.from_turn) < (one.score, one.from_turn):
        return other
    return one


class PlainScore:
    """The batch metric over every turn that ended, backchannels included, while turns end in any order.

    An ended turn is kept only until both its neighbours have ended, so memory holds at most two turns for each one that
    is still going on. Give it a turn once. `scores` is the running score of the pairs known so far.
    """

    def __init__(self) -> None:
        self.scores = RunningScore()
        self._wants_next: dict[int, Turn] = {}
        self._wants_previous: dict[int, Turn] = {}

    def ended(self, turn: Turn) -> None:
        """Take a turn with its final times."""
        previous = self._wants_next.pop(turn.index - 1, None)
        if previous is not None:
            self._pair(previous, turn)
        elif turn.index > 0:
            self._wants_previous[turn.index] = turn
        following = self._wants_previous.pop(turn.index + 1, None)
        if following is not None:
            self._pair(turn, following)
        else:
            self._wants_next[turn.index] = turn

    def close(self) -> None:
        """The call is over: turns that never ended are left out, and those around them are neighbours."""
        for index in sorted(self._wants_previous):
            earlier = [i for i in self._wants_next if i < index]
            if earlier:
                self._pair(self._wants_next.pop(max(earlier)), self._wants_previous[index])
        self._wants_previous.clear()

    def _pair(self, previous: Turn, following: Turn) -> None:
        if previous.role == following.role or following.after_stall:
            return
        gap = following.start_ms - previous.end_ms
        kind = transition_kind(previous.role, following.role, gap)
        self.scores.set(previous.index, following.index, kind, gap, True, to_role=following.role)
