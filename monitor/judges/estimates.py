"""What a request will take, before it is sent: for budgets that are kept rather than noticed once they are spent."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from monitor.core.questions import JudgeRequest

BYTES_A_TOKEN = 3
"""English prose has about 4.3 bytes of UTF-8 a token, JSON and most other scripts around 3: rather too many tokens."""

FRAME_TOKENS = 600
"""The instructions and the frame around the conversation."""

LINE_TOKENS = 12
"""Around each turn: its index, its role, the punctuation."""

VERDICT_TOKENS = 60
"""A verdict with a sentence for its reason, and the line that asks for it."""


class Estimate(msgspec.Struct, frozen=True):
    """How many HTTP requests a batch takes, how many tokens, in and out together, and US dollars as far as prices are
    known."""

    requests: int
    tokens: int
    usd: float = 0.0


class Prices(msgspec.Struct, frozen=True):
    """US dollars for a million tokens; None where unknown."""

    input: float | None = None
    output: float | None = None

    def usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """The cost in US dollars; None unless both prices are known."""
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


UNKNOWN = Prices()


@runtime_checkable
class Estimating(Protocol):
    """A judge that knows what a batch will take. For others `estimate` speaks."""

    def estimate(self, request: JudgeRequest) -> Estimate:
        """What judging `request` will take at most, as far as can be known."""
        ...


def tokens_of(text: str) -> int:
    """About how many tokens `text` has, rather too many than too few."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN)


def estimate(request: JudgeRequest, prices: Prices = UNKNOWN) -> Estimate:
    """What one request for the whole batch takes."""
    words = FRAME_TOKENS + sum(tokens_of(line.text) + LINE_TOKENS for line in request.lines)
    verdicts = VERDICT_TOKENS * len(request.asked)
    return Estimate(1, words + verdicts, prices.usd(words, verdicts) or 0.0)
