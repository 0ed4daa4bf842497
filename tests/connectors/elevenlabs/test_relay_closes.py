"""The way either side closes, or breaks off, is the way the other side is closed and what the watchers are told."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.server import ServerConnection

from tests.connectors.elevenlabs.stage import (
    metadata,
    provider_with,
    receive_all,
    relay_to,
    until,
)


@pytest.mark.parametrize(
    ("code", "reason", "cause"),
    [
        (1000, "", "hangup"),
        (1000, "max duration", "hangup"),
        (1001, "", "hangup"),
        (1002, "LLM timeout", "failed"),
        (1008, "invalid agent", "failed"),
        (1011, "", "failed"),
        (4300, "queue", "failed"),
    ],
)
async def test_the_agents_close_reaches_the_client_and_the_watchers(code: int, reason: str, cause: str) -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        await connection.close(code, reason)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial() as client:
            assert await receive_all(client) == [metadata()]
            assert (client.close_code, client.close_reason) == (code, reason)
        ended = await (await stage.watchers.call()).end()
    assert ended.cause == cause
    assert ended.message is not None
    assert reason in ended.message
    assert (str(code) in ended.message) == (cause == "failed")


@pytest.mark.parametrize(("code", "reason"), [(1000, "User ended conversation"), (1008, "no"), (3001, "own")])
async def test_the_clients_close_reaches_the_agent(code: int, reason: str) -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial() as client:
            await client.recv()
            await client.send("last words")
            await client.close(code, reason)
        ended = await (await stage.watchers.call()).end()
        await until(lambda: provider.closes)
    assert provider.closes == [(code, reason)]
    assert provider.received == ["last words"]
    assert ended.cause == ("hangup" if code == 1000 else "failed")


async def test_a_connection_torn_by_the_agent_is_torn_for_the_client() -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        connection.transport.abort()

    async with provider_with(script) as provider, relay_to(provider.url) as stage, stage.dial() as client:
        assert await receive_all(client) == [metadata()]
        assert client.close_code == 1006
        ended = await (await stage.watchers.call()).end()
    assert (ended.cause, ended.message) == ("disconnected", "the connection to ElevenLabs broke without a close frame")


async def test_a_connection_torn_by_the_client_is_torn_for_the_agent() -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial() as client:
            await client.recv()
            client.transport.abort()
        ended = await (await stage.watchers.call()).end()
        await until(lambda: provider.closes)
    assert provider.closes[0][0] == 1006
    assert ended.cause == "disconnected"
    assert "the client" in (ended.message or "")


async def test_a_close_frame_without_a_code_breaks_the_other_side() -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        connection.transport.write(b"\x88\x00")

    async with provider_with(script) as provider, relay_to(provider.url) as stage, stage.dial() as client:
        await receive_all(client)
        assert client.close_code == 1006
        assert (await (await stage.watchers.call()).end()).cause == "hangup"


async def test_a_client_that_breaks_the_rules_of_websockets_is_told_and_the_agent_torn_off() -> None:
    async with provider_with() as provider, relay_to(provider.url) as stage:
        async with stage.dial() as client:
            client.transport.write(b"\x81\x82\x00\x00\x00\x00\xc3\x28")  # a text frame that is not UTF-8
            await receive_all(client)
            assert client.close_code == 1007
        ended = await (await stage.watchers.call()).end()
        await until(lambda: provider.closes)
    assert provider.closes[0][0] == 1006
    assert ended.cause == "disconnected"
    assert "1007" in (ended.message or "")


async def test_a_shutdown_of_the_relay_is_no_hangup_of_the_agent() -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        async with stage.dial() as client:
            await client.recv()
            closing = asyncio.create_task(stage.relay.close())
            await receive_all(client)
            await closing
            assert client.close_code == 1012
            assert stage.relay.calls == 0
        ended = await (await stage.watchers.call()).end()
    assert provider.closes[0][0] == 1012
    assert ended.cause == "stopped"
