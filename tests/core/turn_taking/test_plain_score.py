"""The plain score: every turn that ended, in whatever order they end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.events import Turn
from monitor.core.naturalness import TurnTakingNaturalness
from monitor.core.turn_taking import PlainScore

EXACT = 1e-12


def turns_of(parts):
    return [
        Turn(index=i, role=role, start_ms=start, duration_ms=duration, backchannel=short, after_stall=unknown)
        for i, (start, role, duration, short, unknown) in enumerate(sorted(parts))
    ]


parts = st.lists(
    st.tuples(
        st.integers(0, 60_000),
        st.sampled_from(["assistant", "user"]),
        st.integers(0, 9000),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=30,
)


def batch_of(turns):
    metric = TurnTakingNaturalness()
    metric.measure(turns)
    return metric


@given(parts, st.randoms(use_true_random=False))
def test_turns_may_end_in_any_order(parts, chance):
    turns = turns_of(parts)
    plain = PlainScore()
    for turn in chance.sample(turns, len(turns)):
        plain.ended(turn)
    plain.close()
    batch = batch_of(turns)
    assert plain.scores.score == pytest.approx(batch.score, abs=EXACT)
    assert plain.scores.score_with_consistency == pytest.approx(batch.score_with_consistency, abs=EXACT)
    assert plain.scores.transitions == sum(batch.kinds.values())


@given(parts, st.randoms(use_true_random=False))
def test_turns_that_never_ended_are_left_out_when_the_call_is_over(parts, chance):
    turns = turns_of(parts)
    ended = chance.sample(turns, chance.randrange(1, len(turns) + 1))
    plain = PlainScore()
    for turn in ended:
        plain.ended(turn)
    plain.close()
    assert plain.scores.score == pytest.approx(batch_of(ended).score, abs=EXACT)


def test_backchannels_are_turns_here():
    plain = PlainScore()
    for turn in turns_of(
        [
            (0, "assistant", 10_000, False, False),
            (3000, "user", 1000, True, False),
            (12_000, "assistant", 2000, False, False),
        ]
    ):
        plain.ended(turn)
    assert plain.scores.score == pytest.approx(0.035479793700342356, abs=EXACT)


def test_one_turn_that_goes_on_for_an_hour_holds_back_only_its_neighbours():
    plain = PlainScore()
    plain.ended(Turn(index=0, role="assistant", start_ms=0, duration_ms=500))
    for index in range(2, 1002):  # turn 1 goes on
        role = "user" if index % 2 else "assistant"
        plain.ended(Turn(index=index, role=role, start_ms=index * 3000, duration_ms=2500))
    assert plain.scores.transitions == 999
    assert len(plain._wants_next) + len(plain._wants_previous) <= 3
    plain.ended(Turn(index=1, role="user", start_ms=1000, duration_ms=3_600_000))
    assert plain.scores.transitions == 1001


def test_what_lies_behind_a_stall_is_not_scored():
    plain = PlainScore()
    plain.ended(Turn(index=0, role="user", start_ms=0, duration_ms=1000))
    plain.ended(Turn(index=1, role="assistant", start_ms=9000, duration_ms=1000, after_stall=True))
    plain.ended(Turn(index=2, role="user", start_ms=10_500, duration_ms=1000))
    assert plain.scores.transitions == 1
    assert plain.scores.worst.to_turn == 2
