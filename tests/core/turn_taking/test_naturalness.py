"""The batch metric: what it takes, what it says, and what it refuses."""

from __future__ import annotations

import math
from decimal import Decimal
from types import SimpleNamespace

import pytest

from monitor.core.events import Turn
from monitor.core.naturalness import TurnTakingNaturalness

EXACT = 1e-12
CALL = [
    {"role": "assistant", "start_time": 0.0, "duration": 2.0},
    {"role": "user", "start_time": 1.5, "duration": 2.0},
    {"role": "assistant", "start_time": 4.0, "duration": 1.0},
]
SCORE = (math.exp(-0.25) + math.exp(-0.2)) / 2


def measured(turns, **options):
    metric = TurnTakingNaturalness(**options)
    metric.measure(turns)
    return metric


@pytest.mark.parametrize(
    "turns",
    [
        CALL,
        tuple(CALL),
        iter(CALL),
        [SimpleNamespace(**turn) for turn in CALL],
        [{"role": t["role"], "start": t["start_time"], "duration": Decimal(str(t["duration"]))} for t in CALL],
        [
            Turn(index=i, role=t["role"], start_ms=int(t["start_time"] * 1000), duration_ms=int(t["duration"] * 1000))
            for i, t in enumerate(CALL)
        ],
        list(reversed(CALL)),
    ],
    ids=["mappings", "tuple", "iterator", "objects", "short names", "our turns", "unsorted"],
)
def test_it_takes_turns_in_any_dress(turns):
    metric = measured(turns)
    assert metric.score == pytest.approx(SCORE, abs=EXACT)
    assert metric.kinds == {"gap": 1, "user_barge_in": 1, "agent_overlap": 0}
    assert (metric.success, metric.skipped) == (True, False)


def test_the_breakdown_names_turns_by_index_where_all_have_one():
    turns = [turn | {"index": 10 + 3 * i} for i, turn in enumerate(CALL)]
    pairs = [(t["from_turn"], t["to_turn"]) for t in measured(turns).score_breakdown["transitions"]]
    assert pairs == [(10, 13), (13, 16)]
    some = [CALL[0], *turns[1:]]
    assert measured(some).score_breakdown["transitions"][0]["to_turn"] == 1


def test_two_turns_with_one_index_are_a_mistake():
    with pytest.raises(ValueError, match="two turns have the index 4"):
        measured([turn | {"index": 4} for turn in CALL])


def test_equal_starts_keep_the_order_of_the_indexes():
    tie = [
        {"index": 1, "role": "assistant", "start_time": 0.0, "duration": 2.0},
        {"index": 0, "role": "user", "start_time": 0.0, "duration": 1.0},
    ]
    assert measured(tie).kinds["agent_overlap"] == 1


def test_binary_fractions_make_no_overlap_of_a_hand_over():
    handed = [
        {"role": "user", "start_time": 9.646, "duration": 1.807},
        {"role": "assistant", "start_time": 11.453, "duration": 1.469},
    ]
    assert handed[1]["start_time"] - (handed[0]["start_time"] + handed[0]["duration"]) < 0
    metric = measured(handed)
    assert metric.score == 1.0
    assert metric.score_breakdown["transitions"][0]["gap_seconds"] == 0.0
    finer = [
        {"role": "user", "start_time": 0.1, "duration": 0.2 + 1e-4 / 3},
        {"role": "assistant", "start_time": 0.3 + 1e-4 / 3, "duration": 1},
    ]
    assert measured(finer).kinds == {"gap": 1, "user_barge_in": 0, "agent_overlap": 0}


def test_a_day_into_a_call_a_gap_is_as_exact_as_at_its_start():
    late = [{**turn, "start_time": turn["start_time"] + 86_399.993} for turn in CALL]
    assert measured(late).score == measured(CALL).score


def test_a_turn_without_a_duration_or_without_audio_is_not_on_the_timeline():
    text = {"role": "assistant", "start_time": None, "duration": None, "text": "one moment"}
    muted = {"role": "assistant", "start_time": 1.0, "duration": 9.0, "audio": False}
    assert measured([CALL[0], text, muted, *CALL[1:]]).score == pytest.approx(SCORE, abs=EXACT)


def test_a_turn_that_ought_to_be_there_and_says_not_where_stops_the_scoring():
    metric = measured([*CALL, {"role": "user", "duration": 1.0}])
    assert metric.skipped
    assert (
        metric.reason == "No score: turn 3 has a duration but no start time, and silence and overlap are not guessed."
    )


def test_nothing_is_scored_across_a_stall():
    metric = measured([CALL[0], CALL[1], CALL[2] | {"after_stall": True}])
    assert [t["kind"] for t in metric.score_breakdown["transitions"]] == ["user_barge_in"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"role": "system"}, "turn 1: role must be 'user' or 'assistant', got 'system'"),
        ({"role": None}, "turn 1: role must be"),
        ({"role": ["user"]}, "turn 1: role must be"),
        ({"duration": -0.5}, "turn 1: duration must not be negative, got -0.5"),
        ({"duration": math.nan}, "turn 1: duration must be a number of seconds, got nan"),
        ({"start_time": math.inf}, "turn 1: start_time must be a number of seconds, got inf"),
        ({"start_time": "1.5"}, "turn 1: start_time must be a number of seconds, got '1.5'"),
        ({"start_time": True}, "turn 1: start_time must be a number of seconds, got True"),
        ({"start_time": 10**400}, "turn 1: start_time must be a number of seconds"),
    ],
)
def test_a_turn_that_cannot_be_one_is_named(wrong, message):
    metric = TurnTakingNaturalness()
    metric.measure(CALL)
    with pytest.raises(ValueError, match=message):
        metric.measure([CALL[0], CALL[1] | wrong, CALL[2]])
    assert (metric.score, metric.reason) == (None, None)


def test_no_turns_are_a_mistake_of_the_caller():
    with pytest.raises(TypeError, match="'turns' must not be empty"):
        measured([])


def test_the_reason_says_how_many_and_which_was_worst():
    metric = measured(CALL)
    assert metric.reason == (
        "Turn-taking naturalness was 0.80 over 2 transitions (1 gap, 1 caller barge-in). "
        "The weakest, from turn 0 to turn 1: 0.50 s of the caller talking into the agent's turn (0.78)."
    )
    assert measured(CALL, include_reason=False).reason is None


def test_a_threshold_decides_and_none_decides_nothing():
    assert measured(CALL, threshold=0.9).success is False
    assert measured(CALL, threshold=None).success is None
    assert measured(CALL[:1], threshold=None).success is None
    flaky = measured(CALL, threshold=0.9, flaky=True)
    assert (flaky.flaky, flaky.success) == (True, False)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan])
def test_a_threshold_beyond_the_scale_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must lie between 0 and 1"):
        TurnTakingNaturalness(threshold=threshold)


def test_strict_mode_takes_one_for_an_answer_and_nothing_less():
    strict = measured(CALL, strict_mode=True, threshold=0.1)
    assert (strict.threshold, strict.score, strict.score_with_consistency, strict.success) == (1.0, 0.0, 0.0, False)
    assert "0.80" in strict.reason
    perfect = [{"role": r, "start_time": i, "duration": 1} for i, r in enumerate(["user", "assistant", "user"])]
    strict.measure(perfect)
    assert (strict.score, strict.success) == (1.0, True)


def test_verbose_mode_prints_the_breakdown(capsys):
    metric = measured(CALL, verbose_mode=True)
    printed = capsys.readouterr().out
    assert metric.reason in printed
    assert "'kind': 'user_barge_in'" in printed
    assert "response_delays" in printed
    measured(CALL)
    assert capsys.readouterr().out == ""


def test_one_metric_may_judge_call_after_call():
    metric = TurnTakingNaturalness()
    metric.measure(CALL)
    metric.measure(CALL[:1])
    assert metric.skipped
    assert (metric.score, metric.kinds, metric.success) == (None, {}, None)
    metric.measure(CALL)
    assert (metric.skipped, metric.success) == (False, True)
