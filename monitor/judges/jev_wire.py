"""Jev, TypeSafe's System One model, over HTTP: bounded questions about a state, each answered with probabilities.

    POST /v1/systemone, Authorization: Bearer …
    {"model", "state", "questions": {name: {"type": "noul", "instructions", "criteria"?: {"true", "false"}}
                                         | {"type": "score", "instructions", "criteria": [worst … best]}}}
    {"model", "answers": {name: {"type": "noul", "noul": p}
                              | {"type": "score", "score", "confidence", "probabilities": {"0": p, …}}},
     "usage": {"input_tokens", "output_tokens"}}

A `noul` is the probability of yes; a `score` the expected level, counted from 0. The state and the longest question
together have at most 32,000 tokens.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

import httpx
import msgspec

from monitor.core.questions import Line
from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.judges.estimates import UNKNOWN, Prices, tokens_of
from monitor.judges.failures import failure_of
from monitor.judges.prompt import shortened

BASE_URL: Final = "https://api.typesafe.ai"
MODEL: Final = "jev-latest"
NO_KEY: Final = "Jev has no key: set TYPESAFE_API_KEY"

MAX_TOKENS: Final = 32_000
MAX_BODY: Final = 1_000_000


class Question(NamedTuple):
    """`type` `noul`: a yes/no question. `score`: `levels` from the worst to the best."""

    type: Literal["noul", "score"]
    instructions: str
    levels: tuple[str, ...] = ()
    yes: str | None = None
    no: str | None = None

    def wire(self) -> dict[str, Any]:
        """As it is sent."""
        question: dict[str, Any] = {"type": self.type, "instructions": self.instructions}
        if self.type == "score":
            question["criteria"] = list(self.levels)
        elif self.yes and self.no:
            question["criteria"] = {"true": self.yes, "false": self.no}
        return question


class Answer(NamedTuple):
    """`value` in 0..1: the probability of yes, or the expected level over the highest. `confidence` in 0..1.
    `probabilities`: of yes alone, or of each level."""

    value: float
    confidence: float
    probabilities: tuple[float, ...]


class Answers(NamedTuple):
    """The answers by the questions' names, and what they took."""

    answers: dict[str, Answer]
    spent: JudgeAnswer


class State(NamedTuple):
    """The turns as Jev is given them, and how many of the oldest had to be left out."""

    turns: list[dict[str, str]]
    left_out: int


class _Body(msgspec.Struct):
    answers: dict[str, dict[str, Any]]
    usage: Any = None


class Jev:
    """The far side. `timeout_s`: how long one request may take in all. For one event loop."""

    def __init__(
        self,
        api_key: str | None,
        *,
        model: str = MODEL,
        base_url: str = BASE_URL,
        timeout_s: float = 5.0,
        prices: Prices = UNKNOWN,
    ) -> None:
        self.model = model
        self.prices = prices
        self._api_key, self._timeout_s = api_key, timeout_s
        self._base_url = base_url.rstrip("/").removesuffix("/v1")
        self._making = asyncio.Lock()
        self._client: httpx.AsyncClient | None = None

    async def ask(self, state: State, questions: dict[str, Question]) -> Answers:
        """An answer to each of `questions`. Raises JudgeFailure, also where one answer is missing or impossible."""
        if self._api_key is None:
            raise JudgeFailure("configuration", NO_KEY, spent=JudgeAnswer((), 0))
        asked = {name: question.wire() for name, question in questions.items()}
        try:
            async with asyncio.timeout(self._timeout_s):
                body = await self._post({"model": self.model, "state": {"turns": state.turns}, "questions": asked})
        except (TimeoutError, httpx.TimeoutException):
            raise JudgeFailure("timeout", f"Jev did not answer within {self._timeout_s:g} seconds") from None
        except httpx.RequestError as error:
            cut = isinstance(error, httpx.RemoteProtocolError | httpx.ReadError)
            words = "the connection to Jev was cut" if cut else f"Jev cannot be reached at {self._base_url}"
            raise JudgeFailure("unreachable", words) from None
        except httpx.InvalidURL:
            raise JudgeFailure("configuration", "Jev's address is none: check system_one_base_url") from None
        spent = self.spent(body.usage)
        answers = {name: _answer(body.answers.get(name), question, spent) for name, question in questions.items()}
        return Answers(answers, spent)

    def spent(self, usage: Any) -> JudgeAnswer:
        """What one request took: an answer without verdicts."""
        counts = [usage.get(key) if isinstance(usage, dict) else None for key in ("input_tokens", "output_tokens")]
        tokens = [count if isinstance(count, int) and count > 0 else 0 for count in counts]
        return JudgeAnswer((), 1, tokens[0], tokens[1], self.prices.usd(tokens[0], tokens[1]))

    async def close(self) -> None:
        """Let go of connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _post(self, question: dict[str, Any]) -> _Body:
        async with self._making:
            if self._client is None:  # it loads certificates; calls go on meanwhile
                self._client = await asyncio.to_thread(self._make_client)
        async with self._client.stream("POST", "/v1/systemone", json=question) as response:
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > MAX_BODY:
                    raise JudgeFailure("broken", f"Jev's answer is longer than {MAX_BODY} bytes")
        if response.status_code != 200:
            body = _decoded(bytes(content))
            now = datetime.now(UTC)
            raise failure_of(response.status_code, response.headers, body, "Jev", secret=self._api_key, now=now)
        try:
            return msgspec.json.decode(content, type=_Body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise JudgeFailure("broken", "Jev's answer is not what its API promises") from None

    def _make_client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self._api_key}"}
        return httpx.AsyncClient(base_url=self._base_url, headers=headers, timeout=self._timeout_s)


def _decoded(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _answer(given: dict[str, Any] | None, asked: Question, spent: JudgeAnswer) -> Answer:
    try:
        if given is None or given.get("type") != asked.type:
            raise ValueError
        if asked.type == "noul":
            yes = _number(given.get("noul"), 1)
            return Answer(yes, abs(2 * yes - 1), (yes,))
        top = len(asked.levels) - 1
        levels = given.get("probabilities") or {}
        each = tuple(_number(levels.get(str(level), 0.0), 1) for level in range(top + 1))
        return Answer(_number(given.get("score"), top) / top, _number(given.get("confidence"), 1), each)
    except (ValueError, AttributeError):
        raise JudgeFailure("broken", "Jev's answer is not what its API promises", spent=spent) from None


def _number(value: Any, top: float) -> float:
    """Raises ValueError unless `value` is a number in 0..`top`; a millionth beside it is rounding."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    if not -1e-6 <= value <= top + 1e-6:
        raise ValueError
    return min(max(float(value), 0.0), float(top))


def state_of(lines: Sequence[Line], questions: dict[str, Question], max_tokens: int = MAX_TOKENS) -> State:
    """The turns of `lines` within Jev's limit: the oldest are left out, and the last one shortened, where needed."""
    longest = max(_tokens(question.wire()) for question in questions.values())
    room = max_tokens - longest - _tokens({"turns": []})
    kept: list[dict[str, str]] = []
    for line in reversed(lines):
        turn = {"role": line.role, "content": _sound(shortened(line.text)[0])}
        if (tokens := _tokens(turn)) > room and kept:
            break
        room -= tokens
        kept.append(turn)
    return State(kept[::-1], len(lines) - len(kept))


def _tokens(value: Any) -> int:
    return tokens_of(json.dumps(value, ensure_ascii=False)) + 1


def _sound(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
