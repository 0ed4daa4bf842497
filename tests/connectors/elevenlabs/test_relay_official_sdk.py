"""The official Python SDK holds its conversations through the relay and notices nothing of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from elevenlabs import ElevenLabs
from elevenlabs.conversational_ai.conversation import (
    AsyncConversation,
    DisconnectionDetails,
)
from websockets.asyncio.server import ServerConnection

from connectors.inputs import Audio, Cut, Text
from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import Habits
from tests.connectors.elevenlabs.sdk_user import CAPTURED, AsyncDevice, Client, hold_async, hold_sync
from tests.connectors.elevenlabs.stage import (
    Provider,
    Watched,
    agent_audio,
    interruption,
    message,
    metadata,
    ping,
    provider_with,
    relay_to,
    tone,
    until,
)

SPOKEN = [tone(250), tone(500)[: 2 * 4321], tone(120), tone(700)]


Hold = Callable[..., Awaitable[Client]]
BOTH = pytest.mark.parametrize("hold", [hold_sync, hold_async])


def agent_of(provider: Callable[[], Provider], end: Callable[[ServerConnection], Awaitable[None]]) -> Any:
    """An agent that answers, is interrupted, sends a late piece, goes on, and asks for pongs all the while."""

    async def script(connection: ServerConnection) -> None:
        received = provider().received
        await until(lambda: len(received) > len(CAPTURED))
        await connection.send(metadata("conv_sdk"))
        await connection.send(message("agent_response", agent_response_event={"agent_response": "one", "event_id": 1}))
        await connection.send(agent_audio(SPOKEN[0], 1))
        await connection.send(ping(41, ping_ms=50))
        await connection.send(agent_audio(SPOKEN[1], 1))
        await connection.send(
            message("user_transcript", user_transcription_event={"user_transcript": "stop", "event_id": 2})
        )
        await connection.send(interruption(1))
        await connection.send(agent_audio(SPOKEN[2], 1))
        correction = {"original_agent_response": "one", "corrected_agent_response": "o", "event_id": 1}
        await connection.send(message("agent_response_correction", agent_response_correction_event=correction))
        await connection.send(message("something_new", body={"x": None}))
        await connection.send(agent_audio(SPOKEN[3], 2))
        for number in range(42, 60):
            await connection.send(ping(number, **({"ping_ms": None} if number % 2 else {"ping_ms": 3})))
            await until(lambda: json.loads(received[-1]).get("event_id") == number)  # noqa: B023 - awaited at once
        await end(connection)

    return script


async def close_normally(connection: ServerConnection) -> None:
    await connection.close(1000)


async def converse(
    hold: Hold, *, relayed: bool, signed: bool, end: Any = close_normally
) -> tuple[Client, Provider, Any]:
    """One conversation with or without the relay. -> what the SDK gave, what the provider got, and the watched call."""
    async with provider_with(agent_of(lambda: provider, end)) as provider:
        provider.signed_url = f"{provider.url}/v1/convai/conversation?agent_id=agent-1&conversation_signature=s%2Bx%3D"
        if not relayed:
            return await hold(provider.base_url, signed=signed), provider, None
        async with relay_to(provider.url) as stage:
            client = await hold(stage.base_url + "/t1/", signed=signed)
            call = await stage.watchers.call()
            await call.end()
            return client, provider, call


@BOTH
@pytest.mark.parametrize("signed", [False, True])
async def test_a_whole_conversation_is_the_same_with_and_without_the_relay(hold: Hold, signed: bool) -> None:
    direct, told_directly, _ = await converse(hold, relayed=False, signed=signed)
    relayed, told, call = await converse(hold, relayed=True, signed=signed)
    assert relayed.happened == direct.happened
    assert relayed.disconnection == direct.disconnection
    assert told.received == told_directly.received
    assert [request.path for request in told.requests] == [request.path for request in told_directly.requests]
    heard = [values[0] for kind, values in relayed.happened if kind == "audio"]
    assert heard == [SPOKEN[0], SPOKEN[1], SPOKEN[3]]
    assert ("interrupt", ()) in relayed.happened
    assert relayed.happened[-1] == ("id", ("conv_sdk",))
    assert relayed.disconnection is not None
    assert (relayed.disconnection.reason, relayed.disconnection.close_code) == ("agent", 1000)
    the_watched(call)


def the_watched(call: Watched) -> None:
    started = call.started
    assert (started.call, started.agent_id, started.playout.name) == ("conv_sdk", "agent-1", "py_interface")
    assert started.labels["client"] == "python_sdk"
    assert [cut.response for cut in call.of(Cut)] == [1]
    assert [(text.track, text.text) for text in call.of(Text)] == [("agent", "one"), ("caller", "stop"), ("agent", "o")]
    pcm = {n: sum(len(audio.pcm) for audio in call.of(Audio) if audio.response == n) / 16 for n in (1, 2)}
    assert pcm[1] == pytest.approx(250 + 4321 / 16 + 120, abs=6)
    assert pcm[2] == pytest.approx(700, abs=6)
    assert call.notices() == {"unknown_event": 1}


@BOTH
@pytest.mark.parametrize(("code", "reason"), [(1000, "bye"), (1002, "LLM timeout"), (1008, "no"), (1011, "")])
async def test_the_sdk_is_told_the_same_close_through_the_relay(hold: Hold, code: int, reason: str) -> None:
    async def end(connection: ServerConnection) -> None:
        await connection.close(code, reason)

    direct, _, _ = await converse(hold, relayed=False, signed=False, end=end)
    relayed, _, _ = await converse(hold, relayed=True, signed=False, end=end)
    assert relayed.disconnection == direct.disconnection
    assert relayed.disconnection is not None
    assert (relayed.disconnection.close_code, relayed.disconnection.close_reason) == (code, reason)


@BOTH
async def test_the_sdk_is_told_of_a_torn_connection(hold: Hold) -> None:
    async def end(connection: ServerConnection) -> None:
        connection.transport.abort()

    relayed, _, call = await converse(hold, relayed=True, signed=False, end=end)
    assert relayed.disconnection is not None
    assert (relayed.disconnection.reason, relayed.disconnection.close_code) == ("error", 1006)
    assert (await call.end()).cause == "disconnected"


async def test_the_user_hangs_up() -> None:
    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata("conv_sdk"))

    client = Client()
    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        conversation = AsyncConversation(
            ElevenLabs(base_url=stage.base_url),
            "agent-1",
            requires_auth=False,
            audio_interface=AsyncDevice(client),
            callback_disconnect=client.disconnected_async,
        )
        await conversation.start_session()
        call = await stage.watchers.call()
        await until(lambda: conversation._conversation_id)
        await conversation.end_session()
        assert await conversation.wait_for_session_end() == "conv_sdk"
        ended = await call.end()
        await until(lambda: provider.closes)
    assert provider.closes == [(1000, "")]
    assert ended.cause == "hangup"
    assert client.disconnection == DisconnectionDetails(reason="user")


async def test_a_conversation_in_text_has_no_tracks() -> None:
    async def script(connection: ServerConnection) -> None:
        await until(lambda: provider.received)
        await connection.send(metadata("conv_text"))
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        conversation = AsyncConversation(ElevenLabs(base_url=stage.base_url), "agent-1", requires_auth=False)
        await conversation.start_session()
        await conversation.wait_for_session_end()
        call = await stage.watchers.call()
        await call.end()
    assert call.started.tracks == {}
    assert call.notices() == {"text_only": 1}


@BOTH
async def test_a_private_simulated_agent_is_talked_to_through_the_relay(hold: Hold) -> None:
    habits = Habits(end_at=1500, ping_every=200, pong_within=1000)
    async with ElevenLabsSimulator(habits=habits, private=True, api_key="key-1") as agent:
        async with relay_to(agent.url.removesuffix("/v1/convai/conversation")) as stage:
            client = await hold(stage.base_url, signed=True)
            call = await stage.watchers.call()
            await call.end()
        (record,) = agent.calls
    assert record.close_code == 1000
    assert record.pongs >= 5
    assert client.disconnection is not None
    assert client.disconnection.reason == "agent"
    heard = sum(len(values[0]) for kind, values in client.happened if kind == "audio") / 32
    assert heard == record.agent_ms
    assert call.audio_ms("agent") == pytest.approx(heard, abs=6)
    assert call.started.call == record.conversation_id
    assert call.notices() == {}
