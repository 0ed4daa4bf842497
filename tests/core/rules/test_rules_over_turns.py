"""Rules that go by what has passed: each with a call that has it, one that has not, and its end."""

from __future__ import annotations

import msgspec
import pytest

from monitor.core.events import Relevancy, RelevancyJudged, RelevancyScored, Transition, Turn, Verdict
from monitor.core.rules.agent_talks_over import AgentTalksOver
from monitor.core.rules.low_relevancy import LowRelevancy
from monitor.core.rules.low_turn_taking import LowTurnTaking
from monitor.core.rules.settings import (
    AgentTalksOverSettings,
    LowRelevancySettings,
    LowTurnTakingSettings,
    SlowResponseSettings,
    SlowYieldSettings,
)
from monitor.core.rules.slow_response import SlowResponse
from monitor.core.rules.slow_yield import SlowYield
from monitor.core.turn_taking import transition_kind, transition_score
from tests.core.rules.simulated import agent_turn, barge_in_on

BOTH = ("caller", "agent")


def ask_and_reply(rule, number, gap_ms, **more):
    """The caller asks at 10 s times `number`, for a second; the agent begins `gap_ms` behind it."""
    caller = Turn(index=2 * number, role="user", start_ms=10_000 * number, duration_ms=1000, ended_by="silence")
    caller = msgspec.structs.replace(caller, **more)
    agent = Turn(
        index=2 * number + 1, role="assistant", start_ms=caller.end_ms + gap_ms, duration_ms=2000, ended_by="silence"
    )
    for turn in (caller, agent):
        rule.turn_started(msgspec.structs.replace(turn, duration_ms=None))
    kind = transition_kind("user", "assistant", gap_ms)
    score = transition_score(kind, gap_ms / 1000)
    rule.transition(
        Transition(from_turn=caller.index, to_turn=agent.index, kind=kind, gap_ms=gap_ms, score=score, final=True),
        caller,
        agent,
    )
    rule.turn_ended(caller)
    rule.turn_ended(agent)
    return rule


def severity(rule):
    return None if rule.found is None else rule.found.severity


def test_an_agent_that_begins_two_of_five_turns_over_the_caller_talks_over_it():
    rule = AgentTalksOver(AgentTalksOverSettings(), BOTH)
    for number, gap in enumerate([500, -400, 500, 500, -300]):
        ask_and_reply(rule, number, gap)
    assert severity(rule) == "warning"
    assert rule.found.because == (3, 9)
    assert rule.found.message.startswith("the agent began 2 of its last 5 turns while the caller was speaking")
    for number in range(5, 9):
        ask_and_reply(rule, number, 500)
        assert rule.over_ms is None
    assert severity(rule) is None
    ask_and_reply(rule, 9, 500)
    assert rule.over_ms == 91_500, "five turns without"


@pytest.mark.parametrize("gaps", [[-400, 500, 500, 500, 500, -400], [-180] * 5, [500] * 5])
def test_overlaps_that_are_rare_or_only_hand_overs_are_none(gaps):
    rule = AgentTalksOver(AgentTalksOverSettings(), BOTH)
    for number, gap in enumerate(gaps):
        ask_and_reply(rule, number, gap)
        assert severity(rule) is None


def test_an_agent_that_always_talks_over_is_critical():
    rule = AgentTalksOver(AgentTalksOverSettings(), BOTH)
    for number in range(4):
        ask_and_reply(rule, number, -700)
    assert severity(rule) == "critical"


def test_slow_replies_are_told_once_there_are_ten():
    rule = SlowResponse(SlowResponseSettings(), BOTH)
    for number in range(9):
        assert severity(ask_and_reply(rule, number, 5000)) is None
    assert severity(ask_and_reply(rule, 9, 5000)) == "warning"
    assert (rule.found.value, rule.found.threshold, len(rule.found.because)) == (5.0, 4.0, 10)
    for number in range(10, 110):
        ask_and_reply(rule, number, 800)
    assert rule.over_ms is not None


def test_one_slow_reply_of_many_and_what_is_no_reply_are_no_slow_response():
    rule = SlowResponse(SlowResponseSettings(), BOTH)
    for number in range(40):
        ask_and_reply(rule, number, 9000 if number == 20 else 900)
        ask_and_reply(rule, number, 30_000, ended_by="stall")
        assert severity(rule) in (None, "warning" if number >= 20 else None)
    assert rule.over_ms is not None


def test_an_agent_that_talks_on_when_it_is_barged_in_on_yields_slowly():
    rule = SlowYield(SlowYieldSettings(), BOTH)
    for number in range(3):
        assert severity(rule) is None
        turn = agent_turn(number, 10_000 * number)
        rule.agent_turn(turn, barge_in_on(turn))
    assert severity(rule) == "warning"
    assert (rule.found.value, rule.found.because) == (3.0, (1, 3, 5))
    for number in range(3, 6):
        turn = agent_turn(number, 10_000 * number)
        rule.agent_turn(turn, barge_in_on(turn, 5500))
    assert rule.over_ms == 10_000 * 5 + 6000


def test_yields_that_nobody_can_know_count_for_nothing():
    rule = SlowYield(SlowYieldSettings(), BOTH)
    for number in range(6):
        turn = msgspec.structs.replace(agent_turn(number, 10_000 * number), ended_by="call_end")
        rule.agent_turn(turn, barge_in_on(turn))
        rule.agent_turn(turn, None)
    assert severity(rule) is None


def test_a_floor_that_passes_badly_is_told_once_ten_changes_are_known():
    rule = LowTurnTaking(LowTurnTakingSettings(), BOTH)
    for number in range(10):
        assert severity(rule) is None
        ask_and_reply(rule, number, 2500)
    assert severity(rule) == "warning"
    assert rule.found.value == pytest.approx(transition_score("gap", 2.5))
    assert len(rule.found.because) == 5
    for number in range(10, 30):
        ask_and_reply(rule, number, 500)
    assert rule.over_ms is not None


def verdict(rule, index, answer: Verdict):
    turn = Turn(index=index, role="assistant", start_ms=index * 1000, duration_ms=900, ended_by="silence")
    rule.judged(
        RelevancyJudged(
            call="c",
            seq=index,
            at_ms=turn.end_ms,
            known_at_ms=turn.end_ms + 2000,
            turn=turn,
            verdict=answer,
            reason=None,
            window=(index,),
            batch=0,
            judge="j",
            relevancy=Relevancy(None, None, 0, 0, 0),
        )
    )


def test_answers_beside_the_point_are_told_once_six_are_judged():
    rule = LowRelevancy(LowRelevancySettings(), BOTH)
    for index, answer in enumerate(["yes", "no", "unscored", "no", "yes", "no", "unscored", "no"]):
        assert severity(rule) is None
        verdict(rule, index, answer)  # type: ignore[arg-type]
    assert severity(rule) == "warning"
    assert (rule.found.value, rule.found.because) == (pytest.approx(1 / 3), (1, 3, 5, 7))
    for index in range(8, 18):
        verdict(rule, index, "yes")
    assert rule.over_ms is not None


def test_a_judge_that_fails_says_nothing_of_the_agent():
    rule = LowRelevancy(LowRelevancySettings(), BOTH)
    for index in range(20):
        verdict(rule, index, "unscored")
    assert severity(rule) is None


@pytest.mark.parametrize(("score", "judged", "wanted"), [(0.4, 8, "warning"), (0.2, 8, "critical"), (0.2, 3, None)])
def test_a_judge_of_whole_conversations_is_taken_at_its_score(score, judged, wanted):
    rule = LowRelevancy(LowRelevancySettings(), BOTH)
    rule.judged(
        RelevancyScored(
            call="c",
            seq=0,
            at_ms=9000,
            known_at_ms=9000,
            turns=(3, 5),
            score=score,
            confidence=0.9,
            reason=None,
            batch=0,
            judge="j",
            relevancy=Relevancy(score, None, judged, 0, judged),
        )
    )
    assert severity(rule) == wanted
