"""The judge behind any server that speaks OpenAI's chat API: OpenAI's own, or one at `base_url` (a local one serves).

The answer is asked for as JSON by a schema. A server that will not have that is asked for any JSON, then for text;
which of them it takes is remembered. The client library retries nothing: that is `monitor.runtime.asking`'s work.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from monitor.core.questions import JudgeRequest
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.judges.chat import Chat, Completion
from monitor.judges.estimates import UNKNOWN, Estimate, Prices, estimate
from monitor.judges.prompt import REASONS, VERDICTS, Message, Schema, messages, why_messages
from monitor.judges.verdicts import nothing_in, read_reasons, read_verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL = "gpt-5.4"

TRY_SHARE = 0.6
"""The share of a verdict's deadline that a single request may take: what is left is enough for another try."""

ROOM = 1024
ROOM_EACH = 256
"""Tokens that an answer may have, and more for each turn judged: enough for a model that thinks first, and an end to
one that does not stop."""


class OpenAIJudge:
    """Judges by a language model. `timeout_s`: how long one request may take in all. `api_key`: None where the server
    wants none. Nothing is loaded or connected before the first batch. A server that answers with a refusal, or whose
    answer is cut at its length limit, raises `JudgeFailure`; entries of an answer that are wrong leave their turns
    unscored."""

    def __init__(
        self,
        model: str = MODEL,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 12.0,
        include_reason: bool = True,
        prices: Prices = UNKNOWN,
    ) -> None:
        self.name = model
        self._chat = Chat(model, base_url, api_key, timeout_s)
        self._include_reason = include_reason
        self._prices = prices

    async def judge(self, request: JudgeRequest) -> JudgeAnswer:
        """Verdicts for `request.asked`, in one HTTP request; more only while it is found out what the server takes."""
        completion = await self._complete(messages(request, self._include_reason), VERDICTS, len(request.asked))
        verdicts = read_verdicts(completion.text, [asked.index for asked in request.asked], self._include_reason)
        if all(one.verdict == "unscored" for one in verdicts) and (why := nothing_in(completion.text)) is not None:
            raise JudgeFailure("broken", why, spent=self._spent(completion))
        return msgspec.structs.replace(self._spent(completion), verdicts=verdicts)

    async def explain(self, request: JudgeRequest) -> tuple[dict[int, str], JudgeAnswer]:
        """Why each turn of `request.asked` is not relevant, as far as the model says, and what that took (an answer
        without verdicts). Raises JudgeFailure."""
        completion = await self._complete(why_messages(request), REASONS, len(request.asked))
        return read_reasons(completion.text, [asked.index for asked in request.asked]), self._spent(completion)

    def estimate(self, request: JudgeRequest) -> Estimate:
        """What the batch will take."""
        return estimate(request, self._prices)

    async def close(self) -> None:
        """Let go of connections."""
        await self._chat.close()

    async def _complete(self, messages: list[Message], schema: Schema, turns: int) -> Completion:
        completion = await self._chat.complete(messages, schema, ROOM + ROOM_EACH * turns)
        if completion.refusal is not None:
            words = f"{self.name} refuses to judge this: {completion.refusal}" if completion.refusal else self._filtered
            raise JudgeFailure("refusal", words, spent=self._spent(completion))
        if completion.cut:
            raise JudgeFailure(
                "broken", "the judge's answer was cut at its length limit", spent=self._spent(completion)
            )
        if not completion.text.strip():
            raise JudgeFailure("broken", "the judge's answer is empty", spent=self._spent(completion))
        return completion

    @property
    def _filtered(self) -> str:
        return f"a content filter kept {self.name} from judging this"

    def _spent(self, completion: Completion) -> JudgeAnswer:
        cost = self._prices.usd(completion.input_tokens, completion.output_tokens)
        return JudgeAnswer((), completion.requests, completion.input_tokens, completion.output_tokens, cost)


def openai_judge(settings: RelevancySettings, environment: Mapping[str, str] = os.environ) -> OpenAIJudge:
    """The judge that `[relevancy]` describes, with the key from OPENAI_API_KEY."""
    return OpenAIJudge(
        settings.model,
        base_url=settings.base_url or environment.get("OPENAI_BASE_URL") or None,
        api_key=environment.get("OPENAI_API_KEY") or None,
        timeout_s=TRY_SHARE * settings.deadline_s,
        include_reason=settings.include_reason,
        prices=Prices(settings.usd_per_million_input_tokens, settings.usd_per_million_output_tokens),
    )
