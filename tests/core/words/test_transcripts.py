"""What the caller said: transcripts come some time after it, twice, in pieces, corrected, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.inputs import Text
from monitor.core.word_places import AHEAD_MS, LATE_MS
from tests.builders import of
from tests.core.relevancy.judged_calls import Heard, Said, judging, listen, tape_of

FIRST = Said("caller", 2000, 4000, "", None)
ANSWER = Said("agent", 4500, 6500, "", None)
SECOND = Said("caller", 7500, 9500, "", None)
OFF = judging(eval_mode="off")


def said(at: int, text: str, response: int | None = None) -> Text:
    return Text("caller", at, text, "transcript", response)


def heard(*texts: Text, talk: Any = (FIRST, ANSWER, SECOND), length: int = 60_000) -> Heard:
    return listen(tape_of(talk, texts, length), OFF)


def told(call: Heard) -> list[tuple[int, str, str]]:
    return [(e.turn.index, e.text, e.reason) for e in of(call.events, "turn.text")]


@pytest.mark.parametrize("at", [0, 1900, 2500, 4100, 4800, 6000, 7400])
def test_before_during_or_after_its_turn(at: int) -> None:
    call = heard(said(at, "I should like a table"))
    assert call.texts() == {0: "I should like a table", 1: None, 2: None}


@pytest.mark.parametrize(("at", "late"), [(4300, False), (6400, True)])
def test_words_that_are_there_at_the_end_of_the_turn_are_told_with_it(at: int, late: bool) -> None:
    call = heard(said(at, "a table for two"))
    ended = of(call.events, "turn.ended")[0].turn
    assert (ended.text is None) == late
    assert told(call) == ([(0, "a table for two", "transcript")] if late else [])
    for event in of(call.events, "turn.text"):
        assert event.known_at_ms == at
        assert event.at_ms == 4000


def test_each_turn_has_its_own() -> None:
    call = heard(said(4300, "first words"), said(9900, "second words"))
    assert call.texts() == {0: "first words", 1: None, 2: "second words"}


def test_a_transcript_that_never_comes_leaves_its_turn_without_words() -> None:
    assert heard(said(9900, "second words")).texts() == {0: None, 1: None, 2: "second words"}


def test_one_that_is_late_is_not_taken_for_the_words_being_spoken() -> None:
    call = heard(said(8000, "first words, which came late"), said(9900, "second words"))
    assert call.texts() == {0: "first words, which came late", 1: None, 2: "second words"}


def test_much_text_is_not_put_into_a_short_noise() -> None:
    cough = Said("caller", 7500, 7800, "", None)
    long_text = "I should like to book a table for two on Friday, please"
    call = heard(said(8600, long_text), talk=(FIRST, ANSWER, cough))
    assert call.texts() == {0: long_text, 1: None, 2: None}


def test_a_backchannel_keeps_its_words_and_the_answer_to_come_its_own() -> None:
    talk = (
        FIRST,
        Said("agent", 4500, 12_000, "", None),
        Said("caller", 8000, 8300, "", None),
        Said("caller", 13_000, 14_000, "", None),
    )
    call = heard(said(4300, "a table"), said(8700, "Mm-hm."), said(14_300, "thank you"), talk=talk)
    assert {e.turn.index for e in of(call.events, "turn.ended") if e.turn.backchannel} == {2}
    assert call.texts() == {0: "a table", 1: None, 2: "Mm-hm.", 3: "thank you"}


@pytest.mark.parametrize(
    ("response", "again"), [(None, 4310), (None, 5000), (None, 6500), (7, 4310), (7, 6500), (7, 9000), (7, 20_000)]
)
def test_twice_is_once(response: int | None, again: int) -> None:
    call = heard(said(4300, "a table", response), said(again, "a table", response))
    assert call.texts() == {0: "a table", 1: None, 2: None}
    assert told(call) == []


def test_the_same_words_said_again_are_said_again() -> None:
    call = heard(said(4300, "yes"), said(9800, "yes"))
    assert call.texts() == {0: "yes", 1: None, 2: "yes"}


def test_a_corrected_transcript_takes_the_place_of_the_first() -> None:
    call = heard(said(4300, "I like a stable for two", 7), said(6000, "I like a table for two", 7))
    assert call.texts()[0] == "I like a table for two"
    assert told(call) == [(0, "I like a table for two", "transcript")]


def test_pieces_of_one_utterance_stand_together_in_order() -> None:
    call = heard(said(4300, "Hello."), said(4320, "A table for two."), said(5100, "On Friday."))
    assert call.texts() == {0: "Hello. A table for two. On Friday.", 1: None, 2: None}


def test_a_turn_with_a_pause_has_both_halves() -> None:
    talk = (
        Said("caller", 2000, 3500, "", None),
        Said("caller", 4200, 6000, "", None),
        Said("agent", 7500, 8500, "", None),
    )
    call = heard(said(3900, "I should like"), said(6300, "a table"), talk=talk)
    assert call.texts() == {0: "I should like a table", 1: None}


def test_an_id_that_never_changes_does_not_mix_turns() -> None:
    call = heard(said(4300, "first words", 1), said(9900, "quite other words", 1))
    assert call.texts() == {0: "first words", 1: None, 2: "quite other words"}


def test_words_of_no_turn_are_told_as_a_notice() -> None:
    call = listen(tape_of([ANSWER], [said(20_000, "who said this?")], 60_000), OFF)
    assert call.texts() == {0: None}
    (notice,) = [one for one in of(call.events, "notice") if one.kind != "line"]
    assert (notice.kind, notice.count) == ("unplaced_text", 1)
    assert of(call.events, "call.ended")[0].summary["notices"]["unplaced_text"] == 1


def test_words_wait_for_a_turn_to_come_but_not_for_ever() -> None:
    late = Said("caller", 2000 + AHEAD_MS, 4000 + AHEAD_MS, "", None)
    assert heard(said(3000, "early words"), talk=[late]).texts() == {0: "early words"}
    assert heard(said(1900, "of another call"), talk=[late]).texts() == {0: None}


def test_words_may_be_late_but_not_by_minutes() -> None:
    assert heard(said(4000 + LATE_MS, "very late"), talk=[FIRST]).texts() == {0: "very late"}
    assert heard(said(4100 + LATE_MS, "far too late"), talk=[FIRST]).texts() == {0: None}


def test_any_text_is_clean_and_bounded() -> None:
    call = heard(said(4300, " caf\u00e9\n\t\ud83d" + "x" * 100_000), said(9900, "  \n "))
    text = call.texts()[0]
    assert text is not None
    assert text.startswith("caf\u00e9 \ufffd")
    assert len(text) <= 20_000
    assert call.texts()[2] is None
