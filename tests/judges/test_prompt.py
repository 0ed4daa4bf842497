"""What a language model is shown of a batch."""

from __future__ import annotations

import json

from monitor.judges.prompt import REASONS, VERDICTS, messages, shortened
from tests.judges.conversations import CALL, batch, shown


def test_the_conversation_is_shown_once_however_many_turns_are_judged() -> None:
    content = messages(batch())[1]["content"]
    assert all(content.count(text) == 1 for text in CALL)
    turns, asked = shown(messages(batch()))
    assert list(turns) == list(range(len(CALL)))
    assert asked == [1, 3, 5]
    assert json.loads(content.split("\n")[-1]) == {"index": 5, "window": [0, 1, 2, 3, 4, 5]}


def test_words_of_any_script_are_shown_as_they_are() -> None:
    words = ["Grüße aus Köln", "こんにちは、ご注文は？", "привет", "नमस्ते", "שלום", "مرحبا"]
    content = messages(batch(words))[1]["content"]
    assert all(text in content for text in words)


def test_the_schema_is_strict_and_the_same_for_every_batch() -> None:
    for schema in (VERDICTS, REASONS):
        assert schema["additionalProperties"] is False
        (name,) = schema["required"]
        entry = schema["properties"][name]["items"]
        assert entry["additionalProperties"] is False
        assert set(entry["required"]) == set(entry["properties"])


def test_a_reason_is_asked_for_only_where_it_is_wanted() -> None:
    assert "one short sentence" in messages(batch())[0]["content"]
    assert "one short sentence" not in messages(batch(), include_reason=False)[0]["content"]


def test_a_turn_that_is_too_long_loses_its_middle() -> None:
    assert shortened("word") == ("word", False)
    text, cut = shortened("a" * 500 + "b" * 500, 100)
    assert cut
    assert len(text) <= 100
    assert text[0] == "a"
    assert text[-1] == "b"
