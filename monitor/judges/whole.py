"""Judges of a whole conversation at once: a score in place of verdicts on turns.

Such a judge has `whole = True` and `judge_conversation(lines)` in place of `judge(request)`. `monitor.runtime.asking`
asks it within the same limits, and replies with `Verdicts` that hold no verdicts but a `conversation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from monitor.core.questions import Line
from monitor.judges import JudgeAnswer


class ConversationAnswer(msgspec.Struct, frozen=True):
    """What the judge found. `score`, `confidence`: in 0..1. `reason`: each of its answers with its probability.
    `answers`: the value in 0..1 of each. `left_out`: how many of the oldest turns it could not be shown. `spent`: what
    it took (an answer without verdicts)."""

    score: float
    confidence: float
    reason: str
    answers: dict[str, float]
    left_out: int
    spent: JudgeAnswer


@runtime_checkable
class WholeJudge(Protocol):
    """Judges conversations. `name` is the model's name as the events show it."""

    name: str

    @property
    def whole(self) -> bool:
        """True: what tells it from other judges."""
        ...

    async def judge_conversation(self, lines: Sequence[Line]) -> ConversationAnswer:
        """The score of the conversation in `lines`. Raises JudgeFailure."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
