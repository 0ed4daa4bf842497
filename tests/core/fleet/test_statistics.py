"""The formulas against values known otherwise, and the detection on simulated traffic."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, factorial, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.fleet.baselines import Baselines, hour_of_week
from monitor.core.fleet.dense import DenseScore
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.tail import tail
from tests.core.fleet.traffic import minutes_of


def exact_tail(count: int, shape: int, dispersion: int) -> float:
    """P(X >= count) of a negative binomial with a whole `shape`, in fractions: its mean is shape x (dispersion - 1)."""
    p = Fraction(1, dispersion)
    below = sum(comb(k + shape - 1, k) * p**shape * (1 - p) ** k for k in range(count))
    return float(1 - below)


@pytest.mark.parametrize("dispersion", [2, 3, 5])
@pytest.mark.parametrize("shape", [1, 3, 15, 40])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 10, 30, 80])
def test_the_tail_is_that_of_the_fractions(count: int, shape: int, dispersion: int) -> None:
    mean = shape * (dispersion - 1)
    assert tail(count, mean, dispersion) == pytest.approx(exact_tail(count, shape, dispersion), rel=1e-10, abs=1e-14)


def test_values_of_a_table() -> None:
    # scipy.stats.nbinom.sf(19, 5, 0.5), .sf(9, 1.5, 0.5), and scipy.stats.poisson.sf(9, 3)
    assert tail(20, 5, 2) == pytest.approx(0.0007719, rel=2e-4)
    assert tail(10, 3, 1) == pytest.approx(1 - sum(exp(-3) * 3**k / factorial(k) for k in range(10)), rel=1e-9)


@given(st.integers(0, 400), st.floats(0.01, 200), st.floats(1, 10))
def test_a_tail_is_a_share_and_falls(count: int, mean: float, dispersion: float) -> None:
    here, next_one = tail(count, mean, dispersion), tail(count + 1, mean, dispersion)
    assert 0 <= next_one <= here + 1e-12 <= 1 + 2e-12


def test_nothing_expected_and_nothing_came() -> None:
    assert tail(0, 0, 2) == 1
    assert tail(1, 0, 2) == 0


def test_the_smoothed_score_by_hand() -> None:
    dense = DenseScore(FleetSettings())
    z = 2 * (sqrt(20.375) - sqrt(10.375)) / sqrt(2)
    assert dense.step(20, 10) == pytest.approx(0.2 * z)
    assert dense.step(20, 10) == pytest.approx(0.8 * 0.2 * z + 0.2 * z)
    for _ in range(40):
        dense.step(0, 10)
    assert dense.score == 0


def test_the_dispersion_is_learnt_from_ordinary_steps() -> None:
    rng = np.random.default_rng(4)
    dense = DenseScore(FleetSettings())
    for count in rng.negative_binomial(20 / 3, 1 / 4, 3000):  # mean 20, variance 80
        dense.learn(int(count), 20)
    assert dense.dispersion == pytest.approx(4, rel=0.1)
    assert DenseScore(FleetSettings(dispersion=3.0)).dispersion == 3


def test_what_is_usual_is_drawn_toward_the_fleet() -> None:
    usual = Baselines(FleetSettings())
    assert usual.blank
    assert usual.share("new") == 0.10
    usual.learn("busy", 1000, 300)
    assert usual.mean == 0.3
    assert usual.share("new") == 0.3
    usual.learn("young", 20, 0)
    m = 300 / 1020
    assert usual.share("young") == pytest.approx((20 * m + 0) / (20 + 20))
    assert usual.share("busy") == pytest.approx((20 * m + 300) / (20 + 1000))


def test_an_hour_of_the_week_has_its_own() -> None:
    usual = Baselines(FleetSettings())
    usual.learn("a", 5000, 500, hour=10)
    usual.learn("a", 5000, 1500, hour=11)
    assert usual.share("a") == pytest.approx(0.2, abs=0.001)
    assert usual.share("a", 10) == pytest.approx(0.104, abs=0.001)
    assert usual.share("a", 11) == pytest.approx(0.296, abs=0.001)
    assert usual.share("a", 12) == usual.share("a")


def test_the_hours_of_the_week_begin_on_monday() -> None:
    assert hour_of_week(4 * 86_400) == 0  # 1970-01-05, a Monday
    assert hour_of_week(4 * 86_400 - 1) == 167


@given(st.lists(st.tuples(st.integers(-5, 10_000), st.integers(-5, 20_000)), max_size=30))
def test_no_counts_give_a_share_that_cannot_be(counts: list[tuple[int, int]]) -> None:
    usual = Baselines(FleetSettings())
    for turns, barge_ins in counts:
        usual.learn("a", turns, barge_ins, hour=3)
    assert 0 < usual.share("a", 3) < 1
    assert usual.turns("a") <= FleetSettings().remembered_turns


def test_agents_beyond_the_bound_are_let_go() -> None:
    usual = Baselines(FleetSettings(max_agents=10))
    for number in range(100):
        usual.learn(f"{number}", 10, 1)
    assert usual.let_go == 90
    assert (usual.turns("0"), usual.turns("99")) == (0, 10)


@pytest.mark.parametrize("turns_a_minute", [10.0, 100.0])
def test_hours_of_ordinary_calls_raise_nothing(turns_a_minute: float) -> None:
    assert minutes_of(np.random.default_rng(11), turns_a_minute, 600).raised == []


@pytest.mark.parametrize(("turns_a_minute", "within"), [(100.0, 8), (30.0, 22)])
def test_three_times_as_many_are_found_once_and_go_away(turns_a_minute: float, within: int) -> None:
    spike = range(60, 100)
    told = minutes_of(np.random.default_rng(5), turns_a_minute, 180, spike=spike, times=3.0)
    assert len(told.raised) == 1
    assert spike.start <= told.raised[0] <= spike.start + within
    assert len(told.cleared) == 1
    assert told.cleared[0] <= spike.stop + 30
