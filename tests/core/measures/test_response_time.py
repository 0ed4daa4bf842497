"""Response time, and how long the caller has been waiting by now."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.measures.delays import Delays, percentile
from monitor.core.measures.response_time import ResponseTime

NOTHING = {"count": 0, "p50": None, "p95": None, "max": None, "mean": None, "spread": None}


def test_replies_are_timed_from_the_callers_last_word(play, say):
    user, agent = say
    figures = play(
        ResponseTime,
        *(agent(0, 1), user(1.5, 3), agent(3.5, 5), user(5.2, 6), agent(7, 8), user(8.1, 9), agent(11, 12)),
        until=13,
    )
    assert figures["count"] == 3
    assert (figures["p50"], figures["max"]) == (1.0, 2.0)
    assert figures["p95"] == 1.9
    assert figures["mean"] == pytest.approx(3.5 / 3)
    assert figures["spread"] == pytest.approx(statistics.pstdev([0.5, 1.0, 2.0]), abs=1e-12)


def test_overlaps_backchannels_and_the_callers_own_delays_are_no_response_times(play, say):
    user, agent = say
    assert play(ResponseTime, user(0, 4), agent(3.5, 6), user(8, 9), until=10) == NOTHING
    figures = play(ResponseTime, user(0, 4), agent(2, 2.4, backchannel=True), agent(4.8, 6), until=7)
    assert (figures["count"], figures["max"]) == (1, 0.8)


def test_an_immediate_reply_is_a_reply(play, say):
    user, agent = say
    assert play(ResponseTime, user(0, 1), agent(1, 2), until=3)["max"] == 0.0


def test_no_time_is_taken_from_a_turn_whose_end_is_unknown(play, say):
    user, agent = say
    assert play(ResponseTime, user(0, 1, ended_by="stall"), agent(9, 10), until=11) == NOTHING
    assert play(ResponseTime, user(0, 1), agent(9, 10, after_stall=True), until=11) == NOTHING


def test_an_absent_track_has_no_figures(play, say):
    user, _ = say
    assert set(play(ResponseTime, user(0, 1), until=9, tracks=("caller",)).values()) == {None}


@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=60), st.integers(0, 100))
def test_percentiles_interpolate_between_the_nearest_ranks(values, percent):
    ordered = sorted(values)
    found = percentile(ordered, percent) * 1000
    assert ordered[0] / 1000 <= percentile(ordered, percent) <= ordered[-1] / 1000
    if len(ordered) > 1:
        inner = statistics.quantiles(ordered, n=100, method="inclusive")
        assert found == pytest.approx([ordered[0], *inner, ordered[-1]][percent])


@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=60))
def test_mean_and_spread_are_exact(values):
    delays = Delays()
    for value in values:
        delays.add(value)
    figures = delays.figures()
    assert figures["mean"] == pytest.approx(statistics.fmean(values) / 1000, abs=1e-12)
    assert figures["spread"] == pytest.approx(statistics.pstdev(values) / 1000, abs=1e-12)
    assert figures["p50"] == delays.percentile(50) == statistics.median(values) / 1000


def test_the_caller_waits_from_the_last_word_until_somebody_speaks(waits, say):
    user, agent = say
    call = (agent(0, 1), user(2, 4), agent(9, 10))
    assert waits(ResponseTime, *call, at=3) is None
    assert waits(ResponseTime, *call, at=5) == 1000
    assert waits(ResponseTime, *call, at=9) == 5000
    assert waits(ResponseTime, *call, at=9.12) is None
    assert waits(ResponseTime, *call, at=12) is None


def test_nobody_waits_while_the_agent_talks_on(waits, say):
    user, agent = say
    held = (agent(0, 10), user(3, 5))
    assert waits(ResponseTime, *held, at=6.5) is None
    assert waits(ResponseTime, *held, at=12) is None


def test_the_caller_waits_where_the_agent_gave_way_and_says_nothing(waits, say):
    user, agent = say
    assert waits(ResponseTime, agent(0, 3.4), user(3, 5), at=8) == 3000


def test_a_reply_told_before_the_question_is_over_is_a_reply(waits, say):
    user, agent = say
    assert waits(ResponseTime, user(0, 4), agent(4.2, 4.6), at=5.5) is None


def test_backchannels_start_no_waiting(waits, say):
    user, agent = say
    assert waits(ResponseTime, agent(0, 6), user(2, 2.4, backchannel=True), at=5) is None


@pytest.mark.parametrize("track", ["caller", "agent"])
def test_who_is_not_heard_is_not_known_to_wait(waits, say, track):
    user, agent = say
    call = (agent(0, 1), user(2, 4))
    assert waits(ResponseTime, *call, at=9, stalls=[(track, 6, 6.5)]) == 5000
    pieces = [(track, 6 + n / 10, 6.1 + n / 10) for n in range(12)]
    assert waits(ResponseTime, *call, at=9, stalls=pieces) is None
    assert waits(ResponseTime, *call, at=9, stalls=[(track, 3.5, 4.8)]) is None


def test_nobody_waits_for_an_agent_who_is_not_on_the_line(waits, say):
    user, _ = say
    assert waits(ResponseTime, user(0, 1), at=9, tracks=("caller",)) is None
