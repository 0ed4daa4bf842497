"""The connectors that wait for connections, each as an endpoint of the ingest port.

To add one: a class like these, and a row in `endpoints`.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Protocol

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from connectors.base import Door
from connectors.elevenlabs import Relay
from connectors.twilio import TwilioCalls, TwilioSettings, serve_twilio, upgrade_refusal
from monitor.config import Config

log = logging.getLogger("turnwatch.serve")


class Endpoint(Protocol):
    """A connector that waits for connections on paths of its own."""

    def matches(self, path: str) -> bool:
        """Whether a request for `path` is this connector's business."""
        ...

    def checks_tokens(self, connection: ServerConnection) -> bool:
        """Whether a client that has shown no token with its request shall show it later, to this connector."""
        ...

    async def process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """The answer to a request; None: upgrade, and then `handle`."""
        ...

    async def handle(self, connection: ServerConnection, *, admitted: bool) -> None:
        """One connection, to its end. `admitted`: its request has shown the token, if one is needed."""
        ...

    def elapsed(self, now_ms: int) -> None:
        """The monotonic clock reached `now_ms`."""
        ...

    async def close(self) -> None:
        """End every call, and close its connections as a service that restarts."""
        ...


class ElevenLabsEndpoint:
    """The relay."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.matches = relay.matches
        self.process_request = relay.process_request
        self.elapsed = relay.elapsed
        self.close = relay.close

    def checks_tokens(self, connection: ServerConnection) -> bool:
        """The conversation's messages belong to the provider: a token cannot come later."""
        return False

    async def handle(self, connection: ServerConnection, *, admitted: bool) -> None:
        """One conversation."""
        await self._relay.handle(connection)


class TwilioEndpoint:
    """Media streams. A stream shows the token in its URL's path, or as the `<Parameter name="token">` of its TwiML.

    Twilio's own signature, where it can be checked, stands for the token as well; a token in the settings of Twilio is
    wanted besides.
    """

    def __init__(self, door: Door, settings: TwilioSettings, token: str | None) -> None:
        self._settings = settings
        self._admitted = TwilioCalls(door, settings)
        self._strangers = TwilioCalls(door, msgspec.structs.replace(settings, token=settings.token or token))

    def matches(self, path: str) -> bool:
        """`/twilio`, with or without a prefix."""
        return path.partition("?")[0].endswith("/twilio")

    def checks_tokens(self, connection: ServerConnection) -> bool:
        """The `start` message may hold it."""
        return True

    async def process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Only Twilio may open a stream, where its signature can be checked."""
        refusal = upgrade_refusal(request.path, request.headers, self._settings)
        if refusal is None:
            return None
        log.warning("a media stream was refused: %s", refusal)
        return connection.respond(HTTPStatus.FORBIDDEN, f"{refusal}\n")

    async def handle(self, connection: ServerConnection, *, admitted: bool) -> None:
        """One stream."""
        signed = self._settings.auth_token is not None or self._settings.shared_key is not None
        await serve_twilio(connection, self._admitted if admitted or signed else self._strangers)

    def elapsed(self, now_ms: int) -> None:
        """See `Endpoint`."""
        self._admitted.elapsed(now_ms)
        self._strangers.elapsed(now_ms)

    async def close(self) -> None:
        """End every call; the sockets are closed with the port."""
        self._admitted.stop()
        self._strangers.stop()


def endpoints(config: Config, door: Door) -> list[Endpoint]:
    """Every endpoint, in the order in which they are asked. Raises `SourceError` for settings that make no sense."""
    return [
        TwilioEndpoint(door, config.twilio, config.serve.token),
        ElevenLabsEndpoint(Relay(config.elevenlabs, door)),
    ]
