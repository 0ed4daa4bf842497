"""Judges of relevancy: whether an assistant turn is relevant to the conversation so far. One file each.

A judge answers one batch at a time and keeps nothing between batches:

    class Lenient:
        name = "lenient"

        async def judge(self, request: JudgeRequest) -> JudgeAnswer:
            return JudgeAnswer(tuple(Verdict(asked.index, "yes") for asked in request.asked))

        async def close(self) -> None:
            pass

A turn that it says nothing of, or something unclear, stays `unscored`; it is never guessed. What fails as a whole
raises
`JudgeFailure`; retries, limits and budgets are `monitor.runtime.asking`'s work.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from connectors.inputs import Verdict
from monitor.core.questions import JudgeRequest

FailureKind = Literal["refusal", "quota", "rate_limit", "timeout", "unreachable", "server", "broken", "configuration"]


class JudgeAnswer(msgspec.Struct, frozen=True):
    """A judge's answer to one batch, and what it cost. `cost_usd` is None where the price is not known. `stood_in_for`:
    what another judge failed with, in whose place this one decided."""

    verdicts: tuple[Verdict, ...]
    requests: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    stood_in_for: JudgeFailure | None = None


class JudgeFailure(Exception):
    """A batch could not be judged. `kind` says why; `retry_after_s` is the far side's wish, or None; what it cost all
    the
    same is in `spent`. The message is for people and holds no secret."""

    def __init__(
        self, kind: FailureKind, message: str, retry_after_s: float | None = None, spent: JudgeAnswer | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.spent = spent


class Judge(Protocol):
    """Judges batches. `name` is the model's name as the events show it."""

    name: str

    async def judge(self, request: JudgeRequest) -> JudgeAnswer:
        """Verdicts for `request.asked`. Raises JudgeFailure. May be called several times at once."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
