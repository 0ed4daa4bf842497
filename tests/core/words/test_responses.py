"""What the agent said: the words of a whole response come with its first sound, or ahead of it."""

from __future__ import annotations

import pytest

from connectors.inputs import Cut, Text
from tests.builders import of
from tests.core.relevancy.judged_calls import Heard, Said, judging, listen, tape_of
from tests.core.words.relayed_calls import Response, relayed

OFF = judging(eval_mode="off")
HELLO = [(500, 1500)]


def response(at: int, text: str, number: int | None = None) -> Text:
    return Text("agent", at, text, "response", number)


def agent_texts(call: Heard) -> list[str | None]:
    roles = {e.turn.index: e.turn.role for e in of(call.events, "turn.ended")}
    return [text for index, text in sorted(call.texts().items()) if roles[index] == "assistant"]


@pytest.mark.parametrize("at", [1600, 1990, 2000, 3000, 4900, 7000])
def test_by_the_id_of_its_response(at: int) -> None:
    call = listen(relayed(HELLO, [Response(2000, 3000, 4)], [response(at, "at nine", 4)]), OFF)
    assert agent_texts(call) == ["at nine"]


def test_responses_that_are_heard_as_one_turn_stand_there_in_order() -> None:
    tape = relayed(
        HELLO,
        [Response(2000, 2000, 4), Response(2500, 2000, 5)],
        [response(2490, "Shall I?", 5), response(2500, "At nine.", 4)],
    )
    assert agent_texts(listen(tape, OFF)) == ["At nine. Shall I?"]


def test_a_response_delivered_long_before_it_is_heard_waits_for_its_turn() -> None:
    tape = relayed(
        HELLO,
        [Response(2000, 6000, 4, ((3000, 4500),))],
        [response(2000, "one moment", 4)],
    )
    assert agent_texts(listen(tape, OFF)) == ["one moment", None]
    two = relayed(
        HELLO,
        [Response(2000, 4500, 4, ((3000, 4500),)), Response(2000, 1500, 5)],
        [response(2000, "one moment", 4), response(2000, "here it is", 5)],
    )
    assert agent_texts(listen(two, OFF)) == ["one moment", "here it is"]


def test_twice_is_once_and_more_is_added() -> None:
    texts = [response(2000, "At nine.", 4), response(2100, "At nine.", 4), response(2200, "Anything else?", 4)]
    call = listen(relayed(HELLO, [Response(2000, 3000, 4)], texts), OFF)
    assert agent_texts(call) == ["At nine. Anything else?"]


def test_a_text_that_grows_takes_its_own_place() -> None:
    texts = [response(2000, "At", 4), response(2100, "At nine", 4), response(2200, "At nine o'clock.", 4)]
    call = listen(relayed(HELLO, [Response(2000, 3000, 4)], texts), OFF)
    assert agent_texts(call) == ["At nine o'clock."]


def test_a_response_that_was_never_heard_has_no_turn_and_is_no_trouble() -> None:
    tape = relayed(
        [(500, 1500), (4000, 5000)],
        [Response(2000, 6000, 4), Response(2100, 3000, 5), Response(6000, 1000, 6)],
        [
            response(2000, "a long story", 4),
            response(2100, "and more", 5),
            Cut("agent", 4200, 5),
            response(6000, "sorry", 6),
        ],
    )
    call = listen(tape, OFF)
    assert agent_texts(call) == ["a long story", "sorry"]
    assert [one for one in of(call.events, "notice") if one.kind != "line"] == []


@pytest.mark.parametrize("numbers", [(None, None), (40, None), (None, 40)], ids=["no ids", "audio only", "text only"])
@pytest.mark.parametrize("at", [1900, 2000, 2600, 5200])
def test_without_an_id_on_both_sides_by_the_turn_it_comes_with(numbers: tuple[int | None, int | None], at: int) -> None:
    audio, text = numbers
    tape = relayed(
        [(500, 1500), (6000, 7000)],
        [Response(2000, 3000, audio), Response(8000, 1000, None if audio is None else audio + 1)],
        [response(at, "at nine", text), response(8000, "good bye", None if text is None else text + 1)],
    )
    assert agent_texts(listen(tape, OFF)) == ["at nine", "good bye"]


def test_ids_that_do_not_fit_each_other_do_not_lose_the_words() -> None:
    tape = relayed(
        [(500, 1500), (6000, 7000)],
        [Response(2000, 3000, 4), Response(8000, 1000, 6)],
        [response(2000, "at nine", 104), response(8000, "good bye", 106)],
        length=30_000,
    )
    assert agent_texts(listen(tape, OFF)) == ["at nine", "good bye"]


def test_missing_words_are_not_replaced_by_those_of_the_next_answer() -> None:
    talk = [
        Said("agent", 500, 1500, "", None),
        Said("caller", 2500, 3500, "", None),
        Said("agent", 4500, 5500, "", None),
    ]
    call = listen(tape_of(talk, [response(4300, "the second answer")]), OFF)
    assert agent_texts(call) == [None, "the second answer"]


def test_on_a_track_that_is_heard_sentences_come_while_they_are_spoken() -> None:
    talk = [
        Said("caller", 500, 1500, "", None),
        Said("agent", 2000, 6000, "", None),
        Said("agent", 8500, 9500, "", None),
    ]
    texts = [
        response(2900, "At nine."),
        response(4500, "Or at ten."),
        response(6200, "As you like."),
        response(8600, "Hello?"),
    ]
    call = listen(tape_of(talk, texts), OFF)
    assert agent_texts(call) == ["At nine. Or at ten. As you like.", "Hello?"]


def test_what_is_said_again_after_the_caller_has_answered_is_of_the_next_turn() -> None:
    tape = relayed(
        [(500, 1500), (5500, 6500)],
        [Response(2000, 3000, None), Response(7000, 3000, None)],
        [response(2000, "Which day?"), response(2500, "Which day?"), response(6900, "Which day?")],
    )
    assert agent_texts(listen(tape, OFF)) == ["Which day?", "Which day?"]


def test_a_transcript_of_the_agent_is_placed_as_one_of_the_caller() -> None:
    talk = [
        Said("agent", 500, 1500, "", None),
        Said("caller", 2500, 3500, "", None),
        Said("agent", 4500, 5500, "", None),
    ]
    texts = [Text("agent", 2100, "welcome", "transcript"), Text("agent", 6100, "good bye", "transcript")]
    assert agent_texts(listen(tape_of(talk, texts), OFF)) == ["welcome", "good bye"]
