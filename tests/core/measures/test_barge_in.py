"""Who came in on whom, how soon the agent yielded, and how it recovered."""

from __future__ import annotations

from monitor.core.measures.barge_in import BargeIn

QUIET = {"user": 0, "agent": 0, "backchannels": 0, "yield_p50": None, "recovery_p50": None}


def test_a_barge_in_is_timed_to_the_agents_last_word_and_to_its_next(play, say):
    user, agent = say
    figures = play(BargeIn, agent(0, 4.38), user(4, 7), agent(8.1, 10), until=11)
    assert figures == QUIET | {"user": 1, "yield_p50": 0.38, "recovery_p50": 1.1}


def test_the_callers_last_word_may_be_turns_later(play, say):
    user, agent = say
    figures = play(BargeIn, agent(0, 4.38), user(4, 5), user(7, 8), agent(8.6, 10), until=11)
    assert figures["recovery_p50"] == 0.6


def test_a_hand_over_of_under_200_ms_is_no_barge_in(play, say):
    user, agent = say
    assert play(BargeIn, agent(0, 2), user(1.801, 4), agent(3.9, 5), until=6) == QUIET
    figures = play(BargeIn, agent(0, 2), user(1.8, 4), agent(3.8, 5), until=6)
    assert (figures["user"], figures["agent"]) == (1, 1)


def test_backchannels_are_counted_by_themselves(play, say):
    user, agent = say
    nods = [user(at, at + 0.25, backchannel=True) for at in (2, 3.5, 5)]
    assert play(BargeIn, agent(0, 6), *nods, until=8) == QUIET | {"backchannels": 3}


def test_an_agent_who_talks_on_yields_late_and_has_nothing_to_recover(play, say):
    user, agent = say
    figures = play(BargeIn, agent(0, 9), user(3, 5), agent(11, 12), until=13)
    assert (figures["user"], figures["yield_p50"], figures["recovery_p50"]) == (1, 6.0, None)


def test_an_agent_who_comes_back_before_the_caller_is_done_overlaps_instead(play, say):
    user, agent = say
    figures = play(BargeIn, agent(0, 3.5), user(3, 6), agent(5.5, 8), until=9)
    assert figures == QUIET | {"user": 1, "agent": 1, "yield_p50": 0.5}


def test_the_median_is_over_all_of_the_callers_barge_ins(play, say):
    user, agent = say
    call = []
    for round_, wait in enumerate((0.2, 0.4, 1.0, 0.6)):
        at = 20 * round_
        call += [agent(at, at + 3 + wait), user(at + 3, at + 6), agent(at + 7, at + 8), user(at + 9, at + 10)]
    figures = play(BargeIn, *call, until=90)
    assert (figures["user"], figures["yield_p50"], figures["recovery_p50"]) == (4, 0.5, 1.0)


def test_how_an_agent_ended_that_was_cut_off_from_us_is_unknown(play, say):
    user, agent = say
    for call in (
        (agent(0, 3.5, ended_by="stall"), user(3, 6), agent(9, 10)),
        (agent(0, 6, ended_by="call_end"), user(3, 6, ended_by="call_end")),
    ):
        figures = play(BargeIn, *call, until=11)
        assert (figures["user"], figures["yield_p50"], figures["recovery_p50"]) == (1, None, None)
    hole = play(BargeIn, agent(0, 3.5), user(3, 6), agent(9, 10), stalls=[("agent", 6.5, 8.5)], until=11)
    assert (hole["yield_p50"], hole["recovery_p50"]) == (0.5, None)


def test_with_one_track_nobody_can_be_said_to_come_in(play, say):
    user, _ = say
    assert set(play(BargeIn, user(0, 1), until=3, tracks=("caller",)).values()) == {None}
