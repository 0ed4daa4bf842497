"""Words that say where they belong: a transcript beside a recording, a transcriber's answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.inputs import Text
from monitor.core.word_places import NEAR_MS
from tests.builders import of
from tests.core.relevancy.judged_calls import Heard, exchange, judging, listen, tape_of

TALK = [one._replace(told=None) for one in exchange(3, spoken=1500, gap=500)]
OFF = judging(eval_mode="off")


def heard(*texts: Text) -> Heard:
    return listen(tape_of(TALK, texts, 30_000), OFF)


def spoken(start: int, text: str, at: int = 0, track: str = "caller") -> Text:
    return Text(track, at, text, "transcript", start=start)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [0, 500, 4000, 20_000], ids=["beforehand", "with it", "after it", "long after"])
@pytest.mark.parametrize("start", [4000, 4500, 5400, 4600])
def test_by_the_time_they_were_spoken(start: int, at: int) -> None:
    assert heard(spoken(start, "exactly", at)).texts() == {0: None, 1: None, 2: "exactly", 3: None, 4: None, 5: None}


@pytest.mark.parametrize("early", [0, 40, 300])
def test_beforehand_they_are_told_with_the_end_of_their_turn(early: int) -> None:
    call = heard(*(spoken(one.start - early, one.text, 0, one.track) for one in TALK))
    assert [e.turn.text for e in of(call.events, "turn.ended")] == [one.text for one in TALK]
    assert of(call.events, "turn.text") == []


@pytest.mark.parametrize(
    ("start", "index"), [(3900, 2), (2700, 0), (5900, 2), (600 - NEAR_MS, 0), (10_000 + NEAR_MS, 4)]
)
def test_a_time_that_is_a_little_off_means_the_nearest_turn(start: int, index: int) -> None:
    assert heard(spoken(start, "about there")).texts()[index] == "about there"


def test_a_time_at_which_nobody_spoke_is_no_turn() -> None:
    call = heard(spoken(16_000, "who?"))
    assert set(call.texts().values()) == {None}
    assert [e.kind for e in of(call.events, "notice")] == ["unplaced_text"]


def test_several_in_one_turn_stand_in_the_order_of_their_times() -> None:
    call = heard(spoken(5200, "for two", 0), spoken(4100, "a", 10), spoken(4600, "table", 20))
    assert call.texts()[2] == "a table for two"


def test_by_the_index_of_the_turn() -> None:
    texts = [
        Text("agent", 9000, "the agent's words", "transcript", turn=3),
        Text("caller", 9000, "wrong party", "transcript", turn=3),
        Text("caller", 9000, "no such turn", "transcript", turn=77),
        Text("caller", 9000, "", "transcript", turn=2),
    ]
    call = heard(*texts)
    assert call.texts() == {0: None, 1: None, 2: None, 3: "the agent's words", 4: None, 5: None}
    assert of(call.events, "notice")[0].count == 2


def test_a_second_answer_for_a_turn_takes_the_place_of_the_first() -> None:
    texts = [Text("caller", at, text, "transcript", turn=0) for at, text in [(4000, "first"), (5000, "second")]]
    assert heard(*texts).texts()[0] == "second"


def test_a_long_transcript_may_come_beforehand() -> None:
    call = exchange(120)
    texts = [spoken(one.start, one.text, 0, one.track) for one in call]
    told = listen(tape_of([one._replace(told=None) for one in call], texts), OFF)
    assert list(told.texts().values()) == [one.text for one in call]


@given(st.lists(st.integers(0, 25_000), max_size=6), st.lists(st.integers(0, 9), max_size=6), st.integers(0, 25_000))
@settings(max_examples=20)
def test_no_words_are_lost_without_being_told_and_none_are_told_twice(
    starts: list[int], turns: list[int], at: int
) -> None:
    texts = [spoken(start, f"s{n}.", at) for n, start in enumerate(starts)]
    texts += [Text("caller", at, f"t{n}.", "transcript", turn=turn) for n, turn in enumerate(turns)]
    call = heard(*texts)
    known = " ".join(text for text in call.texts().values() if text).split()
    assert len(set(known)) == len(known)
    lost = sum(e.count for e in of(call.events, "notice"))
    replaced = len(turns) - len(set(turns))
    assert len(known) + lost <= len(texts)
    if not turns:
        assert len(known) + lost == len(texts)
    else:
        assert len(known) + lost >= len(texts) - replaced - len(starts)
