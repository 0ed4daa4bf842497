"""Batches for judges, told in words: user and assistant take turns, the user first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from monitor.core.events import Role
from monitor.core.questions import Asked, JudgeRequest, Line

CALL: Sequence[str] = (
    "Hello, I ordered a desk and it came without its legs.",
    "I am sorry about that. What is your order number?",
    "Four seven one nine.",
    "Thank you. Shall we send the legs, or take the desk back?",
    "Send the legs, please. How long does it take?",
    "They will be with you on Thursday.",
)


def lines(words: Iterable[str]) -> tuple[Line, ...]:
    """The turns, from index 0."""
    roles: tuple[Role, Role] = ("user", "assistant")
    return tuple(Line(index, roles[index % 2], text) for index, text in enumerate(words))


def batch(
    words: Sequence[str] = CALL, asked: Iterable[int] | None = None, *, call: str = "call", number: int = 0
) -> JudgeRequest:
    """A batch that asks about `asked`, or about every assistant turn, each in a window of at most 10 turns."""
    turns = range(1, len(words), 2) if asked is None else asked
    windows = tuple(Asked(index, tuple(range(max(0, index - 9), index + 1))) for index in turns)
    return JudgeRequest(call, number, 1000 * len(words), 1000 * len(words) + 20_000, lines(words), windows)


def shown(messages: Sequence[dict[str, Any]]) -> tuple[dict[int, str], list[int]]:
    """What a request shows: each turn's own line as it was sent, by index, and the indexes asked about."""
    turns, asked = messages[-1]["content"].removeprefix("TURNS\n").split("\nASKED\n")
    rows = [(json.loads(row)["index"], row) for row in turns.split("\n")]
    assert len(dict(rows)) == len(rows)
    return dict(rows), [json.loads(row)["index"] for row in asked.split("\n")]
