"""A server that speaks Jev's wire, and answers as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.judges.loopback import serving

Body = dict[str, Any]
Answering = Callable[[Body], ASGIApp]

KEY = "ts-secret-4711"


def noul(p: Any) -> dict[str, Any]:
    """A yes/no answer."""
    return {"type": "noul", "noul": p}


def score(level: Any, confidence: Any = 0.9, **probabilities: float) -> dict[str, Any]:
    """An answer with levels; `probabilities` by name, `p0` to `p3`."""
    named = {name.removeprefix("p"): p for name, p in probabilities.items()}
    return {"type": "score", "score": level, "confidence": confidence, "probabilities": named, "legend": {}}


def answering(**answers: Any) -> Answering:
    """These answers, by the names of the questions."""
    usage = {"input_tokens": 1000, "output_tokens": 10}
    return lambda _: JSONResponse({"model": "jev-1.13.0", "answers": answers, "usage": usage})


def failing(status: int, content: Any = None, **headers: str) -> Answering:
    """An answer with this HTTP status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: JSONResponse(content if content is not None else {"detail": "no"}, status, named)


class JevServer:
    """Answers by the rows of `script`, one a request, then by `otherwise`. `bodies`: what it was sent."""

    def __init__(
        self, script: Iterable[Answering] = (), otherwise: Answering | None = None, silent: bool = False
    ) -> None:
        self.bodies: list[Body] = []
        self._script = iter(script)
        self._otherwise = otherwise or answering(relevant=noul(0.9))
        self._silent = silent

    async def answer(self, request: Request) -> ASGIApp:
        """One answer; 401 for a wrong key."""
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return JSONResponse({"detail": "bad key"}, 401)
        self.bodies.append(await request.json())
        if self._silent:
            await asyncio.Event().wait()
        return next(self._script, self._otherwise)(self.bodies[-1])

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The base URL."""
        async with serving(Starlette(routes=[Route("/v1/systemone", self.answer, methods=["POST"])])) as address:
            yield address
