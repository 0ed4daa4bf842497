"""A track without any speech while the other talks for half a minute."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.events import Turn
from monitor.core.measures.one_way_audio import OneWayAudio

BOTH = ("caller", "agent")
NONE = {"caller": 0, "agent": 0}


def test_a_caller_who_is_never_heard(play, say):
    _, agent = say
    call = [agent(at, at + 8) for at in range(0, 60, 10)]
    assert play(OneWayAudio, *call, until=60) == {"caller": 1, "agent": 0}


def test_a_few_hellos_into_a_dead_line_are_no_talk(play, say):
    user, agent = say
    hellos = [user(at, at + 0.6) for at in (10, 19, 29, 39.4)]
    assert play(OneWayAudio, agent(0, 2), *hellos, until=45) == NONE
    asked = [user(at, at + 2) for at in range(10, 70, 8)]
    assert play(OneWayAudio, agent(0, 2), *asked, until=72) == {"caller": 0, "agent": 1}


def test_a_hold_is_no_talk(play, say):
    user, agent = say
    call = (user(0, 5), agent(9, 11), agent(47, 50), user(52, 53))
    assert play(OneWayAudio, *call, until=55) == NONE


@pytest.mark.parametrize(("pause", "count"), [(3.999, 0), (4, 1), (9, 1)])
def test_a_pause_of_the_talker_counts_up_to_four_seconds(play, say, pause, count):
    user, agent = say
    call = (user(0, 5), agent(6, 20), agent(20 + pause, 32 + pause), user(33 + pause, 35 + pause))
    assert play(OneWayAudio, *call, until=60)["caller"] == count


@pytest.mark.parametrize(("word", "count"), [(0.99, 0), (1, 1)])
def test_a_third_of_it_is_speech(play, say, word, count):
    user, agent = say
    call = [agent(10 + 4 * k, 10 + 4 * k + word) for k in range(10)]
    assert play(OneWayAudio, user(0, 5), *call, until=60)["caller"] == count


def test_silence_of_both_is_dead_air_and_not_one_way(play, say):
    user, agent = say
    assert play(OneWayAudio, agent(0, 2), user(2, 4), agent(40, 42), user(43, 44), until=45) == NONE


@pytest.mark.parametrize(("back", "count"), [(31.999, 0), (32.0, 1)])
def test_the_limit_is_thirty_seconds(play, say, back, count):
    user, agent = say
    assert play(OneWayAudio, user(0, 2), agent(1, 60), user(back, 61), until=61)["caller"] == count


def test_a_monologue_is_one_way_in_each_of_its_silences(play, say):
    user, agent = say
    call = (user(0, 1), agent(1, 90), user(40, 41), user(60, 61))
    assert play(OneWayAudio, *call, until=92) == {"caller": 1, "agent": 0}
    assert play(OneWayAudio, *call[:3], until=92) == {"caller": 2, "agent": 0}


def test_what_the_other_says_before_and_behind_a_silence_does_not_fill_it(play, say):
    user, agent = say
    call = (user(0, 20), agent(1, 22), user(55, 90), agent(54, 80))
    assert play(OneWayAudio, *call, until=91)["caller"] == 0
    call = (user(0, 20), agent(1, 19), user(55, 90), agent(56, 80))
    assert play(OneWayAudio, *call, until=91)["caller"] == 0


def test_a_track_that_stalls_is_unknown_and_not_silent(play, say):
    _, agent = say
    call = [agent(at, at + 8) for at in range(0, 50, 10)]
    assert play(OneWayAudio, *call, stalls=[("caller", 20, 25)], until=50) == NONE
    pieces = [("caller", 20 + n / 4, 20.25 + n / 4) for n in range(20)]
    assert play(OneWayAudio, *call, stalls=pieces, until=50) == NONE
    assert play(OneWayAudio, *call, stalls=[("agent", 48.2, 50)], until=50) == {"caller": 1, "agent": 0}
    assert play(OneWayAudio, *call, stalls=[("caller", 40, 42)], until=50) == {"caller": 1, "agent": 0}
    assert play(OneWayAudio, *call, stalls=[("caller", 20, 20.5)], until=50) == {"caller": 1, "agent": 0}


def test_an_absent_track_is_not_one_way(play, say):
    user, _ = say
    assert play(OneWayAudio, user(0, 50), until=60, tracks=("caller",)) == {"caller": None, "agent": None}


pieces = st.tuples(st.sampled_from([1200, 5000, 29_999, 30_000, 45_000]), st.sampled_from([1300, 4000, 31_000, 80_000]))


@given(st.lists(pieces, max_size=8), st.lists(pieces, max_size=8))
def test_every_silence_is_judged_by_what_the_other_said_in_it(caller, agent):
    said = []
    for role, parts in (("user", caller), ("assistant", agent)):
        at = 0
        for pause, length in parts:
            said.append((at + pause, at + pause + length, role))
            at += pause + length
    turns = [
        Turn(index=i, role=role, start_ms=start, duration_ms=end - start)
        for i, (start, end, role) in enumerate(sorted(said))
    ]
    measure = OneWayAudio(BOTH)
    hooks = [(t.start_ms + 120, "turn_started", Turn(index=t.index, role=t.role, start_ms=t.start_ms)) for t in turns]
    hooks += [(t.end_ms + 1000, "turn_ended", t) for t in turns]
    for _, hook, turn in sorted(hooks, key=lambda hook: hook[0]):
        getattr(measure, hook)(turn)
    over = max((t.end_ms for t in turns), default=0) + 40_000

    def count(role):
        own = [(t.start_ms, t.end_ms) for t in turns if t.role == role]
        edges = [0, *(at for span in own for at in span), over]
        found = 0
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            inside = [(max(t.start_ms, start), min(t.end_ms, end)) for t in turns if t.role != role]
            inside = sorted((a, b) for a, b in inside if a < b)
            talked = sum(b - a for a, b in inside)
            pauses = sum(min(4000, after[0] - before[1]) for before, after in pairwise(inside))
            found += talked + pauses >= 30_000 and talked >= 10_000
        return found

    assert measure.figures(over) == {"caller": count("user"), "agent": count("assistant")}
