"""How responses are cut into messages."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.simulator.bursts import plan
from connectors.simulator.habits import FAULTS, Habits


@given(
    length=st.integers(1, 60_000),
    low=st.integers(1, 500),
    more=st.integers(0, 3000),
    ratio=st.floats(1, 100),
    seed=st.integers(0, 99),
)
def test_bursts_cover_a_response_without_holes_and_ahead_of_its_playing(
    length: int, low: int, more: int, ratio: float, seed: int
) -> None:
    bursts = plan(length, Habits(burst_ms=(low, low + more), ratio=ratio), random.Random(seed))
    assert bursts[0].due_ms == 0
    assert [burst.start_ms for burst in bursts] == [0, *(burst.end_ms for burst in bursts[:-1])]
    assert bursts[-1].end_ms == length
    assert all(burst.due_ms <= burst.start_ms + 0.001 for burst in bursts)
    assert all(low <= burst.end_ms - burst.start_ms <= low + more for burst in bursts[:-1])


def test_eight_seconds_can_go_out_in_a_third_of_a_second() -> None:
    bursts = plan(8000, Habits(burst_ms=(100, 100), ratio=8000 / 300), random.Random(0))
    assert len(bursts) == 80
    assert bursts[-1].due_ms < 300


def test_delivery_can_rest_while_the_client_still_plays() -> None:
    bursts = plan(3000, Habits(burst_ms=(1000, 1000), ratio=10, pauses=((1000, 600),)), random.Random(0))
    assert [burst.due_ms for burst in bursts] == [0, 700, 800]


def test_the_same_seed_makes_the_same_bursts() -> None:
    assert plan(9000, Habits(), random.Random(3)) == plan(9000, Habits(), random.Random(3))
    assert plan(9000, Habits(), random.Random(3)) != plan(9000, Habits(), random.Random(4))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"burst_ms": (0, 10)}, "burst_ms"),
        ({"burst_ms": (20, 10)}, "burst_ms"),
        ({"ratio": 0}, "ratio"),
        ({"agent_format": "mp3"}, "does not exist"),
        ({"events": frozenset({"smell"})}, "smell"),
        ({"ping_every": 1}, "ping_every"),
    ],
)
def test_impossible_habits_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Habits(**wrong)  # type: ignore[arg-type]


def test_every_fault_changes_the_habits() -> None:
    for name in FAULTS:
        assert Habits().with_fault(name) != Habits(), name
    with pytest.raises(ValueError, match="late-audio"):
        Habits().with_fault("gremlins")
