"""The ElevenLabs relay: client -> here -> provider, with a listener beside the traffic.

One port serves many kinds of calls, so the relay is two functions of a `websockets` server: `process_request` opens the
provider's side while the client's upgrade waits, and answers the signed-URL call; `handle` joins the two legs. Whoever
runs the server gives it `SERVER_OPTIONS`, calls `elapsed` every 50 ms or so, and `close` before the server is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from connectors.base import Door
from connectors.elevenlabs.analysis import Analysis
from connectors.elevenlabs.answers import refusal
from connectors.elevenlabs.beginning import Opened
from connectors.elevenlabs.clients import policy_named
from connectors.elevenlabs.delays import Delays
from connectors.elevenlabs.forwarding import Conversation, break_off
from connectors.elevenlabs.handshake import (
    CONNECT_TIMEOUT_S,
    MAX_MESSAGE,
    MAX_QUEUE,
    Refused,
    is_upgrade,
    open_upstream,
)
from connectors.elevenlabs.listening import Direction, Listener
from connectors.elevenlabs.signed_urls import PATH as SIGNED_URL
from connectors.elevenlabs.signed_urls import SignedUrls
from connectors.elevenlabs.upstreams import Target, UnknownUpstream, Upstreams, target_of

CONVERSATION = "conversation"

SERVER_OPTIONS: dict[str, Any] = {"max_size": MAX_MESSAGE, "max_queue": MAX_QUEUE, "compression": None}
"""What `websockets.asyncio.server.serve` needs for the relay's clients. Compression would cost each of them 300 KB and
each message 0.1 ms."""

PING_PAUSES_S = (0.0, 0.5, 1.5, 3.0, 10.0)
"""Pauses before the relay's own pings of a client; the last one repeats. They measure the way to the client."""

_log = logging.getLogger("connectors.elevenlabs")


@dataclass(frozen=True)
class RelaySettings:
    """The relay in front of ElevenLabs.

    `upstream`: a server in place of the region's host, as wss://HOST or ws://HOST:PORT. `region`: `default`, `us`,
    `eu`, `in` or `sg`. `more_upstreams`: servers that signed URLs may name besides. `api_key`: used for signed URLs
    where the client sends no key. `public_url`: where clients reach the relay, if that is not the `Host` they name.
    `playout`: how clients play audio: `immediate_drop`, `py_interface`, `py_device`, `js_fade` or `immediate_keep` (see
    `clients`); None to go by what the client says. `connect_timeout_s`: how long the provider may take to answer before
    the client is refused."""

    upstream: str | None = None
    region: str = "default"
    more_upstreams: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)
    public_url: str | None = None
    playout: str | None = None
    connect_timeout_s: float = CONNECT_TIMEOUT_S


class Relay:
    """Serves the conversation API's paths. Raises `SourceError` for settings that are wrong. `clock`: monotonic
    seconds, the same clock, in ms, that `elapsed` is called with."""

    def __init__(self, settings: RelaySettings, door: Door, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._door = door
        self._clock = clock
        self._upstreams = Upstreams(settings.region, settings.upstream, settings.more_upstreams)
        self._signed_urls = SignedUrls(self._upstreams, settings.api_key, settings.public_url)
        self._playout = policy_named(settings.playout) if settings.playout else None
        self._opened: dict[ServerConnection, tuple[ClientConnection, Target, asyncio.Task[None]]] = {}
        self._calls: dict[Conversation, Analysis] = {}
        self._handling: set[asyncio.Task[object]] = set()
        self.delays = Delays()
        self.refused = 0
        """Conversations that could not be opened."""

    @staticmethod
    def matches(path: str) -> bool:
        """Whether a request's path is the relay's business."""
        return target_of(path) is not None

    @property
    def calls(self) -> int:
        """Conversations that are open."""
        return len(self._calls)

    async def process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """The answer to a request, or None: then `handle` will be called with the client's connection."""
        target = target_of(request.path)
        try:
            if target is None:
                return refusal(404, "there is nothing here; conversations are at /v1/convai/conversation")
            if target.what == CONVERSATION:
                return await self._open(connection, target, request)
            if target.what == SIGNED_URL:
                secure = connection.transport.get_extra_info("ssl_object") is not None
                return await self._signed_urls.fetch(target, request.headers, secure=secure)
        except UnknownUpstream as unknown:
            return self._refuse(refusal(403, str(unknown)), str(unknown))
        if target.what == "conversation/token":
            return refusal(
                501,
                "this client asks for a WebRTC call, which would go past the relay; set connectionType to websocket",
            )
        return refusal(
            501, "only conversations and their signed URLs pass here; send other requests to the provider directly"
        )

    async def handle(self, connection: ServerConnection) -> None:
        """One conversation, from the client's open connection to both legs closed."""
        server, target, guard = self._opened.pop(connection)
        guard.cancel()
        task = asyncio.current_task()
        if task is not None:
            self._handling.add(task)
            task.add_done_callback(self._handling.discard)
        analysis = Analysis(Listener(self._describe(target)), self._door)
        conversation = Conversation(connection, server, self._passing(analysis), self._clock, self.delays.add)
        self._calls[conversation] = analysis
        pinging = asyncio.create_task(_ping(connection, analysis), name="elevenlabs-ping")
        try:
            ending = await conversation.ended()
            await asyncio.gather(conversation.close(ending), analysis.finish(self._now(), ending))
        finally:
            pinging.cancel()
            conversation.abort()
            del self._calls[conversation]
            await analysis.stop()

    def elapsed(self, now_ms: int) -> None:
        """The sweep: the clock reached `now_ms`."""
        for analysis in self._calls.values():
            analysis.tick(now_ms)

    async def close(self) -> None:
        """Close every conversation with code 1012 on both legs; no client takes that for the agent's hanging up."""
        for conversation in list(self._calls):
            conversation.stop()
        if self._handling:
            await asyncio.wait(self._handling)
        await self._signed_urls.close()

    async def _open(self, connection: ServerConnection, target: Target, request: Request) -> Response | None:
        if not is_upgrade(request.headers):
            return refusal(426, "a conversation is a WebSocket; this request is none")
        upstream = self._upstreams.find(target.host)
        try:
            server = await open_upstream(upstream, target, request.headers, self._settings.connect_timeout_s)
        except Refused as refused:
            return self._refuse(refused.response, str(refused))
        guard = asyncio.create_task(self._release(connection, server), name="elevenlabs-guard")
        self._opened[connection] = (server, target, guard)
        _choose_subprotocol(connection, server.subprotocol)
        connection.ping_interval = None  # `_ping` does it, and a client that is slow to answer is not thrown out
        return None

    async def _release(self, connection: ServerConnection, server: ClientConnection) -> None:
        """The client may go away, or turn out to be none, after the provider has opened its side for it."""
        await connection.wait_closed()
        self._opened.pop(connection, None)
        break_off(server)

    def _refuse(self, response: Response, reason: str) -> Response:
        self.refused += 1
        _log.warning("%s", reason)
        return response

    def _passing(self, analysis: Analysis) -> Callable[[Direction, str | bytes], None]:
        return lambda direction, message: analysis.offer(direction, message, self._now())

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _describe(self, target: Target) -> Opened:
        query = {name: values[0] for name, values in parse_qs(target.query, max_num_fields=100).items()}
        return Opened(
            at_ms=self._now(),
            fallback_id=f"elevenlabs-{uuid.uuid4().hex[:12]}",
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            agent_id=_plain(query.get("agent_id")),
            source=_plain(query.get("source")),
            version=_plain(query.get("version")),
            playout=self._playout,
        )


def _plain(word: str | None) -> str | None:
    """A word of a client's query as it may be shown: short and printable."""
    return "".join(letter for letter in word[:100] if letter.isprintable()) if word else None


def _choose_subprotocol(connection: ServerConnection, chosen: Subprotocol | None) -> None:
    """The server's own list of subprotocols does not count here: what the provider chose is the answer."""
    setattr(connection.protocol, "select_subprotocol", lambda _offered: chosen)  # noqa: B010 - one connection's own


async def _ping(connection: ServerConnection, analysis: Analysis) -> None:
    """Measure the client's round trip below its application, now and then."""
    pauses = itertools.chain(PING_PAUSES_S, itertools.repeat(PING_PAUSES_S[-1]))
    with contextlib.suppress(ConnectionClosed):
        for pause in pauses:
            await asyncio.sleep(pause)
            answered = await connection.ping()
            with contextlib.suppress(TimeoutError):
                analysis.round_trip(round(await asyncio.wait_for(answered, PING_PAUSES_S[-1]) * 1000))
