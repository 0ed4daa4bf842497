"""Which agent turns were barged in on: decided once for each, in order, when it is known."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from monitor.core.clock import Span
from monitor.core.events import Transition, Turn
from monitor.core.rules.agent_turns import AgentTurns


class Listener:
    """Plays turns to the decider: a turn is told 120 ms after its start and 1 s after its end."""

    def __init__(self):
        self.decided = []
        self.turns = AgentTurns(lambda turn, barge_in: self.decided.append((turn.index, barge_in and barge_in.index)))

    def play(self, *said, stalls=(), until=None):
        hooks = []
        turns = [
            Turn(index=n, role=role, start_ms=start, duration_ms=end - start, **{"ended_by": "silence"} | more)
            for n, (role, start, end, more) in enumerate(sorted(said, key=lambda one: one[1]))
        ]
        for turn in turns:
            begun = msgspec.structs.replace(turn, duration_ms=None, ended_by=None, backchannel=False)
            hooks.append((turn.start_ms + 120, 0, self.turns.turn_started, (begun,)))
            for at in range(turn.start_ms + 1000, turn.end_ms, 1000):
                so_far = msgspec.structs.replace(begun, duration_ms=at - turn.start_ms)
                hooks.append((at, 1, self.turns.turn_updated, (so_far,)))
            hooks.append((turn.end_ms + 1000, 2, self.turns.turn_ended, (turn,)))
        for before, after in pairwise(turn for turn in turns if not turn.backchannel):
            if before.role != after.role:
                gap = after.start_ms - before.end_ms
                passing = Transition(
                    from_turn=before.index, to_turn=after.index, kind="gap", gap_ms=gap, score=1.0, final=True
                )
                at = max(before.end_ms + 1000, after.start_ms + 120)
                hooks.append((at, 3, self.turns.transition, (passing, before, after)))
        for track, start, end in stalls:
            hooks.append((start, 0, self.turns.stalled, (track, Span(start, end))))
        for at, _, hook, arguments in sorted(hooks, key=lambda one: one[:2]):
            if until is None or at <= until:
                hook(*arguments)
        if until is None:
            self.turns.close()
        return self.decided


def agent(start, end, **more):
    return ("assistant", start, end, more)


def user(start, end, **more):
    return ("user", start, end, more)


@pytest.fixture
def listener():
    return Listener()


def test_a_caller_who_makes_the_agent_stop_within_two_seconds_has_barged_in(listener):
    assert listener.play(agent(0, 5000), user(3000, 3400)) == [(0, 1)]


def test_so_has_one_who_talks_for_half_a_second_while_the_agent_goes_on(listener):
    assert listener.play(agent(0, 9000), user(3000, 3500)) == [(0, 1)]


def test_a_word_that_changes_nothing_is_none(listener):
    assert listener.play(agent(0, 9000), user(3000, 3480)) == [(0, None)]


def test_nor_is_a_backchannel_or_a_hand_over(listener):
    assert listener.play(agent(0, 9000), user(3000, 3600, backchannel=True), user(8820, 12_000)) == [(0, None)]


def test_several_barge_ins_on_one_turn_are_one(listener):
    assert listener.play(agent(0, 20_000), user(3000, 4500), user(9000, 10_500), user(15_000, 18_000)) == [(0, 1)]


def test_the_second_counts_where_the_first_was_none(listener):
    assert listener.play(agent(0, 20_000), user(3000, 3200), user(9000, 10_500)) == [(0, 2)]


def test_an_agents_backchannel_is_no_turn_of_its_own(listener):
    assert listener.play(user(0, 9000), agent(4000, 4500, backchannel=True), agent(9500, 12_000)) == [(2, None)]


def test_a_barge_in_is_decided_when_the_agent_has_stopped_not_when_the_caller_has(listener):
    assert listener.play(agent(0, 5000), user(4000, 60_000), until=6000) == [(0, 1)]


def test_so_is_one_that_the_agent_ignores(listener):
    assert listener.play(agent(0, 9000), user(4000, 60_000), until=10_000) == [(0, 1)]


def test_that_nobody_barged_in_is_decided_when_nobody_can_any_more(listener):
    assert listener.play(agent(0, 5000), user(5600, 7000), until=5700) == []
    assert Listener().play(agent(0, 5000), user(5600, 7000), until=6000) == [(0, None)]


def test_each_turn_is_decided_once_and_in_order(listener):
    said = [agent(4000 * n, 4000 * n + 3000) for n in range(20)]
    said += [user(4000 * n + 2500, 4000 * n + 3400) for n in range(0, 20, 3)]
    decided = listener.play(*said)
    assert [index for index, _ in decided] == sorted(index for index, _ in decided)
    assert len(decided) == 20
    assert sum(barge_in is not None for _, barge_in in decided) == 7


def test_what_a_stall_touches_counts_only_where_somebody_was_heard_to_barge_in(listener):
    stall = ("caller", 1000, 2500)
    assert listener.play(agent(0, 5000), agent(7000, 9000), stalls=[stall]) == [(1, None)]
    assert Listener().play(agent(0, 5000), user(3000, 4500), stalls=[stall]) == [(0, 1)]
    assert Listener().play(agent(0, 5000), stalls=[("caller", 1000, 1240)]) == [(0, None)], "lost packets are no stall"
