"""Whoever is on the other end of a socket may break its rules: providers and clients that speak half a protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from connectors.protocols import twilio
from tests.connectors.elevenlabs.stage import PATH, metadata, provider_with, receive_all
from tests.pipeline.hearing import live
from tests.pipeline.serving import Serving
from tests.pipeline.strangers import quiet as quiet
from tests.pipeline.strangers import unharmed

CONVERSATION = f"{PATH}?agent_id=a"
Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Raw = Callable[[Reader, Writer], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw_provider(behave: Raw) -> AsyncIterator[str]:
    """A provider that does as it likes with each connection. -> its address as a setting."""

    async def serve(reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await behave(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"elevenlabs.upstream=ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def accept(reader: Reader, writer: Writer) -> None:
    """The provider's half of a WebSocket handshake."""
    request = await reader.readuntil(b"\r\n\r\n")
    key = next(line[19:] for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key: "))
    proof = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    writer.write(head + b"Sec-WebSocket-Accept: " + proof + b"\r\n\r\n")


ANSWERS = {
    "nothing": b"",
    "no http": b"\x00\xff garbage \r\n\r\n",
    "no upgrade": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "a wrong proof": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: AAAA\r\n\r\n",
    "a body that never comes": b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 99999999999\r\n\r\n",
    "no status": b"HTTP/1.1 999 \xff\r\n\r\n",
    "headers without end": b"HTTP/1.1 101 X\r\n" + b"A: b\r\n" * 5000,
}


async def test_a_provider_that_does_not_answer_as_one_is_a_refusal() -> None:
    answers = iter(ANSWERS.values())

    async def behave(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(next(answers))
        await writer.drain()

    async with raw_provider(behave) as provider, unharmed(provider, "elevenlabs.connect_timeout_s=1") as here:
        for name in ANSWERS:
            with pytest.raises(InvalidStatus) as refused:
                await connect(here.url(CONVERSATION), proxy=None)
            assert 400 <= refused.value.response.status_code < 600, name
        assert here.told == {}


PROVIDERS_FRAMES = {
    "reserved bits": b"\xff" * 200,
    "masked, and 2^64 bytes long": b"\x81\xff" + b"\xff" * 8,
    "2 GB long": b"\x81\x7f" + b"\x00\x00\x00\x00\x7f\xff\xff\xff",
    "text that is none": b"\x81\x02\xff\xfe",
    "a ping that is too long": b"\x89\x7e\x01\x00" + bytes(256),
    "fragments that never end": b"\x01\x03abc" * 5,
    "a close code that does not exist": b"\x88\x02\x00\x01",
    "half a frame": b"\x81",
}


async def test_a_provider_that_breaks_the_rules_ends_its_call() -> None:
    """The client is told that it is over, and so are the watchers."""
    frames = iter(PROVIDERS_FRAMES.values())

    async def behave(reader: Reader, writer: Writer) -> None:
        await accept(reader, writer)
        text = metadata().encode()
        writer.write(b"\x81\x7e" + len(text).to_bytes(2, "big") + text + next(frames))
        await writer.drain()

    async with raw_provider(behave) as provider, unharmed(provider) as here:
        for number, name in enumerate(PROVIDERS_FRAMES, 1):
            async with connect(here.url(CONVERSATION), proxy=None) as client:
                await receive_all(client)
            ended = await here.over(number)
            assert live(ended[-1]).cause in ("failed", "disconnected"), name


async def test_a_provider_that_hangs_up_on_a_large_message_hangs_up() -> None:
    """It closes, and its half of the connection too, while 15 MB are on their way to it; then it takes all of them."""

    async def behave(reader: Reader, writer: Writer) -> None:
        await accept(reader, writer)
        await reader.read(1000)
        writer.write(b"\x88\x02\x03\xe8")  # close, 1000
        await writer.drain()
        writer.write_eof()
        while await reader.read(1 << 16):
            pass

    async with raw_provider(behave) as provider, unharmed(provider) as here:
        async with connect(here.url(CONVERSATION), proxy=None) as client:
            with contextlib.suppress(ConnectionClosed):
                await client.send('{"user_audio_chunk":"' + "A" * 15_000_000)
            await client.wait_closed()
            assert client.close_code == 1000
        assert live(await here.call()).cause == "hangup"


CLIENTS_FRAMES = {
    "reserved bits": b"\xff" * 200,
    "not masked": b"\x81\x05hello",
    "2^63 bytes long": b"\x81\xff" + b"\x7f" + b"\xff" * 7 + bytes(4),
    "text that is none": b"\x81\x82\x00\x00\x00\x00\xff\xfe",
    "fragments that never end": b"\x01\x81\x00\x00\x00\x00x" * 9,
    "half a frame": b"\x81\x85\x00\x00",
    "nothing at all": b"",
}


@pytest.mark.parametrize("place", ["/twilio", CONVERSATION])
async def test_a_client_that_breaks_the_rules_harms_nobody(place: str) -> None:
    async def misbehave(here: Serving, frames: bytes) -> None:
        reader, writer = await upgraded(here, place)
        writer.write(frames)
        writer.write_eof()
        async with asyncio.timeout(10):
            while await reader.read(1000):
                pass
        writer.close()

    async with provider_with() as provider, unharmed(f"elevenlabs.upstream={provider.url}") as here:
        await asyncio.gather(*(misbehave(here, frames) for frames in CLIENTS_FRAMES.values()))
        await here.until(lambda: not here.service.calls)


def masked(text: str) -> bytes:
    """A client's frame, with a mask of zeros."""
    data = text.encode()
    return b"\x81\xff" + len(data).to_bytes(8, "big") + bytes(4) + data


@pytest.mark.parametrize("size", [1_100_000, 12_000_000])
async def test_a_message_beyond_a_megabyte_closes_its_stream(size: int) -> None:
    """With 1009; what had come before it is a call that lost its connection."""
    async with unharmed() as here:
        reader, writer = await upgraded(here, "/twilio")
        writer.write(masked(twilio.start("MZ1", "CA1")))
        writer.write(masked(twilio.media("MZ1", "inbound", b"\xff" * 160, sequence=2, chunk=1, timestamp=0)))
        writer.write(masked("x" * size))
        async with asyncio.timeout(10):
            closing = await reader.readexactly(4)
        assert closing[0] == 0x88
        assert int.from_bytes(closing[2:4], "big") == 1009
        writer.transport.abort()
        assert live(await here.call()).cause == "disconnected"


async def upgraded(here: Serving, place: str) -> tuple[Reader, Writer]:
    """A raw connection on which a client's handshake has been accepted."""
    address = here.service.ingest
    reader, writer = await asyncio.open_connection(address.host, address.port)
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    writer.write(f"GET {place} HTTP/1.1\r\nHost: x\r\n{upgrade}{key}\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    return reader, writer


async def test_a_stream_that_is_opened_and_left_two_hundred_times_leaves_nothing() -> None:
    """Sockets that say `start` and are gone: every call is ended, none is kept."""
    async with unharmed("twilio.pairing_ms=0") as here:

        async def come_and_go(number: int) -> None:
            async with connect(here.url(), proxy=None) as socket:
                await socket.send(twilio.start(f"MZ{number}", f"CA{number}"))
                await socket.send(
                    twilio.media(f"MZ{number}", "inbound", b"\xff" * 160, sequence=2, chunk=1, timestamp=0)
                )
                socket.transport.abort()

        for begin in range(0, 200, 50):
            await asyncio.gather(*(come_and_go(number) for number in range(begin, begin + 50)))
        await here.until(lambda: here.service.gauges.calls_started and not here.service.calls)
        assert {live(call).cause for call in here.ended()} == {"disconnected"}
