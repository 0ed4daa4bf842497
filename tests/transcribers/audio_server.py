"""A server that speaks OpenAI's audio endpoint, and what such a server does when it fails."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from email.message import Message
from email.parser import BytesParser
from typing import Any, NamedTuple

import numpy as np
import soundfile
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.judges.loopback import serving


class Sent(NamedTuple):
    """What one request held: its fields, and the sound in its file."""

    fields: dict[str, str]
    name: str
    samples: NDArray[np.int16]
    rate: int
    key: str | None


Answering = Callable[[Sent], ASGIApp]


def words(text: Any, **more: Any) -> Answering:
    """A transcription with this text."""
    return lambda _: JSONResponse({"text": text, "usage": {"type": "duration", "seconds": 2}, **more})


def error(status: int, code: str | None = None, message: str = "no", **headers: str) -> Answering:
    """An answer with this HTTP status and OpenAI's kind of error."""
    content = {"error": {"message": message, "type": code, "code": code, "param": None}}
    return lambda _: JSONResponse(content, status, {name.replace("_", "-"): value for name, value in headers.items()})


hello = words("Hello")


def silence(_: Sent) -> ASGIApp:
    """Takes the request and never answers."""
    raise AssertionError("nobody asks for this")


class AudioServer:
    """Answers by the rows of `script`, one a request, then by `otherwise`. `sent`: what it was sent."""

    def __init__(self, script: Iterable[Answering] = (), otherwise: Answering = hello) -> None:
        self.sent: list[Sent] = []
        self._script, self._otherwise = iter(script), otherwise

    async def answer(self, request: Request) -> ASGIApp:
        """One transcription."""
        self.sent.append(_form(await request.body(), request.headers))
        answering = next(self._script, self._otherwise)
        if answering is silence:
            await asyncio.Event().wait()
        return answering(self.sent[-1])

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The base URL, as clients are given it."""
        routes = [Route("/v1/audio/transcriptions", self.answer, methods=["POST"])]
        async with serving(Starlette(routes=routes)) as address:
            yield f"{address}/v1"


def _form(body: bytes, headers: Any) -> Sent:
    """A multipart form, by the standard library's parser of messages."""
    head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
    fields: dict[str, str] = {}
    name, content = "", b""
    for part in BytesParser().parsebytes(head + body).get_payload():
        assert isinstance(part, Message)
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        if file := part.get_filename():
            name, content = file, payload
        else:
            fields[str(part.get_param("name", header="content-disposition"))] = payload.decode()
    samples, rate = soundfile.read(io.BytesIO(content), dtype="int16")
    return Sent(fields, name, samples, rate, headers.get("authorization"))
