"""One question to a server that speaks OpenAI's chat API, through the `openai` client, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from monitor.judges import FailureKind, JudgeAnswer, JudgeFailure
from monitor.judges.failures import FILTERED, TOO_LONG, codes, failure_of
from monitor.judges.openai_client import OpenAIClient
from monitor.judges.prompt import Message, Schema
from monitor.judges.sentences import one_sentence

MAX_BODY: Final = 1_000_000
"""Bytes of an answer that are read."""


class Completion(NamedTuple):
    """What a model answered. `refusal`: its words, or "" where a filter stepped in; None if it did not refuse. `cut`:
    at its length limit. `requests`: how many were sent to get it."""

    text: str
    refusal: str | None
    cut: bool
    input_tokens: int
    output_tokens: int
    requests: int = 1


class _NotTaken(JudgeFailure):
    """The server refuses the request as such; in another form it may take it."""


class _Form(NamedTuple):
    """How an answer is asked for: the kind of `response_format`, and the name of the limit to its length."""

    format: str
    limit: str


FORMATS: Final = ("json_schema", "json_object", "text")
LIMITS: Final = ("max_completion_tokens", "max_tokens", "none")


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):  # in parts, as some servers have it
            return "".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


class _Choice(msgspec.Struct):
    message: _Message = msgspec.field(default_factory=_Message)
    finish_reason: str | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


class Chat:
    """A model on a server. For one event loop; `complete` may be called several times at once."""

    def __init__(self, model: str, base_url: str | None, api_key: str | None, timeout_s: float) -> None:
        self._model, self._base_url, self._api_key, self._timeout_s = model, base_url, api_key, timeout_s
        self._server = _named(base_url)
        self._form = _Form(FORMATS[0], LIMITS[0])
        self._form_known = False
        self._client = OpenAIClient("judge", base_url, api_key, timeout_s, _unasked)

    async def complete(self, messages: list[Message], schema: Schema, room: int) -> Completion:
        """The answer to `messages`, of at most `room` tokens. Raises JudgeFailure."""
        client = await self._client.connected()
        form, sent = self._form, 0
        while True:
            sent += 1
            try:
                completion = await self._send(client, _question(self._model, messages, schema, room, form))
            except _NotTaken as failure:
                simpler = _simpler(form, str(failure), self._form_known)
                if simpler is None:
                    raise JudgeFailure(*self._never_taken(failure), spent=JudgeAnswer((), sent)) from None
                form = simpler
            except JudgeFailure as failure:
                failure.spent = failure.spent or JudgeAnswer((), sent)
                raise
            else:
                self._form, self._form_known = form, True
                return completion._replace(requests=sent)

    def _never_taken(self, failure: JudgeFailure) -> tuple[FailureKind, str]:
        """A server that took requests before refuses this one; one that never did is not what it was taken for."""
        return "refusal" if self._form_known else "configuration", str(failure)

    async def close(self) -> None:
        """Let go of connections."""
        await self._client.close()

    async def _send(self, client: Any, question: dict[str, Any]) -> Completion:
        late = f"{self._server} did not answer within {self._timeout_s:g} seconds"
        try:
            async with asyncio.timeout(self._timeout_s):
                async with client.chat.completions.with_streaming_response.create(**question) as response:
                    return self._completion(await self._client.body(response, MAX_BODY))
        except (TimeoutError, self._client.library.APITimeoutError):
            raise JudgeFailure("timeout", late) from None
        except self._client.library.APIStatusError as error:
            raise self._failure(error.status_code, error.response.headers, error.body) from None
        except JudgeFailure:
            raise
        except Exception as error:  # of this library, or of the HTTP library beneath it, whichever that is
            raise JudgeFailure("unreachable", _no_way(self._server, error)) from None

    def _completion(self, content: bytes) -> Completion:
        try:
            body = msgspec.json.decode(content, type=_Body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise JudgeFailure("broken", f"{self._server} does not answer as OpenAI's chat API does") from None
        if body.error:
            code = body.error.get("code") if isinstance(body.error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise self._failure(status, {}, body.error)
        if not body.choices:
            raise JudgeFailure("broken", f"{self._server} answers without any choice")
        choice = body.choices[0]
        filtered = "" if choice.finish_reason == "content_filter" else None
        refusal = (one_sentence(choice.message.refusal) if choice.message.refusal else None) or filtered
        spent = _count(body.usage, "prompt_tokens"), _count(body.usage, "completion_tokens")
        return Completion(choice.message.text, refusal, choice.finish_reason == "length", *spent)

    def _failure(self, status: int, headers: Mapping[str, str], error: Any) -> JudgeFailure:
        failure = failure_of(status, headers, error, self._server, secret=self._api_key, now=datetime.now(UTC))
        if failure.kind == "refusal" and status in (400, 422) and not codes(error) & (FILTERED | TOO_LONG):
            return _NotTaken(failure.kind, str(failure))
        return failure


def _count(usage: Any, key: str) -> int:
    tokens = usage.get(key) if isinstance(usage, dict) else None
    return max(0, tokens) if isinstance(tokens, int) else 0


def _named(base_url: str | None) -> str:
    """The server, for people; without a password that an address from the environment may hold."""
    if base_url is None:
        return "OpenAI"
    try:
        parts = urlsplit(base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        return "the server at base_url"


def _question(model: str, messages: list[Message], schema: Schema, room: int, form: _Form) -> dict[str, Any]:
    question: dict[str, Any] = {"model": model, "messages": messages}
    if form.format == "json_schema":
        asked = {"name": "answer", "strict": True, "schema": schema}
        question["response_format"] = {"type": "json_schema", "json_schema": asked}
    elif form.format == "json_object":
        question["response_format"] = {"type": "json_object"}
    if form.limit != "none":
        question[form.limit] = room
    return question


def _simpler(form: _Form, words: str, known: bool) -> _Form | None:
    """What to ask for in place of `form`, which the server refused with `words`; None if there is nothing left.
    `known`: it took this form before, so that it must be named in the words."""
    words = words.casefold()
    if "max_completion_tokens" in words or "max_tokens" in words:
        return None if form.limit == LIMITS[-1] else form._replace(limit=LIMITS[LIMITS.index(form.limit) + 1])
    if form.format == FORMATS[-1] or (known and "response_format" not in words):
        return None
    return form._replace(format=FORMATS[FORMATS.index(form.format) + 1])


def _no_way(server: str, error: BaseException) -> str:
    causes = [type(one).__name__ for one in _causes(error)]
    if any("Protocol" in cause or "Read" in cause or "ClosedResource" in cause for cause in causes):
        return f"the connection to {server} was cut before its answer was complete"
    return f"{server} cannot be reached ({causes[-1]}): check base_url and the network"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _unasked(kind: FailureKind, message: str) -> JudgeFailure:
    """What fails before anything is sent has cost nothing; a body that is too long has been sent for."""
    return JudgeFailure(kind, message, spent=JudgeAnswer((), 0) if kind == "configuration" else None)
