"""The ingest port: one port for all calls that come in. A request is shown to the token check, and then by its path to
the connector that it is for.

| path | for |
|---|---|
| `/healthz` | anybody: 200 when calls are taken |
| `…/v1/convai/…` | the ElevenLabs relay |
| `…/twilio` | Twilio media streams and their dialects |
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple
from weakref import WeakKeyDictionary

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from connectors.elevenlabs import SERVER_OPTIONS
from monitor.runtime.access import Admitted, Doorkeeper
from monitor.runtime.endpoints import Endpoint
from monitor.runtime.gauges import Gauges

RESTARTING = 1012
"""The close code of a stop of ours: no client takes it for a hang-up."""

log = logging.getLogger("turnwatch.ingest")

# The library writes whole requests to its log at DEBUG, tokens among them, and strangers' broken ones at ERROR.
_wire_log = logging.getLogger("turnwatch.ingest.wire")
_wire_log.setLevel(logging.CRITICAL)


class _Route(NamedTuple):
    endpoint: Endpoint
    admitted: bool


class IngestPort:
    """Serves the port. `busy`: no further call can be taken."""

    def __init__(
        self, endpoints: Sequence[Endpoint], doorkeeper: Doorkeeper, busy: Callable[[], bool], gauges: Gauges
    ) -> None:
        self._endpoints = endpoints
        self._doorkeeper = doorkeeper
        self._busy = busy
        self._gauges = gauges
        self._routes: WeakKeyDictionary[ServerConnection, _Route] = WeakKeyDictionary()
        self._server: Server | None = None
        self.ready = False

    async def open(self, bound: socket.socket) -> None:
        """Take connections from now on."""
        self._server = await serve(
            self._handle,
            sock=bound,
            process_request=self._route,
            logger=_wire_log,
            server_header=None,
            **SERVER_OPTIONS,
        )
        self.ready = True

    async def close(self, within_s: float) -> None:
        """Take no more connections, end every call, and close what is open."""
        self.ready = False
        closing = [asyncio.create_task(endpoint.close()) for endpoint in self._endpoints]
        await asyncio.wait(closing, timeout=within_s)
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        if self._server is not None:
            self._server.close(code=RESTARTING, reason="restarting")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), within_s / 2)

    async def _route(self, connection: ServerConnection, request: Request) -> Response | None:
        place = request.path.partition("?")[0]
        if place == "/healthz":
            status = HTTPStatus.OK if self.ready else HTTPStatus.SERVICE_UNAVAILABLE
            return connection.respond(status, "ready\n" if self.ready else "stopping\n")
        endpoint = next((one for one in self._endpoints if one.matches(request.path)), None)
        if endpoint is None:
            return connection.respond(HTTPStatus.NOT_FOUND, "calls come in at /v1/convai/conversation and /twilio\n")
        admitted = self._doorkeeper.admit(request.path, _only(request.headers, "Authorization"))
        if admitted is None and not endpoint.checks_tokens(connection):
            return self._refuse(connection, HTTPStatus.UNAUTHORIZED, "a token is needed: put /t/TOKEN before the path")
        if not self.ready or self._busy():
            return self._refuse(connection, HTTPStatus.SERVICE_UNAVAILABLE, "no further call can be taken now")
        self._routes[connection] = _Route(endpoint, admitted is not None)
        response = await endpoint.process_request(connection, self._without_token(request, admitted))
        if response is not None and response.status_code >= HTTPStatus.BAD_REQUEST:
            self._gauges.refused += 1  # the endpoint says why, in the log
        return response

    async def _handle(self, connection: ServerConnection) -> None:
        route = self._routes.pop(connection)
        await route.endpoint.handle(connection, admitted=route.admitted)

    def _refuse(self, connection: ServerConnection, status: HTTPStatus, sentence: str) -> Response:
        self._gauges.refused += 1
        log.warning("a connection was refused with %d: %s", status, sentence)
        return connection.respond(status, f"{sentence}\n")

    def _without_token(self, request: Request, admitted: Admitted | None) -> Request:
        """The request as its connector may see it. Where the token was not in the path it is put there, since the relay
        makes addresses of the path that the client comes back by."""
        if admitted is None or (admitted.path == request.path and not admitted.by_header):
            return request
        kept = [(name, value) for name, value in request.headers.raw_items() if name.lower() != "authorization"]
        headers = Headers(kept) if admitted.by_header else request.headers
        return replace(request, path=self._doorkeeper.with_token(admitted.path), headers=headers)


def _only(headers: Headers, name: str) -> str | None:
    values = headers.get_all(name)
    return values[0] if len(values) == 1 else None
