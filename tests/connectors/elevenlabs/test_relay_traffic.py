"""What passes the relay: every message as it came and in order, and the words of the handshake."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.typing import Origin, Subprotocol

from connectors.inputs import Audio
from tests.connectors.elevenlabs.stage import (
    PATH,
    agent_audio,
    caller_audio,
    message,
    metadata,
    provider_with,
    receive_all,
    relay_to,
    tone,
    until,
)

STRANGE: list[str | bytes] = [
    '{"type":"audio"',
    "",
    "not json",
    "ü\u2028\U0001f600\x00",
    '{"a": 1,  "b":\t2}',
    b"",
    b"\x00\xff\xfe",
    b"{}",
]


async def test_every_message_passes_unchanged_both_ways_in_order_and_in_kind() -> None:
    sent_down = [metadata(), *STRANGE, agent_audio(tone(200)), "x" * 100_000]
    sent_up = [message("conversation_initiation_client_data"), *STRANGE, caller_audio(tone(250)), "y" * 100_000]

    async def script(connection: ServerConnection) -> None:
        for one in sent_down:
            await connection.send(one)
        await until(lambda: len(provider.received) == len(sent_up))
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage, stage.dial() as client:
        for one in sent_up:
            await client.send(one)
        assert await receive_all(client) == sent_down
        assert provider.received == sent_up


async def test_a_message_of_twelve_mebibytes_passes_and_is_watched() -> None:
    pcm = bytes(9 << 20)

    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        await connection.send(agent_audio(pcm))
        await until(lambda: provider.received)
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage, stage.dial() as client:
        await client.send("z" * (12 << 20))
        received = await receive_all(client)
        call = await stage.watchers.call()
        await call.end()
    assert received == [metadata(), agent_audio(pcm)]
    assert provider.received == ["z" * (12 << 20)]
    assert call.audio_ms("agent") == pytest.approx(len(pcm) / 32, abs=3)


async def test_the_handshake_passes_on_what_the_client_said_and_nothing_else() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        headers = {"Authorization": "Bearer t", "xi-api-key": "k", "Cookie": "c=1", "X-Forwarded-For": "1.2.3.4"}
        async with stage.dial(
            "agent_id=a%2Bb&source=js_sdk&x=%20",
            prefix="/router/t1",
            origin=Origin("https://shop.example"),
            user_agent_header="Mozilla/5.0",
            additional_headers=headers,
        ):
            request = provider.requests[0]
    assert request.path == f"{PATH}?agent_id=a%2Bb&source=js_sdk&x=%20"
    assert request.headers["Origin"] == "https://shop.example"
    assert request.headers["User-Agent"] == "Mozilla/5.0"
    assert request.headers["Authorization"] == "Bearer t"
    assert request.headers["xi-api-key"] == "k"
    assert request.headers["Host"] == provider.url.removeprefix("ws://")
    assert "Cookie" not in request.headers
    assert "X-Forwarded-For" not in request.headers


async def test_no_origin_and_no_user_agent_are_made_up() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage, stage.dial(user_agent_header=None):
        request = provider.requests[0]
    assert "Origin" not in request.headers
    assert "User-Agent" not in request.headers
    assert "Sec-WebSocket-Protocol" not in request.headers


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["convai", "bearer.x"], "convai"), (["bearer.x", "convai"], "convai"), (["other"], None), (None, None)],
)
async def test_the_subprotocol_is_the_one_that_upstream_chose(offered: list[str] | None, chosen: str | None) -> None:
    subprotocols = [Subprotocol(one) for one in offered] if offered else None
    async with provider_with() as provider, relay_to(provider.url) as stage:
        async with stage.dial(subprotocols=subprotocols) as client:
            assert client.subprotocol == chosen
        sent = provider.requests[0].headers.get("Sec-WebSocket-Protocol")
        assert sent == (", ".join(offered) if offered else None)


async def test_a_browser_gets_its_subprotocol_and_the_metadata_as_the_first_message() -> None:
    async def script(connection: ServerConnection) -> None:
        await until(lambda: provider.received)
        await connection.send(metadata())
        await connection.close(1000)

    browser = {
        "origin": Origin("https://shop.example"),
        "subprotocols": [Subprotocol("convai"), Subprotocol("bearer.token-1")],
        "compression": "deflate",
        "user_agent_header": "Mozilla/5.0",
    }
    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial("agent_id=a1&source=js_sdk&version=1.21.0", **browser) as client:
            assert client.subprotocol == "convai"
            await client.send(message("conversation_initiation_client_data"))
            assert await receive_all(client) == [metadata()]
        call = await stage.watchers.call()
    assert call.started.playout.name == "js_fade"
    assert call.started.labels == {"client": "js_sdk", "client_version": "1.21.0"}


async def test_a_client_that_does_not_read_slows_the_agent_down_and_nothing_piles_up() -> None:
    """The agent can send no more than the sockets' buffers hold while the client sleeps; then all of it arrives."""
    chunk, count = "x" * 500_000, 120
    sent = 0

    async def script(connection: ServerConnection) -> None:
        nonlocal sent
        await connection.send(metadata())
        for _ in range(count):
            await connection.send(chunk)
            sent += 1
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage, stage.reading_slowly() as client:
        assert await client.recv() == metadata()
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < count
        assert await receive_all(client) == [chunk] * count


async def test_small_messages_are_not_held_back_by_the_socket() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage, stage.dial():
        conversation = next(iter(stage.relay._calls))
        for leg in (conversation._client, conversation._server):
            raw = leg.transport.get_extra_info("socket")
            assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


async def test_compression_is_each_legs_own_business() -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        await connection.send(agent_audio(tone(100)))
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        for compression in ("deflate", None):
            async with stage.dial(compression=compression) as client:
                assert await receive_all(client) == [metadata(), agent_audio(tone(100))]


async def test_the_relays_own_delay_is_counted() -> None:
    async def script(connection: ServerConnection) -> None:
        for _ in range(10):
            await connection.send(metadata())
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        assert stage.relay.delays.quantile(0.5) is None
        async with stage.dial() as client:
            await receive_all(client)
        assert stage.relay.delays.count == 10
        assert (stage.relay.delays.quantile(0.5) or -1) > 0


async def test_two_conversations_do_not_mix() -> None:
    async def script(connection: ServerConnection) -> None:
        assert connection.request is not None
        name = connection.request.path.partition("agent_id=")[2]
        await connection.send(metadata(f"conv_{name}"))
        for n in range(20):
            await connection.send(json.dumps({"type": "audio", "name": name, "n": n}))
            await asyncio.sleep(0)
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial("agent_id=one") as one, stage.dial("agent_id=two") as two:
            for client, name in ((one, "one"), (two, "two")):
                received = [json.loads(text) for text in await receive_all(client)]
                assert [(text["name"], text["n"]) for text in received[1:]] == [(name, n) for n in range(20)]
        await (await stage.watchers.call(1)).end()
        assert {call.started.call for call in stage.watchers.calls} == {"conv_one", "conv_two"}


async def test_a_request_that_proves_to_be_no_websocket_leaves_nothing_open_upstream() -> None:
    gone = asyncio.Event()

    async def script(connection: ServerConnection) -> None:
        await connection.wait_closed()
        gone.set()

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        host, port = stage.url.removeprefix("ws://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"GET {PATH}?agent_id=a HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 99\r\n\r\n".encode()
        )
        assert b"400" in await reader.readline()
        writer.close()
        await asyncio.wait_for(gone.wait(), 10)
        assert stage.relay._opened == {}


async def test_audio_is_watched_with_its_responses() -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        await connection.send(agent_audio(tone(100), 5))
        await connection.send(agent_audio(tone(100), 6))
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with connect(f"{stage.url}{PATH}?agent_id=a") as client:
            await receive_all(client)
        call = await stage.watchers.call()
        await call.end()
    assert {piece.response for piece in call.of(Audio)} == {5, 6}
    assert call.audio_ms("agent") == pytest.approx(200, abs=3)
