"""A real HTTP server on loopback, in the event loop of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send


class _Server(uvicorn.Server):
    """Stops at once, where its own loop would look about ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stopped = asyncio.Event()

    async def main_loop(self) -> None:
        await self.stopped.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """The address at which `app` answers."""
    bound = socket.create_server(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        server.stopped.set()
        await task
        bound.close()


def unused_address() -> str:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return f"http://127.0.0.1:{bound.getsockname()[1]}"


class CutAnswer:
    """A response that promises more than it sends before the connection is gone."""

    def __init__(self, beginning: bytes, promised: int = 10_000) -> None:
        self._beginning, self._promised = beginning, promised

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = str(self._promised).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._beginning, "more_body": False})
