"""The running score: exact at any length, in any order, and no bigger for it."""

from __future__ import annotations

import itertools
import random
import statistics
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.events import Turn
from monitor.core.naturalness import TurnTakingNaturalness
from monitor.core.turn_taking import RunningScore, transition_kind

EXACT = 1e-12


def turn(index, role, start, duration):
    return Turn(index=index, role=role, start_ms=start, duration_ms=duration, ended_by="silence")


def other(role):
    return "user" if role == "assistant" else "assistant"


@st.composite
def timelines(draw):
    """Turns of a call in order of start: overlaps, ties, one party twice in a row, long silences."""
    starts = sorted(draw(st.lists(st.integers(0, 60_000), min_size=2, max_size=40)))
    roles = draw(st.lists(st.sampled_from(["user", "assistant"]), min_size=len(starts), max_size=len(starts)))
    spans = draw(st.lists(st.integers(0, 9000), min_size=len(starts), max_size=len(starts)))
    return [turn(i, *parts) for i, parts in enumerate(zip(roles, starts, spans, strict=True))]


def tell(running, before, after, gap, final):
    kind = transition_kind(before.role, after.role, gap)
    return running.set(before.index, after.index, kind, gap, final, to_role=after.role)


@given(timelines(), st.randoms(use_true_random=False))
def test_whatever_was_guessed_on_the_way_the_end_is_the_batch_metric(turns, chance):
    running = RunningScore()
    pairs = [(a, b) for a, b in itertools.pairwise(turns) if a.role != b.role]
    for before, after in sorted(pairs, key=lambda _: chance.random()):
        for _ in range(chance.randrange(3)):
            tell(running, before, after, chance.randrange(-5000, 5000), False)
            if chance.random() < 0.5:
                running.withdraw(before.index, after.index)
        tell(running, before, after, after.start_ms - before.end_ms, True)
    for _ in range(chance.randrange(3)):  # turns that turn out to be backchannels leave nothing behind
        ghost = turn(len(turns), other(turns[-1].role), 70_000, None)
        tell(running, turns[-1], ghost, chance.randrange(-5000, 5000), False)
        running.withdraw(turns[-1].index, ghost.index)

    batch = TurnTakingNaturalness()
    batch.measure(turns)
    assert running.transitions == sum(batch.kinds.values())
    if batch.skipped:
        assert (running.score, running.score_with_consistency, running.worst) == (None, None, None)
        return
    assert running.score == pytest.approx(batch.score, abs=EXACT)
    assert running.score_with_consistency == pytest.approx(batch.score_with_consistency, abs=EXACT)
    assert running.kinds == batch.kinds
    lowest = min(t["score"] for t in batch.score_breakdown["transitions"])
    assert running.worst.score == lowest


def long_call(length, seed=7):
    chance = random.Random(seed)
    at = 0
    for index in range(length):
        duration = chance.randrange(200, 8000)
        yield turn(index, "user" if index % 2 else "assistant", at, duration)
        at += max(20, duration + chance.randrange(-900, 3000))


def test_a_long_call_is_as_exact_as_a_short_one_at_every_step():
    turns = list(long_call(10_000))
    running = RunningScore()
    scores, delays = [], []
    for before, after in itertools.pairwise(turns):
        gap = after.start_ms - before.end_ms
        for guess in (gap - 640, gap + 3, gap // 7):  # taken back again and again
            tell(running, before, after, guess, False)
        scores.append(tell(running, before, after, gap, True).score)
        if gap >= 0 and after.role == "assistant":
            delays.append(gap / 1000)
        if len(scores) % 1000 == 0:
            assert running.score == pytest.approx(statistics.fmean(scores), abs=EXACT)
            assert running.spread_seconds == pytest.approx(statistics.pstdev(delays), abs=EXACT)
    batch = TurnTakingNaturalness()
    batch.measure(turns)
    assert running.score == pytest.approx(batch.score, abs=EXACT)
    assert running.score_with_consistency == pytest.approx(batch.score_with_consistency, abs=EXACT)


def test_the_order_of_telling_changes_no_bit():
    turns = list(long_call(500))
    pairs = list(itertools.pairwise(turns))
    scores = set()
    for seed in range(5):
        running = RunningScore()
        for before, after in random.Random(seed).sample(pairs, len(pairs)):
            tell(running, before, after, after.start_ms - before.end_ms, True)
        scores.add((running.score, running.score_with_consistency, running.worst.from_turn))
    assert len(scores) == 1


def test_memory_does_not_grow_with_the_call():
    running = RunningScore()
    turns = list(long_call(5000))

    def feed(some):
        for before, after in itertools.pairwise(some):
            tell(running, before, after, -10, False)
            tell(running, before, after, after.start_ms - before.end_ms, True)

    feed(turns[:1000])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    feed(turns[999:])
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2048


def test_provisional_transitions_count_until_they_are_withdrawn():
    running = RunningScore()
    running.set(0, 1, "gap", 0, True, to_role="user")
    running.set(1, 2, "agent_overlap", -600, False, to_role="assistant")
    assert (running.transitions, running.worst.to_turn) == (2, 2)
    assert running.turn_taking.score == pytest.approx((1 + 0.36787944117144233) / 2, abs=EXACT)
    running.withdraw(1, 2)
    assert (running.turn_taking.score, running.turn_taking.transitions, running.worst.to_turn) == (1.0, 1, 1)


def test_a_final_transition_is_never_changed_or_withdrawn():
    running = RunningScore()
    running.set(3, 4, "gap", 200, True, to_role="user")
    with pytest.raises(ValueError, match="is final"):
        running.set(3, 4, "gap", 300, True, to_role="user")
    with pytest.raises(ValueError, match="no provisional transition from turn 3"):
        running.withdraw(3, 4)
    assert running.transitions == 1


@pytest.mark.parametrize(
    ("kind", "gap", "to_role"),
    [
        ("gap", -1, "user"),
        ("user_barge_in", 5, "user"),
        ("user_barge_in", -5, "assistant"),
        ("agent_overlap", -5, "user"),
    ],
)
def test_a_kind_that_contradicts_its_gap_or_its_parties_is_refused(kind, gap, to_role):
    running = RunningScore()
    with pytest.raises(ValueError, match="is no"):
        running.set(0, 1, kind, gap, False, to_role=to_role)
    assert running.score is None


def test_an_overlap_that_has_only_just_begun_scores_one():
    assert RunningScore().set(0, 1, "user_barge_in", 0, False, to_role="user").score == 1.0
