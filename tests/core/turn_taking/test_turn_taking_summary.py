"""What `call.ended` says of turn-taking is what the batch metric says of the call's turns."""

from __future__ import annotations

import itertools

import pytest

from monitor.core.events import Turn
from monitor.core.measures.turn_taking import turn_taking_summary
from monitor.core.naturalness import TurnTakingNaturalness
from monitor.core.turn_taking import PlainScore, RunningScore, TurnTakingSettings, transition_kind

EXACT = 1e-12
KEYS = ["score", "score_with_consistency", "score_all_turns", "transitions", "kinds", "success", "reason"]


def call():
    parts = [
        ("assistant", 0, 10_000, False),
        ("user", 3000, 500, True),
        ("user", 10_400, 2000, False),
        ("assistant", 13_000, 3000, False),
        ("user", 15_500, 2000, False),
        ("assistant", 17_300, 4000, False),
        ("user", 22_000, 1000, False),
        ("assistant", 24_000, 1000, False),
    ]
    return [
        Turn(index=i, role=role, start_ms=start, duration_ms=duration, backchannel=short)
        for i, (role, start, duration, short) in enumerate(parts)
    ]


def scored(turns):
    scores, plain = RunningScore(), PlainScore()
    for turn in turns:
        plain.ended(turn)
    plain.close()
    floor = [turn for turn in turns if not turn.backchannel]
    for before, after in itertools.pairwise(floor):
        if before.role != after.role:
            gap = after.start_ms - before.end_ms
            kind = transition_kind(before.role, after.role, gap)
            scores.set(before.index, after.index, kind, gap, True, to_role=after.role)
    return scores, plain


@pytest.mark.parametrize("options", [{}, {"threshold": 0.9}, {"strict_mode": True}, {"threshold": None}])
def test_both_readings_are_the_batch_metric_over_their_turns(options):
    turns = call()
    summary = turn_taking_summary(*scored(turns), TurnTakingSettings(**options))
    floor, every = TurnTakingNaturalness(**options), TurnTakingNaturalness(**options)
    floor.measure([turn for turn in turns if not turn.backchannel])
    every.measure(turns)
    assert list(summary) == KEYS
    assert summary["score"] == pytest.approx(floor.score, abs=EXACT)
    assert summary["score_with_consistency"] == pytest.approx(floor.score_with_consistency, abs=EXACT)
    assert summary["score_all_turns"] == pytest.approx(every.score, abs=EXACT)
    assert summary["success"] == floor.success
    assert summary["kinds"] == floor.kinds
    assert summary["transitions"] == sum(floor.kinds.values())
    assert summary["reason"] == floor.reason


def test_the_plain_reading_can_be_asked_for():
    turns = call()
    summary = turn_taking_summary(*scored(turns), TurnTakingSettings(count_backchannels=True, flaky=True))
    every = TurnTakingNaturalness()
    every.measure(turns)
    assert summary["score"] == summary["score_all_turns"] == pytest.approx(every.score, abs=EXACT)
    assert summary["kinds"] == every.kinds
    assert summary["flaky"] is True


def test_nothing_to_score_is_null():
    summary = turn_taking_summary(RunningScore(), PlainScore(), TurnTakingSettings())
    assert (summary["score"], summary["score_with_consistency"], summary["score_all_turns"]) == (None, None, None)
    assert (summary["transitions"], summary["success"]) == (0, None)
    assert summary["reason"].startswith("No score: ")
    silent = turn_taking_summary(RunningScore(), PlainScore(), TurnTakingSettings(include_reason=False))
    assert silent["reason"] is None
