"""Which stretches make a turn, where it starts and ends, and when that is told."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from monitor.core.call import CoreSettings
from monitor.core.giving_way import TimelineSettings
from tests.builders import call, of, speech, turns_of, watch


def test_a_turn_runs_from_its_first_voiced_frame_to_its_last() -> None:
    """B43: not from the moment it was told, nor to the moment its end was."""
    events = watch(call(speech("caller", 1000, 2000)))
    assert turns_of(events) == [("user", 1000, 2000)]
    begun, over = of(events, "turn.started")[0], of(events, "turn.ended")[0]
    assert (begun.at, begun.known_at) == (1.0, 1.1)
    assert (over.at, over.known_at) == (2.0, 3.02)  # a second of silence has passed


def test_a_pause_of_a_second_is_inside_a_turn() -> None:
    assert turns_of(watch(call(speech("caller", 600, 1600), speech("caller", 2600, 3600)))) == [("user", 600, 3600)]


def test_a_longer_pause_ends_it() -> None:
    """B17: an end and a start in one chunk are two turns, wherever the chunks are cut."""
    said = speech("caller", 600, 1600), speech("caller", 2800, 3800)
    assert turns_of(watch(call(*said))) == [("user", 600, 1600), ("user", 2800, 3800)]


def test_the_longest_pause_is_a_setting() -> None:
    quick = CoreSettings(timeline=TimelineSettings(max_pause_ms=400))
    said = speech("caller", 600, 1600), speech("caller", 2100, 3100)
    assert len(turns_of(watch(call(*said), quick))) == 2
    assert len(turns_of(watch(call(*said)))) == 1


def test_who_takes_the_floor_in_a_pause_ends_the_turn_at_once() -> None:
    events = watch(call(speech("caller", 600, 2000), speech("agent", 2600, 5000)))
    assert turns_of(events) == [("user", 600, 2000), ("assistant", 2600, 5000)]
    first = of(events, "turn.ended")[0]
    assert first.turn.role == "user"
    assert 2.7 <= first.known_at <= 2.74


def test_one_who_goes_on_after_the_other_had_the_floor_has_a_new_turn() -> None:
    said = speech("caller", 600, 2000), speech("agent", 2200, 3600), speech("caller", 3800, 5000)
    assert turns_of(watch(call(*said))) == [("user", 600, 2000), ("assistant", 2200, 3600), ("user", 3800, 5000)]


@pytest.mark.parametrize(("listener", "speaker"), [("caller", "agent"), ("agent", "caller")])
def test_a_listeners_noise_is_a_backchannel_and_takes_no_floor(listener: str, speaker: str) -> None:
    """B09: three of them in one long turn."""
    noises = [speech(listener, at, at + 240) for at in (2000, 3500, 5000)]  # type: ignore[arg-type]
    events = watch(call(speech(speaker, 400, 6000), *noises))  # type: ignore[arg-type]
    roles = {"caller": "user", "agent": "assistant"}
    assert turns_of(events) == [
        (roles[speaker], 400, 6000),
        *(("~" + roles[listener], at, at + 240) for at in (2000, 3500, 5000)),
    ]
    assert events[-1].summary["turn_taking"]["transitions"] == 0  # type: ignore[attr-defined]
    assert not any(turn.turn.interrupted for turn in of(events, "turn.ended"))


def test_a_backchannel_in_a_pause_of_the_speaker_splits_nothing() -> None:
    said = speech("agent", 400, 3000), speech("caller", 3100, 3400), speech("agent", 3700, 6000)
    assert turns_of(watch(call(*said))) == [("assistant", 400, 6000), ("~user", 3100, 3400)]


def test_a_short_answer_after_the_other_is_done_is_a_turn() -> None:
    said = speech("agent", 400, 3000), speech("caller", 3200, 3500), speech("agent", 4600, 6000)
    assert turns_of(watch(call(*said))) == [("assistant", 400, 3000), ("user", 3200, 3500), ("assistant", 4600, 6000)]


def test_more_than_a_second_inside_the_others_talk_is_no_backchannel() -> None:
    events = watch(call(speech("agent", 400, 6000), speech("caller", 2000, 3060)))
    assert turns_of(events) == [("assistant", 400, 6000), ("user", 2000, 3060)]


def test_two_noises_in_a_row_share_one_fate() -> None:
    said = speech("agent", 400, 6000), speech("caller", 2000, 2240), speech("caller", 2560, 2800)
    assert turns_of(watch(call(*said))) == [("assistant", 400, 6000), ("~user", 2000, 2800)]


def test_one_who_is_talked_down_was_interrupted() -> None:
    events = watch(call(speech("agent", 400, 3000), speech("caller", 2500, 5000)))
    assert [(t.turn.role, t.turn.interrupted) for t in of(events, "turn.ended")] == [
        ("assistant", True),
        ("user", False),
    ]


def test_one_who_talks_on_for_a_second_was_not() -> None:
    events = watch(call(speech("agent", 400, 3600), speech("caller", 2500, 5000)))
    assert [t.turn.interrupted for t in of(events, "turn.ended")] == [False, False]


def test_an_overlap_of_less_than_200_ms_interrupts_nobody() -> None:
    events = watch(call(speech("agent", 400, 3000), speech("caller", 2840, 5000)))
    assert [t.turn.interrupted for t in of(events, "turn.ended")] == [False, False]


def test_turns_are_counted_in_order_of_start_and_the_caller_comes_first_in_a_tie() -> None:
    events = watch(call(speech("agent", 600, 4000), speech("caller", 600, 2000), speech("caller", 3500, 6000)))
    assert [(t.turn.index, t.turn.role, t.turn.start_ms) for t in of(events, "turn.started")] == [
        (0, "user", 600),
        (1, "assistant", 600),
        (2, "user", 3500),
    ]


def test_a_turn_that_goes_on_is_updated_once_a_second() -> None:
    events = watch(call(speech("agent", 600, 5200)))
    assert [(e.at_ms, e.turn.duration_ms) for e in of(events, "turn.updated")] == [
        (1600, 1000),
        (2600, 2000),
        (3600, 3000),
        (4600, 4000),
    ]


def test_an_update_stops_where_the_voice_did() -> None:
    events = watch(call(speech("agent", 600, 1540), speech("agent", 1840, 3000)))
    assert of(events, "turn.updated")[0].turn.duration_ms == 940
    assert of(events, "turn.updated")[0].known_at_ms == 1600


def test_a_turn_that_has_ended_never_changes_again() -> None:
    said = [speech("caller", 600 + 3000 * k, 2000 + 3000 * k) for k in range(5)]
    said += [speech("agent", 1800 + 3000 * k, 3200 + 3000 * k) for k in range(5)]
    events = watch(call(*said))
    indexes = [event.turn.index for event in of(events, "turn.ended")]
    assert len(indexes) == len(set(indexes)) == 10
    for before, after in pairwise(turns_of(events)):
        assert before[1] <= after[1]


def test_the_timeline_wakes_on_the_grid_of_frames_whatever_the_settings() -> None:
    odd = TimelineSettings(max_pause_ms=777, update_every_ms=333, backchannel_max_ms=555, backchannel_around_ms=111)
    settings = msgspec.structs.replace(CoreSettings(), timeline=odd)
    said = speech("agent", 400, 3000), speech("caller", 2600, 3140), speech("agent", 3700, 6000)
    assert {event.known_at_ms % 20 for event in watch(call(*said), settings)} == {0}
