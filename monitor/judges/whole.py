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


class ConversationVerdict(msgspec.Struct, frozen=True):
    """The score of the conversation as far as it went when batch `batch` was asked, or, with `score` None, why there is
    none. `turn`: the index of the last turn it covers. The rest is what it took."""

    batch: int
    judge: str
    turn: int
    score: float | None
    confidence: float | None
    reason: str
    left_out: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


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
