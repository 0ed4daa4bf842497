"""The calls that come with the program, and the truth about them."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.inputs import CallEnded, CallStarted, Cut
from connectors.simulator.rehearsal import Rehearsal, rehearse
from connectors.simulator.scenario_demo import ASSISTANT, DEMO, SHORT
from monitor.core.events import Event, TransitionScored, TurnEnded
from monitor.runtime.hearing import CallMonitor

BESIDE_THE_POINT = 6
"""The agent's line about opening hours, where it was asked for a refund."""


@pytest.fixture(scope="module")
def demo() -> Rehearsal:
    return rehearse(DEMO)


@pytest.fixture(scope="module")
def events(demo: Rehearsal) -> list[Event]:
    monitor = CallMonitor()
    return [event for given in demo.inputs for event in monitor.feed(given)]


def test_the_demo_is_a_call_of_about_a_minute(demo: Rehearsal) -> None:
    assert 55_000 <= len(demo.caller) / 16 <= 70_000
    assert len(demo.caller) == len(demo.agent)


def test_the_demo_holds_what_it_promises(demo: Rehearsal) -> None:
    answers = [change for change in demo.transitions if change.to.track == "agent"]
    assert sum(change.kind == "gap" and change.gap_ms < 700 for change in answers) >= 4
    assert sum(change.kind == "gap" and change.gap_ms > 2000 for change in answers) == 1
    assert [change.kind for change in demo.transitions].count("user_barge_in") == 1
    (talked_over,) = [change for change in answers if change.kind == "agent_overlap"]
    assert -850 <= talked_over.gap_ms <= -600
    assert [turn.text for turn in demo.turns if turn.backchannel] == ["Mm-hm."]
    assert [turn.line for turn in demo.turns if turn.interrupted] == [3]
    asked = [turn for turn in demo.turns if turn.track == "caller" and not turn.backchannel][-2]
    answered = next(turn for turn in demo.turns if turn.track == "agent" and turn.start > asked.end)
    assert ("refund" in asked.text, answered.line) == (True, BESIDE_THE_POINT)


def test_the_truth_is_where_the_sound_is(demo: Rehearsal) -> None:
    for track in ("caller", "agent"):
        sound = np.abs(getattr(demo, track).astype(int))
        voiced = np.zeros(len(sound), dtype=bool)
        for turn in demo.turns:
            if turn.track == track:
                voiced[(turn.start - 30) * 16 : (turn.end + 40) * 16] = True
        assert sound[~voiced].max() < 150
        assert sound[voiced].max() > 10_000


def test_the_monitor_hears_the_demo_as_it_was(demo: Rehearsal, events: list[Event]) -> None:
    final = [event.transition for event in events if isinstance(event, TransitionScored) and event.transition.final]
    assert [change.kind for change in final] == [change.kind for change in demo.transitions]
    errors = [abs(heard.gap_ms - true.gap_ms) for heard, true in zip(final, demo.transitions, strict=True)]
    assert sorted(errors)[len(errors) // 2] <= 30
    assert max(errors) <= 200  # the soft end of a line under the other's voice


def test_the_monitor_knows_the_backchannel_and_the_interrupted_turn(demo: Rehearsal, events: list[Event]) -> None:
    ended = [event.turn for event in events if isinstance(event, TurnEnded)]
    assert len(ended) == len(demo.turns)
    assert [turn.role for turn in ended if turn.backchannel] == ["user"]
    (cut,) = [turn for turn in ended if turn.ended_by == "interruption"]
    true = next(turn for turn in demo.turns if turn.interrupted)
    assert cut.end_ms == pytest.approx(true.end, abs=120)


def test_a_rehearsal_is_the_same_every_time(demo: Rehearsal) -> None:
    again = rehearse(DEMO)
    assert again.turns == demo.turns
    assert again.inputs == demo.inputs


def test_the_inputs_are_a_whole_call(demo: Rehearsal) -> None:
    assert isinstance(demo.inputs[0], CallStarted)
    assert isinstance(demo.inputs[-1], CallEnded)
    assert sum(isinstance(given, Cut) for given in demo.inputs) == 1


def test_the_short_call_is_an_answer_and_a_barge_in() -> None:
    kinds = [change.kind for change in rehearse(SHORT).transitions]
    assert kinds == ["gap", "gap", "user_barge_in", "gap"]


def test_a_call_that_never_ends_cannot_be_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.simulator.rehearsal.LIMIT_MS", 5000)
    with pytest.raises(ValueError, match="assistant"):
        rehearse(ASSISTANT)
