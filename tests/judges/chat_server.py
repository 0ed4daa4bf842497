"""A server that speaks OpenAI's chat API, and everything that such a server does when it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.judges.conversations import shown
from tests.judges.loopback import serving

Body = dict[str, Any]
Answering = Callable[[Body], ASGIApp]


def completion(content: Any, finish: str = "stop", refusal: str | None = None, usage: Any = "some") -> JSONResponse:
    """A chat completion with this message."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    told = {"prompt_tokens": 700, "completion_tokens": 90, "total_tokens": 790} if usage == "some" else usage
    return JSONResponse(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": told}
    )


def verdicts(entries: Iterable[tuple[Any, Any]], reason: str = "") -> JSONResponse:
    """An answer with these indexes and verdicts."""
    rows = [{"index": index, "reason": reason, "verdict": verdict} for index, verdict in entries]
    return completion(json.dumps({"verdicts": rows}))


def asked_in(body: Body) -> list[int]:
    """The turn indexes that a request asks about."""
    return shown(body["messages"])[1]


def all_yes(body: Body) -> ASGIApp:
    """A good judge, easily pleased."""
    return verdicts((index, "yes") for index in asked_in(body))


def error(status: int, code: str | None = None, message: str = "no", **headers: str) -> Answering:
    """An answer with this HTTP status and OpenAI's kind of error."""
    content = {"error": {"message": message, "type": code, "code": code, "param": None}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: JSONResponse(content, status, named)


def saying(content: Any, **more: Any) -> Answering:
    """A completion with this content, whatever is asked."""
    return lambda _: completion(content, **more)


class ChatServer:
    """Answers by the rows of `script`, one a request, then by `otherwise`. `bodies`: what it was sent."""

    def __init__(self, script: Iterable[Answering] = (), otherwise: Answering = all_yes, delay_s: float = 0.0) -> None:
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self._script, self._otherwise, self._delay_s = iter(script), otherwise, delay_s

    async def answer(self, request: Request) -> ASGIApp:
        """One chat completion."""
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            answering = next(self._script, self._otherwise)
            if answering is silence:
                await asyncio.Event().wait()
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            return answering(body)
        finally:
            self.at_once -= 1

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The base URL, as clients are given it."""
        routes = [Route("/v1/chat/completions", self.answer, methods=["POST"])]
        async with serving(Starlette(routes=routes)) as address:
            yield f"{address}/v1"


def silence(_: Body) -> ASGIApp:
    """Takes the request and never answers."""
    raise AssertionError("nobody asks for this")
