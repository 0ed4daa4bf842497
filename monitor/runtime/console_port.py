"""The console port, for operators only. `GET /healthz`: whether calls are taken; `GET /api/calls`: how they stand;
`GET /metrics`: for Prometheus."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.core.call import Status
from monitor.core.clock import seconds
from monitor.runtime.access import Doorkeeper

Page = Callable[[str | None], Awaitable[tuple[bytes, str]]]
"""What `Accept` a scraper sends -> the page's bytes and their content type."""

Handler = Callable[[Request], Awaitable[Response]]


def _json(content: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def call_row(status: Status) -> dict[str, Any]:
    """A running call as `/api/calls` shows it: times in seconds, as in events."""
    waiting = status.waiting_ms
    return {
        "call": status.call,
        "now": seconds(status.now_ms),
        "speaking": list(status.speaking),
        "waiting": None if waiting is None else seconds(waiting),
        "turn_taking": {"score": status.score, "transitions": status.transitions},
        "relevancy": status.relevancy,
        "alerts": [
            {
                "id": alert.id,
                "rule": alert.rule,
                "severity": alert.severity,
                "message": alert.message,
                "value": alert.value,
                "threshold": alert.threshold,
                "because": alert.because,
                "since": seconds(alert.since_ms),
            }
            for alert in status.alerts
        ],
        "awaited": {"verdicts": status.waiting_for_verdicts, "words": status.waiting_for_words},
    }


class ConsolePort:
    """Serves the port. `calls` and `program` are asked for each answer; `ready` says whether calls are taken.
    `metrics`: the page for Prometheus, where there is one."""

    def __init__(
        self,
        calls: Callable[[], list[Status]],
        program: Callable[[], dict[str, Any]],
        ready: Callable[[], bool],
        doorkeeper: Doorkeeper,
        metrics: Page | None = None,
    ) -> None:
        self._calls = calls
        self._program = program
        self._ready = ready
        self._doorkeeper = doorkeeper
        self._metrics = metrics
        routes = [Route("/healthz", self._health), Route("/api/calls", self._guarded(self._list))]
        if metrics is not None:
            routes.append(Route("/metrics", self._guarded(self._scrape)))
        app = Starlette(routes=routes)
        # Its access log would hold tokens, and its own handling of signals is ours.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what strangers send is no trouble of ours
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1)
        self._server = _Server(config)

    async def serve(self, bound: socket.socket) -> None:
        """Answer until `stop`."""
        await self._server.serve(sockets=[bound])

    def stop(self) -> None:
        """Close the port."""
        self._server.should_exit = True

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            target = f"{request.url.path}?{request.url.query}"
            if self._doorkeeper.admit(target, request.headers.get("authorization")) is None:
                return Response("a token is needed: Authorization: Bearer TOKEN\n", 401, media_type="text/plain")
            return await handler(request)

        return guarded

    async def _health(self, _: Request) -> Response:
        return _json({"status": "ready"}) if self._ready() else _json({"status": "stopping"}, 503)

    async def _list(self, _: Request) -> Response:
        return _json({"calls": [call_row(status) for status in self._calls()], "program": self._program()})

    async def _scrape(self, request: Request) -> Response:
        assert self._metrics is not None
        body, content_type = await self._metrics(request.headers.get("accept"))
        return Response(body, headers={"content-type": content_type, "vary": "accept"})


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to whoever started us."""
        yield
