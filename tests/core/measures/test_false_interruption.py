"""The agent stopped for nothing."""

from __future__ import annotations

import pytest

from monitor.core.measures.false_interruption import FalseInterruption


def test_a_cough_that_stops_the_agent_is_a_false_interruption(play, say):
    user, agent = say
    figures = play(FalseInterruption, agent(0, 3.4, interrupted=True), user(3, 3.3), agent(6, 8), until=9)
    assert figures == {"count": 1, "interrupted": 1}


def test_the_agents_own_return_changes_nothing(play, say):
    user, agent = say
    figures = play(FalseInterruption, agent(0, 3.4, interrupted=True), user(3, 3.3), agent(4, 8), until=9)
    assert figures["count"] == 1


def test_a_caller_who_goes_on_meant_it(play, say):
    user, agent = say
    figures = play(FalseInterruption, agent(0, 3.4, interrupted=True), user(3, 6), agent(9, 10), until=11)
    assert figures == {"count": 0, "interrupted": 1}
    paused = user(3, 6, sounds=[(3, 3.3), (4.2, 6)])
    figures = play(FalseInterruption, agent(0, 3.4, interrupted=True), paused, agent(9, 10), until=11)
    assert figures == {"count": 0, "interrupted": 1}


@pytest.mark.parametrize(("tail", "count"), [(0.199, 1), (0.2, 0)])
def test_the_sound_itself_may_run_on_for_a_fifth_of_a_second(play, say, tail, count):
    user, agent = say
    figures = play(FalseInterruption, agent(0, 3.4, interrupted=True), user(3, 3.4 + tail), agent(8, 9), until=10)
    assert figures["count"] == count


@pytest.mark.parametrize(("again", "count"), [(5.499, 0), (5.5, 1)])
def test_two_seconds_are_counted_from_the_end_of_that_sound(play, say, again, count):
    user, agent = say
    call = (agent(0, 3.4, interrupted=True), user(3, 3.5), user(again, 7))
    assert play(FalseInterruption, *call, until=9)["count"] == count


def test_a_playback_that_was_cut_is_an_interruption(play, say):
    _, agent = say
    assert play(FalseInterruption, agent(0, 3, ended_by="interruption"), until=6) == {"count": 1, "interrupted": 1}


def test_a_call_that_ends_first_leaves_it_open(play, say):
    user, agent = say
    call = (agent(0, 3.4, interrupted=True), user(3, 3.3))
    assert play(FalseInterruption, *call, until=5.3) == {"count": 0, "interrupted": 0}
    assert play(FalseInterruption, *call, until=5.4) == {"count": 1, "interrupted": 1}


def test_a_caller_who_is_not_heard_may_have_said_anything(play, say):
    user, agent = say
    call = (agent(0, 3.4, interrupted=True), user(3, 3.3), agent(9, 10))
    unknown = {"count": 0, "interrupted": 0}
    assert play(FalseInterruption, *call, stalls=[("caller", 4, 5.5)], until=11) == unknown
    assert play(FalseInterruption, *call, stalls=[("agent", 4, 5.5)], until=11)["count"] == 1
    assert play(FalseInterruption, *call, stalls=[("caller", 7, 8.5)], until=11)["count"] == 1


def test_turns_that_were_not_interrupted_do_not_count(play, say):
    user, agent = say
    assert play(FalseInterruption, agent(0, 3), user(8, 9), until=12) == {"count": 0, "interrupted": 0}


def test_without_a_caller_on_the_line_nothing_is_known(play, say):
    _, agent = say
    figures = play(FalseInterruption, agent(0, 3, ended_by="interruption"), until=6, tracks=("agent",))
    assert figures == {"count": None, "interrupted": None}
