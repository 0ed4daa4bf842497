"""A spike of barge-ins: the sum over agent turns, its thresholds, and its statistics for the code as shipped."""

from __future__ import annotations

import random
from math import log

import pytest

from connectors.inputs import FleetView
from monitor.core.rules.barge_in_spike import spike_share
from tests.core.rules.simulated import count, false_alarms, raised_at, spike, turns, turns_until_found

UP, DOWN = log(0.35 / 0.10), log(0.65 / 0.90)


def play(rule, barged):
    for turn, barge_in in turns(barged):
        rule.agent_turn(turn, barge_in)
    return rule


@pytest.mark.parametrize(
    ("usual", "spike_"), [(0.05, 0.25), (0.10, 0.35), (0.15, 0.45), (0.20, 0.55), (0.125, 0.40), (0.0625, 0.275)]
)
def test_what_a_spike_is_comes_by_table_with_straight_lines_between(usual, spike_):
    assert spike_share(usual) == pytest.approx(spike_)


@pytest.mark.parametrize(("usual", "end"), [(0.01, (0.05, 0.25)), (0.4, (0.20, 0.55)), (0.9, (0.20, 0.55))])
def test_beyond_the_table_the_odds_stay_as_many_times_as_high(usual, end):
    def odds(share):
        return share / (1 - share)

    assert odds(spike_share(usual)) / odds(usual) == pytest.approx(odds(end[1]) / odds(end[0]))
    assert usual < spike_share(usual) < 1


def test_the_sum_goes_up_with_a_barge_in_down_without_and_never_below_nothing():
    rule = play(spike(), [False, True, False])
    assert rule.score == pytest.approx(UP + DOWN)
    assert play(spike(), [True, False, False, False, False]).score == 0.0


def test_four_barge_ins_in_a_row_warn_and_one_more_is_critical():
    found = raised_at(spike(), [True] * 6)
    assert found == {"warning": 4, "critical": 4}, "4 x 1.25 is 5.01: critical at once"
    assert raised_at(spike(), [True, True, False, True, True, True]) == {"warning": 5, "critical": 6}


def test_the_alert_says_how_often_against_what_is_usual_and_which_turns():
    rule = play(spike(), [False, False, True, True, False, True, True])
    assert rule.found is not None
    assert rule.found.message.startswith("the caller barged in on 4 of the agent's last 5 turns; 10% is usual: look at")
    assert rule.found.because == (5, 7, 11, 13)
    assert (rule.found.value, rule.found.threshold) == (pytest.approx(4 * UP + DOWN), 4.0)
    assert rule.found.at_ms == 6 * 6000 + 3000, "where the barge-in that proves it begins"


def test_it_is_over_at_one_and_the_sum_is_held_at_the_critical_height():
    rule = play(spike(), [True] * 40)
    assert rule.score == 5.0
    quiet = 0
    for turn, _ in turns([False] * 13):
        assert rule.over_ms is None
        rule.agent_turn(turn, None)
        quiet += 1
        if rule.over_ms is not None:
            break
    assert quiet == 13
    assert rule.score <= 1.0


def test_what_is_usual_for_this_agent_comes_from_earlier_calls():
    rule = spike()
    rule.fleet(FleetView(0, barge_in_baseline=0.20))
    assert raised_at(rule, [True] * 4) == {"warning": 4}, "critical where one in ten is usual"
    rule.fleet(FleetView(0, barge_in_baseline=None))
    assert rule.usual == 0.10


def test_a_share_that_cannot_be_usual_breaks_nothing():
    for share in (-1.0, 0.0, 1.0, 7.0):
        rule = spike()
        rule.fleet(FleetView(0, barge_in_baseline=share))
        play(rule, [True, False] * 20)
        assert 0 <= rule.score <= 5


def test_normal_calls_are_seldom_false_alarms_and_a_rise_is_found_soon():
    """The benchmark's figures in small: 2.2 % and 0.6 % of normal calls, a rise to 60 % after 6 and 8 turns."""
    rng = random.Random(4)
    warned, critical = false_alarms(rng, 6000)
    assert warned == pytest.approx(0.022, abs=0.006)
    assert critical == pytest.approx(0.006, abs=0.003)
    soon, sooner = turns_until_found(rng, 1500)
    assert (soon, sooner) == (6, 8)


def test_the_obvious_rule_is_wrong_far_more_often():
    rng = random.Random(5)
    wrong = sum(bool(raised_at(count(), [rng.random() < 0.10 for _ in range(39)])) for _ in range(1500)) / 1500
    assert wrong > 0.3
