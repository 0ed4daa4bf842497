"""A real HTTP receiver on loopback that behaves as it is told, request by request, and can be stopped and started."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple


class Request(NamedTuple):
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.body)
        return told


Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(status: int, body: bytes = b"ok", **headers: str) -> Behaviour:
    """Answer properly."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    return behave


def raw(data: bytes) -> Behaviour:
    """Say just this, and hang up."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        writer.close()

    return behave


async def hang(writer: asyncio.StreamWriter) -> None:
    """Take the request, and say nothing any more."""
    await asyncio.Event().wait()


async def half_close(writer: asyncio.StreamWriter) -> None:
    """Say that nothing more will come, and leave the connection open."""
    writer.write_eof()
    await asyncio.Event().wait()


async def endless_body(writer: asyncio.StreamWriter) -> None:
    """200, and a body that has no end."""
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        await writer.drain()


async def slow_body(writer: asyncio.StreamWriter) -> None:
    """200, and a body that never comes."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx")
    await asyncio.Event().wait()


async def endless_headers(writer: asyncio.StreamWriter) -> None:
    """Headers, one after the other, that have no end."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x-more: " + b"y" * 4000 + b"\r\n")
        await writer.drain()


class Receiver:
    """`behaviours`: of the first requests, one each; then `always`. Several may be on their way at once."""

    def __init__(self, *behaviours: Behaviour, always: Behaviour | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.port = 0
        self._behaviours = list(behaviours)
        self.always = always or answer(200)
        self._tls: ssl.SSLContext | None = None
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [request.id for request in self.requests]

    async def start(self, tls: ssl.SSLContext | None = None) -> Receiver:
        self._tls = tls or self._tls
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> Receiver:
        return self if self.port else await self.start()

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    async def has(self, count: int) -> list[Request]:
        """Wait until so many requests have come."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while not writer.is_closing():
                await self._one(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        if first == b"\x16":  # the beginning of TLS, at a plain port
            writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            writer.close()
            return
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        behaviour = self._behaviours.pop(0) if self._behaviours else self.always
        async with self._changed:
            self.requests.append(Request(line, headers, body))
            self._changed.notify_all()
        await behaviour(writer)
        await writer.drain()
