"""Strangers on every port: any bytes, any messages, any sizes. A refusal or a notice; never a crash, a hang or growth.

Each test ends by holding an ordinary call: the service is as good as before.
"""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from connectors.protocols import twilio
from tests.connectors.elevenlabs.stage import PATH, provider_with, receive_all
from tests.pipeline.hearing import live, notices
from tests.pipeline.strangers import ELEVENLABS, TWILIO, unharmed
from tests.pipeline.strangers import quiet as quiet


@settings(max_examples=12, deadline=None)
@given(before=st.lists(TWILIO, max_size=3), after=st.lists(TWILIO, max_size=12), ends=st.booleans())
def test_any_messages_on_a_media_stream(before: list[Any], after: list[Any], ends: bool) -> None:
    """Before it has started and after; text, bytes, broken JSON, hostile values."""

    async def run() -> None:
        async with unharmed() as here, connect(here.url(), proxy=None) as socket:
            with contextlib.suppress(ConnectionClosed, UnicodeEncodeError):
                for message in [*before, twilio.start("MZ1", "CA1"), *after]:
                    await socket.send(message)
                if ends:
                    await socket.send(twilio.stop("MZ1", "CA1", sequence=99))

    asyncio.run(run())


@settings(max_examples=10, deadline=None)
@given(down=st.lists(ELEVENLABS, max_size=10), up=st.lists(ELEVENLABS, max_size=10))
def test_any_messages_both_ways_through_the_relay(down: list[Any], up: list[Any]) -> None:
    """Every one reaches the other side as it was; what is told of it is a whole call."""

    async def run() -> None:
        async def script(connection: ServerConnection) -> None:
            for frame in down:
                await connection.send(frame)
            while len(provider.received) < len(up):
                await asyncio.sleep(0.002)
            await connection.close(1000)

        async with provider_with(script) as provider, unharmed(f"elevenlabs.upstream={provider.url}") as here:
            async with connect(here.url(f"{PATH}?agent_id=a"), proxy=None) as client:
                for frame in up:
                    await client.send(frame)
                assert await receive_all(client) == down
            assert provider.received == up
            await here.over()

    asyncio.run(run())


REQUESTS = [
    b"",
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),  # somebody speaks TLS
    b"POST /twilio HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\nabc",
    b"GET /twilio HTTP/1.1\r\n" + b"X: y\r\n" * 3000 + b"\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/convai/conversation HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET /%00%ff/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/convai/conversation/get-signed-url?agent_id=%0d%0aX:1 HTTP/1.1\r\nHost: \x00\r\n\r\n",
    b"GET /via/169.254.169.254/v1/convai/conversation HTTP/1.1\r\nHost: x\r\n\r\n",
    bytes(range(256)) * 8,
]


async def knock(port: int, request: bytes) -> bytes:
    """Send raw bytes, and take what comes within a moment."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(request)
        writer.write_eof()
        async with asyncio.timeout(2):
            answer = await reader.read(100_000)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return answer


@pytest.mark.parametrize("port", ["ingest", "console"])
async def test_any_bytes_on_a_port_are_answered_or_closed(port: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is no HTTP, and what is HTTP of an odd kind."""
    async with unharmed() as here:
        number = (here.service.ingest if port == "ingest" else here.service.console).port
        answers = await asyncio.gather(*(knock(number, request) for request in REQUESTS))
        assert all(answer == b"" or answer.startswith(b"HTTP/1.1 ") for answer in answers)
        assert not [answer for answer in answers if answer.startswith(b"HTTP/1.1 5")]
    assert not [record for record in caplog.records if record.exc_info]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=8), st.sampled_from(["ingest", "console"]))
def test_random_bytes_on_a_port_harm_nobody(requests: list[bytes], port: str) -> None:
    async def run() -> None:
        async with unharmed() as here:
            number = (here.service.ingest if port == "ingest" else here.service.console).port
            await asyncio.gather(*(knock(number, request) for request in requests))

    asyncio.run(run())


PATHS = ["/", "/twilio/../x", "/v1/convai/", "/v1/convai/agents", "/listen", "/%2e%2e/twilio%00", "//?" + "a" * 9000]


async def test_a_path_for_nobody_is_refused() -> None:
    async with unharmed() as here:
        for path in PATHS:
            with pytest.raises(InvalidStatus) as refused:
                await connect(here.url(path), proxy=None)
            assert refused.value.response.status_code in (400, 403, 404, 414, 426, 431, 501), path
        assert here.service.gauges.calls_started == 0


@pytest.mark.parametrize("size", [70_000, 900_000])
async def test_a_message_that_is_too_long_is_counted(size: int) -> None:
    """Beyond 64 KB it is not read; beyond 1 MB it closes the socket, see `test_hostile_sockets.py`."""
    async with unharmed() as here, connect(here.url(), proxy=None) as socket:
        await socket.send(twilio.start("MZ1", "CA1"))
        await socket.send(twilio.media("MZ1", "inbound", b"\xff" * 160, sequence=2, chunk=1, timestamp=0))
        await socket.send("x" * size)
        await socket.send(twilio.stop("MZ1", "CA1", sequence=3))
        await socket.wait_closed()
        call = await here.call()
        assert live(call).cause == "hangup"
        assert notices(call)["bad_payload"] == 1


async def test_a_flood_of_rubbish_does_not_grow_the_program() -> None:
    """Thousands of messages of every damaged kind on one stream, and a hundred sockets that say nothing."""
    rubbish = [
        "{",
        '{"event":"' + "n" * 3000 + '"}',
        '{"event":"media","media":{"payload":"&"}}',
        '{"event":"start"}',
        "[]",
    ]

    async def flood(socket: ClientConnection, rounds: int) -> None:
        for number in range(rounds):
            await socket.send(rubbish[number % len(rubbish)])
            if number % 50 == 0:
                await asyncio.sleep(0)  # the service runs in the same loop

    async with unharmed("twilio.start_timeout_s=1") as here, connect(here.url(), proxy=None) as socket:
        await socket.send(twilio.start("MZ1", "CA1"))
        await flood(socket, 1000)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        await flood(socket, 3000)
        silent = await asyncio.gather(*(connect(here.url(), proxy=None) for _ in range(100)))
        await asyncio.gather(*(one.wait_closed() for one in silent))
        del silent
        await socket.send(twilio.media("MZ1", "inbound", b"\xff" * 160, sequence=2, chunk=1, timestamp=0))
        await socket.close()
        await here.over()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert grown < 2_500_000
        told = here.told["CA1"]
        assert notices(told)["bad_payload"] >= 2000
        assert len([event for event in told if event.type == "notice"]) < 20
