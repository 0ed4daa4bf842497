"""Opening the provider's side of a conversation while the client's upgrade waits.

What the client sent is passed on: query, `Origin`, `User-Agent`, subprotocols, `Authorization`, `xi-api-key`; the rest
belongs to each leg alone. The relay answers its client with exactly what the provider answered: its subprotocol or its
refusal.
"""

from __future__ import annotations

import logging

from websockets.asyncio.client import ClientConnection, connect
from websockets.datastructures import Headers
from websockets.exceptions import InvalidHandshake, InvalidHeader, InvalidStatus, InvalidURI
from websockets.headers import parse_subprotocol
from websockets.http11 import Response
from websockets.typing import Origin

from connectors.elevenlabs.answers import passed_on, refusal
from connectors.elevenlabs.upstreams import Target, Upstream

CONNECT_TIMEOUT_S = 5.0
"""The Python SDK gives up after 10 s; a refusal of ours should reach it before."""

MAX_MESSAGE = 16 * 1024 * 1024
MAX_QUEUE = 8
"""Messages read ahead on a leg whose other side is slow; then the socket is no longer read."""

_PASSED_ON = ("Authorization", "xi-api-key")

# The library writes whole requests to its log at DEBUG, keys and signatures among them.
_wire_log = logging.getLogger("connectors.elevenlabs.wire")
_wire_log.setLevel(logging.INFO)


class Refused(Exception):
    """The conversation cannot be opened; `response` is for the client, the text for the log."""

    def __init__(self, response: Response, reason: str) -> None:
        super().__init__(reason)
        self.response = response


class _ConnectHereOnly(connect):
    """`connect` follows redirects to any host; this one takes them as a refusal."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def is_upgrade(headers: Headers) -> bool:
    """Whether a request asks for a WebSocket; nothing is opened upstream for one that does not."""
    return any(value.strip().lower() == "websocket" for value in headers.get_all("Upgrade"))


async def open_upstream(
    upstream: Upstream, target: Target, headers: Headers, timeout: float = CONNECT_TIMEOUT_S
) -> ClientConnection:
    """The provider's side for a client's request with these headers. Raises `Refused`."""
    try:
        offered = [one for value in headers.get_all("Sec-WebSocket-Protocol") for one in parse_subprotocol(value)]
        connecting = _ConnectHereOnly(
            upstream.socket_url(target),
            origin=_origin(headers),
            subprotocols=offered or None,
            additional_headers=[(name, value) for name in _PASSED_ON if (value := _first(headers, name)) is not None],
            user_agent_header=_first(headers, "User-Agent"),
            compression=None,
            proxy=None if upstream.is_loopback else True,
            open_timeout=timeout,
            ping_interval=20,
            ping_timeout=None,
            max_size=MAX_MESSAGE,
            max_queue=MAX_QUEUE,
            logger=_wire_log,
        )
    except (InvalidURI, InvalidHeader, ValueError) as error:
        raise Refused(
            refusal(400, "the request cannot be passed on: malformed path or subprotocol"), "malformed"
        ) from error
    try:
        return await connecting
    except InvalidStatus as error:
        response = error.response
        words = bytes(response.body or b"")[:200].decode("utf-8", "replace").strip()
        reason = f"{upstream.authority} refused the conversation with HTTP {response.status_code}: {words}"
        raise Refused(passed_on(response.status_code, response.headers.raw_items(), response.body), reason) from None
    except TimeoutError as error:
        reason = f"{upstream.authority} did not answer within {timeout:g} s; check the network"
        raise Refused(refusal(504, reason), reason) from error
    except (OSError, InvalidHandshake, EOFError) as error:
        reason = f"cannot open a conversation at {upstream.authority}: {error or type(error).__name__}"
        hint = "; check the network, or the address given with --elevenlabs-upstream"
        raise Refused(refusal(502, reason + hint), reason) from error


def _first(headers: Headers, name: str) -> str | None:
    return next(iter(headers.get_all(name)), None)


def _origin(headers: Headers) -> Origin | None:
    value = _first(headers, "Origin")
    return None if value is None else Origin(value)
