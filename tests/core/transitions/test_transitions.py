"""The passing of the floor: told as soon as it is known to exist, told again when it is final, or withdrawn."""

from __future__ import annotations

from typing import Any

from monitor.core.call import CoreSettings
from monitor.core.events import TransitionScored, TransitionWithdrawn
from monitor.core.turn_taking import TurnTakingSettings
from tests.builders import call, of, speech, transitions_of, watch


def story(*said: Any, settings: CoreSettings | None = None) -> list[tuple[Any, ...]]:
    """What is told of transitions, in order: (what, from, to, gap in ms or reason)."""
    out: list[tuple[Any, ...]] = []
    for event in watch(call(*said), settings):
        if isinstance(event, TransitionScored):
            one = event.transition
            out.append(("final" if one.final else "so far", one.from_turn, one.to_turn, one.kind, one.gap_ms))
        elif isinstance(event, TransitionWithdrawn):
            out.append(("withdrawn", event.from_turn, event.to_turn, event.reason))
    return out


def test_a_reply_after_a_silence_is_a_gap() -> None:
    assert story(speech("caller", 600, 2000), speech("agent", 2800, 5000))[-1] == ("final", 0, 1, "gap", 800)


def test_an_agent_that_starts_before_the_caller_is_done_overlaps() -> None:
    """B11: half a second of the agent over the caller; not a gap below zero, and no barge-in."""
    assert transitions_of(watch(call(speech("caller", 600, 4000), speech("agent", 3500, 5500)))) == [
        ("agent_overlap", -500)
    ]


def test_a_caller_that_starts_before_the_agent_is_done_barges_in() -> None:
    assert transitions_of(watch(call(speech("agent", 600, 4000), speech("caller", 3400, 5500)))) == [
        ("user_barge_in", -600)
    ]


def test_a_barge_in_is_told_within_120_ms_and_is_final_when_the_agent_is_done() -> None:
    events = of(watch(call(speech("agent", 600, 4000), speech("caller", 3400, 5500))), "transition.scored")
    assert [(e.transition.final, e.transition.gap_ms) for e in events] == [(False, -100), (True, -600)]
    assert events[0].at_ms == 3400
    assert events[0].known_at_ms - events[0].at_ms <= 120


def test_touching_turns_have_a_gap_of_nothing() -> None:
    assert transitions_of(watch(call(speech("caller", 600, 2000), speech("agent", 2000, 5000)))) == [("gap", 0)]


def test_what_turns_out_to_be_a_backchannel_was_no_transition() -> None:
    told = story(speech("agent", 400, 6000), speech("caller", 2000, 2300))
    assert [one[0] for one in told] == ["so far", "withdrawn"]
    assert told[-1] == ("withdrawn", 0, 1, "backchannel")


def test_the_running_score_goes_back_with_it() -> None:
    events = watch(call(speech("agent", 400, 6000), speech("caller", 2000, 2300)))
    assert of(events, "transition.scored")[0].turn_taking.transitions == 1
    gone = of(events, "transition.withdrawn")[0].turn_taking
    assert (gone.score, gone.transitions) == (None, 0)


def test_a_final_transition_is_told_once_and_never_withdrawn() -> None:
    said = [speech("caller", 600 + 4000 * k, 2000 + 4000 * k) for k in range(4)]
    said += [speech("agent", 2300 + 4000 * k, 4200 + 4000 * k) for k in range(4)]
    told = story(*said)
    final = [one[1:3] for one in told if one[0] == "final"]
    assert len(final) == len(set(final)) == 7
    assert not set(final) & {one[1:3] for one in told if one[0] == "withdrawn"}


def test_two_turns_of_one_party_in_a_row_are_no_transition() -> None:
    assert story(speech("caller", 600, 2000), speech("caller", 3600, 5000)) == []


def test_neighbours_are_told_across_a_backchannel() -> None:
    said = speech("agent", 400, 4000), speech("caller", 2000, 2300), speech("caller", 4600, 6000)
    assert transitions_of(watch(call(*said))) == [("gap", 600)]


def test_backchannels_count_where_that_is_asked_for() -> None:
    plain = CoreSettings(turn_taking=TurnTakingSettings(count_backchannels=True))
    told = story(speech("agent", 400, 6000), speech("caller", 2000, 2300), settings=plain)
    assert told[-1] == ("final", 0, 1, "user_barge_in", -4000)
