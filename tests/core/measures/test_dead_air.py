"""Both sides silent for more than four seconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.clock import Span
from monitor.core.measures.dead_air import DeadAir

BOTH = ("caller", "agent")


def test_silence_counts_from_the_last_sound_of_either_to_the_next(play, say):
    user, agent = say
    call = (agent(0, 3), user(2, 5), agent(13, 14))
    assert play(DeadAir, *call, until=15) == {"count": 1, "total": 8.0}


@pytest.mark.parametrize(("next_sound", "figures"), [(7.0, (0, 0.0)), (7.001, (1, 4.001))])
def test_four_seconds_are_not_yet_dead(play, say, next_sound, figures):
    user, agent = say
    found = play(DeadAir, agent(0, 3), user(next_sound, 9), until=10)
    assert (found["count"], found["total"]) == figures


def test_the_beginning_and_the_end_of_the_call_count(play, say):
    _, agent = say
    assert play(DeadAir, agent(6, 7), until=12) == {"count": 2, "total": 11.0}
    assert play(DeadAir, until=5) == {"count": 1, "total": 5.0}
    assert play(DeadAir, until=0) == {"count": 0, "total": 0.0}


def test_pauses_inside_a_turn_are_silence_too(play, say):
    _, agent = say
    assert play(DeadAir, agent(0, 12, sounds=[(0, 3), (8, 12)]), until=13)["total"] == 5.0


def test_a_stall_is_unknown_and_no_silence(play, say):
    _, agent = say
    call = (agent(0, 3), agent(13, 14))
    assert play(DeadAir, *call, stalls=[("caller", 4, 12)], until=15) == {"count": 0, "total": 0.0}
    assert play(DeadAir, *call, stalls=[("agent", 8, 12)], until=15) == {"count": 1, "total": 5.0}
    assert play(DeadAir, *call, stalls=[("agent", 8, 8.04)], until=15) == {"count": 1, "total": 10.0}


def test_with_one_track_silence_of_both_is_unknown(play, say):
    user, _ = say
    assert play(DeadAir, user(0, 1), until=20, tracks=("caller",)) == {"count": None, "total": None}


spans = st.lists(
    st.tuples(st.sampled_from(BOTH), st.integers(0, 60_000), st.integers(1, 9000)).map(
        lambda s: (s[0], Span(s[1], s[1] + s[2]))
    ),
    max_size=25,
)


@given(spans, st.integers(0, 70_000), st.randoms(use_true_random=False))
def test_stretches_may_close_in_any_order(stretches, end, chance):
    measure = DeadAir(BOTH)
    for track, span in chance.sample(stretches, len(stretches)):
        measure.stretch(track, span)
    silent = [True] * end
    for _, span in stretches:
        silent[span.start : span.end] = [False] * (min(span.end, end) - min(span.start, end))
    runs = [len(run) for run in bytes(silent).split(b"\0")]
    dead = [run for run in runs if run > 4000]
    assert measure.figures(end) == {"count": len(dead), "total": sum(dead) / 1000}


def test_memory_follows_the_dead_air_and_not_the_talk():
    measure = DeadAir(BOTH)
    for n in range(20_000):
        measure.stretch("agent", Span(n * 3000, n * 3000 + 2000))
    assert len(measure._starts) == 1
