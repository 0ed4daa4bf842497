"""A stage for the relay on loopback: a provider that follows a test's script, the relay, and watchers that remember."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from connectors.elevenlabs import SERVER_OPTIONS, Relay, RelaySettings
from connectors.inputs import Audio, CallEnded, CallStarted, Input, Notice

AnyInput = TypeVar("AnyInput", bound=Input)
Script = Callable[[ServerConnection], Awaitable[None]]

PATIENCE_S = 10.0
PATH = "/v1/convai/conversation"


def metadata(conversation: str = "conv_1", agent: str | None = "pcm_16000", caller: str | None = "pcm_16000") -> str:
    event = {"conversation_id": conversation}
    event |= {"agent_output_audio_format": agent} if agent else {}
    event |= {"user_input_audio_format": caller} if caller else {}
    return message("conversation_initiation_metadata", conversation_initiation_metadata_event=event)


def message(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def agent_audio(pcm: bytes, event_id: object = 1) -> str:
    return message("audio", audio_event={"audio_base_64": base64.b64encode(pcm).decode(), "event_id": event_id})


def caller_audio(pcm: bytes) -> str:
    return json.dumps({"user_audio_chunk": base64.b64encode(pcm).decode()})


def interruption(event_id: object = 1) -> str:
    return message("interruption", interruption_event={"event_id": event_id})


def ping(event_id: int, **more: object) -> str:
    return message("ping", ping_event={"event_id": event_id, **more})


def tone(ms: int, rate: int = 16000) -> bytes:
    """Loud samples that differ from each other."""
    return b"".join(((n * 7919) % 20_000 - 10_000).to_bytes(2, "little", signed=True) for n in range(ms * rate // 1000))


class Watched:
    """One call as its watchers saw it."""

    def __init__(self, started: CallStarted) -> None:
        self.started = started
        self.inputs: list[Input] = [started]
        self.changed = asyncio.Event()

    def put(self, *inputs: Input) -> bool:
        self.inputs += inputs
        self.changed.set()
        return True

    def of(self, kind: type[AnyInput]) -> list[AnyInput]:
        return [given for given in self.inputs if isinstance(given, kind)]

    def notices(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for notice in self.of(Notice):
            counts[notice.kind] = counts.get(notice.kind, 0) + notice.count
        return counts

    def audio_ms(self, track: str) -> float:
        return sum(len(piece.pcm) for piece in self.of(Audio) if piece.track == track) / 16

    async def until(self, told: Callable[[], object]) -> None:
        """Wait until `told` is true."""
        async with asyncio.timeout(PATIENCE_S):
            while not told():
                self.changed.clear()
                await self.changed.wait()

    async def end(self) -> CallEnded:
        """Wait for the call's last input."""
        await self.until(lambda: self.of(CallEnded))
        assert isinstance(self.inputs[-1], CallEnded)
        return self.inputs[-1]


class Watchers:
    """The door: remembers every call."""

    def __init__(self) -> None:
        self.calls: list[Watched] = []
        self._opened = asyncio.Event()

    def open(self, started: CallStarted) -> Watched:
        self.calls.append(Watched(started))
        self._opened.set()
        return self.calls[-1]

    async def call(self, number: int = 0) -> Watched:
        """Wait for a call to begin."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.calls) <= number:
                self._opened.clear()
                await self._opened.wait()
        return self.calls[number]


@dataclass
class Provider:
    """What stands where ElevenLabs would. `refusals`: answers to the next requests in place of conversations."""

    url: str = ""
    base_url: str = ""
    requests: list[Request] = field(default_factory=list)
    received: list[str | bytes] = field(default_factory=list)
    refusals: deque[Response] = field(default_factory=deque)
    closes: list[tuple[int | None, str | None]] = field(default_factory=list)
    signed_url: str | None = None

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        self.requests.append(request)
        if self.refusals:
            return self.refusals.popleft()
        if "get-signed-url" in request.path:
            return json_response(200, {"signed_url": self.signed_url, "other": [1, None]})
        return None


def json_response(status: int, body: object) -> Response:
    data = json.dumps(body).encode()
    headers = Headers(
        [("Content-Type", "application/json"), ("Content-Length", str(len(data))), ("Connection", "close")]
    )
    return Response(status, HTTPStatus(status).phrase, headers, data)


async def collect(provider: Provider, connection: ServerConnection) -> None:
    """Remember all that the client sends, until it closes."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            provider.received.append(await connection.recv())


@contextlib.asynccontextmanager
async def provider_with(script: Script | None = None) -> AsyncIterator[Provider]:
    """`script` plays the agent's side of every conversation; what the client sends is remembered meanwhile."""
    provider = Provider()

    async def converse(connection: ServerConnection) -> None:
        collecting = asyncio.create_task(collect(provider, connection))
        try:
            with contextlib.suppress(ConnectionClosed):
                if script is not None:
                    await script(connection)
                await connection.wait_closed()
        finally:
            await connection.wait_closed()
            provider.closes.append((connection.close_code, connection.close_reason))
            await collecting

    def subprotocol(_connection: ServerConnection, offered: object) -> Subprotocol | None:
        return Subprotocol("convai") if isinstance(offered, list) and "convai" in offered else None

    async with serve(
        converse, "127.0.0.1", 0, process_request=provider.answer, select_subprotocol=subprotocol, max_size=1 << 24
    ) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        provider.url, provider.base_url = f"ws://127.0.0.1:{port}", f"http://127.0.0.1:{port}"
        yield provider


@dataclass
class Stage:
    relay: Relay
    watchers: Watchers
    url: str
    base_url: str

    def dial(self, query: str = "agent_id=a1", prefix: str = "", **options: Any) -> connect:
        return connect(f"{self.url}{prefix}{PATH}?{query}", max_size=1 << 24, **options)

    def reading_slowly(self) -> connect:
        """A client that reads no message ahead of the one it is asked for."""
        return self.dial(max_queue=1)


@contextlib.asynccontextmanager
async def relay_to(upstream: str, **settings: Any) -> AsyncIterator[Stage]:
    """The relay before this upstream, swept as a server sweeps it."""
    watchers = Watchers()
    relay = Relay(RelaySettings(upstream=upstream, **settings), watchers)

    async def sweep() -> None:
        while True:
            await asyncio.sleep(0.02)
            relay.elapsed(int(time.monotonic() * 1000))

    async with serve(relay.handle, "127.0.0.1", 0, process_request=relay.process_request, **SERVER_OPTIONS) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        sweeping = asyncio.create_task(sweep())
        try:
            yield Stage(relay, watchers, f"ws://127.0.0.1:{port}", f"http://127.0.0.1:{port}")
        finally:
            await relay.close()
            sweeping.cancel()


async def receive_all(client: ClientConnection) -> list[str | bytes]:
    """Everything until the close."""
    messages = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            messages.append(await client.recv())
    return messages


async def until(told: Callable[[], object]) -> None:
    """Wait until `told` is true of something that gives no sign."""
    async with asyncio.timeout(PATIENCE_S):
        while not told():
            await asyncio.sleep(0.002)
