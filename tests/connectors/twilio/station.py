"""The media-stream endpoint on a real port of loopback, with a door that keeps what comes through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

import numpy as np
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from connectors import g711
from connectors.inputs import CallStarted, Input, Notice
from connectors.twilio import TwilioCalls, TwilioSettings, serve_twilio, upgrade_refusal
from tests.connectors.twilio.phone import heard

SECOND = 8000


class Kept:
    """A door that keeps every call's inputs."""

    def __init__(self) -> None:
        self.calls: list[list[Input]] = []

    def open(self, started: CallStarted) -> KeptFeed:
        inputs: list[Input] = [started]
        self.calls.append(inputs)
        return KeptFeed(inputs)

    @property
    def call(self) -> list[Input]:
        (inputs,) = self.calls
        return inputs

    def notices(self, kind: str) -> list[Notice]:
        return [given for given in self.call if isinstance(given, Notice) and given.kind == kind]


class KeptFeed:
    def __init__(self, inputs: list[Input]) -> None:
        self._inputs = inputs

    def put(self, *inputs: Input) -> bool:
        self._inputs += inputs
        return True


class Station:
    """The endpoint on an ephemeral port."""

    def __init__(self, server: Server, door: Kept, calls: TwilioCalls) -> None:
        (self.port,) = {address.getsockname()[1] for address in server.sockets}
        self.server, self.door, self.calls = server, door, calls
        self.url = f"ws://127.0.0.1:{self.port}/twilio"

    async def until(self, happened: Callable[[], bool], seconds: float = 10) -> None:
        async with asyncio.timeout(seconds):
            while not happened():
                await asyncio.sleep(0.01)

    async def over(self, number: int = 1) -> None:
        """So many calls have come and ended."""
        await self.until(lambda: len(self.door.calls) >= number and not len(self.calls))


@asynccontextmanager
async def station(settings: TwilioSettings | None = None) -> AsyncIterator[Station]:
    door, settings = Kept(), settings or TwilioSettings()
    calls = TwilioCalls(door, settings)

    async def handler(connection: ServerConnection) -> None:
        await serve_twilio(connection, calls)

    def check(connection: ServerConnection, request: Request) -> Response | None:
        reason = upgrade_refusal(request.path, request.headers, settings)
        return connection.respond(HTTPStatus.FORBIDDEN, reason) if reason else None

    async def sweep() -> None:
        while True:
            await asyncio.sleep(0.05)
            calls.elapsed()

    async with serve(handler, "127.0.0.1", 0, process_request=check, compression=None) as server:
        sweeping = asyncio.create_task(sweep())
        try:
            yield Station(server, door, calls)
        finally:
            sweeping.cancel()


def tone(seconds: float, hz: float = 300) -> bytes:
    """A tone as it comes out of mu-law, so that what is heard equals it."""
    wave = (np.sin(2 * np.pi * hz * np.arange(round(seconds * SECOND)) / SECOND) * 9000).astype("<i2")
    return g711.expand(g711.MULAW, g711.compress(g711.MULAW, wave.tobytes())).tobytes()


CALLER, AGENT = tone(2.0) + bytes(2 * SECOND), bytes(2 * SECOND) + tone(2.0, 500)


def assert_heard(inputs: list[Input], caller: bytes = CALLER, agent: bytes = AGENT) -> None:
    assert heard(inputs, "caller").tobytes() == caller
    assert heard(inputs, "agent").tobytes() == agent
