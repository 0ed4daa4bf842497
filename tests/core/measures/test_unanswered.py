"""Turns of the caller that nobody answered for six seconds."""

from __future__ import annotations

import pytest

from monitor.core.measures.unanswered import Unanswered

NONE = {"count": 0, "longest": None}


def test_six_seconds_without_a_reply_count_once_whatever_comes_then(play, say):
    user, agent = say
    late = (user(0, 1), agent(8, 9))
    assert play(Unanswered, *late, until=10) == {"count": 1, "longest": 7.0}
    hello = (user(0, 1), user(8, 9), user(20, 21), agent(22, 23))
    assert play(Unanswered, *hello, until=24) == {"count": 2, "longest": 11.0}
    assert play(Unanswered, user(0, 1), until=31) == {"count": 1, "longest": 30.0}


@pytest.mark.parametrize(("reply", "count"), [(6.999, 0), (7.0, 1)])
def test_the_limit_is_six_seconds(play, say, reply, count):
    user, agent = say
    assert play(Unanswered, user(0, 1), agent(reply, 9), until=10)["count"] == count


def test_a_goodbye_and_a_hang_up_are_no_neglect(play, say):
    user, agent = say
    assert play(Unanswered, agent(0, 1), user(1.5, 2), until=5) == NONE
    assert play(Unanswered, agent(0, 1), user(1.5, 9, ended_by="call_end"), until=9) == NONE


def test_a_caller_who_goes_on_has_not_finished_asking(play, say):
    user, agent = say
    assert play(Unanswered, user(0, 1), user(4, 5), user(8, 9), agent(10, 12), until=13) == NONE


def test_an_agent_who_talks_through_it_has_not_gone_silent(play, say):
    user, agent = say
    assert play(Unanswered, agent(0, 20), user(3, 4), until=22) == NONE


def test_what_happened_in_a_stall_is_unknown(play, say):
    user, agent = say
    call = (user(0, 1), agent(20, 21))
    assert play(Unanswered, *call, stalls=[("agent", 5, 12)], until=22) == NONE
    assert play(Unanswered, *call, stalls=[("agent", 0.8, 2.5)], until=22) == NONE
    assert play(Unanswered, user(0, 1, ended_by="stall"), agent(20, 21), until=22) == NONE
    assert play(Unanswered, *call, stalls=[("agent", 5, 5.06)], until=22)["count"] == 1


def test_without_an_agent_on_the_line_nothing_is_unanswered(play, say):
    user, _ = say
    assert play(Unanswered, user(0, 1), until=20, tracks=("caller",)) == {"count": None, "longest": None}
