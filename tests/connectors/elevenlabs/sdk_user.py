"""A user of the official Python SDK: holds a conversation, and remembers all that the SDK gave it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from elevenlabs import ElevenLabs
from elevenlabs.conversational_ai.conversation import (
    AsyncAudioInterface,
    AsyncConversation,
    AudioInterface,
    Conversation,
    DisconnectionDetails,
)

from tests.connectors.elevenlabs.stage import (
    tone,
)

CAPTURED = [tone(250), tone(250)[::-1], bytes(8000)]
"""What the user's device takes up: it is sent as soon as the conversation begins."""


@dataclass
class Client:
    """What the SDK gave its user, in order."""

    happened: list[tuple[str, Any]] = field(default_factory=list)
    disconnection: DisconnectionDetails | None = None

    def note(self, kind: str) -> Callable[..., None]:
        return lambda *values: self.happened.append((kind, values))

    def note_async(self, kind: str) -> Callable[..., Awaitable[None]]:
        async def note(*values: Any) -> None:
            self.happened.append((kind, values))

        return note

    def disconnected(self, details: DisconnectionDetails) -> None:
        self.disconnection = details

    async def disconnected_async(self, details: DisconnectionDetails) -> None:
        self.disconnection = details


class Device(AudioInterface):
    def __init__(self, client: Client) -> None:
        self.client = client

    def start(self, input_callback: Callable[[bytes], None]) -> None:
        for pcm in CAPTURED:
            input_callback(pcm)

    def stop(self) -> None:
        pass

    def output(self, audio: bytes) -> None:
        self.client.happened.append(("audio", (audio,)))

    def interrupt(self) -> None:
        self.client.happened.append(("interrupt", ()))


class AsyncDevice(AsyncAudioInterface):
    def __init__(self, client: Client) -> None:
        self.client = client

    async def start(self, input_callback: Callable[[bytes], Awaitable[None]]) -> None:
        for pcm in CAPTURED:
            await input_callback(pcm)

    async def stop(self) -> None:
        pass

    async def output(self, audio: bytes) -> None:
        self.client.happened.append(("audio", (audio,)))

    async def interrupt(self) -> None:
        self.client.happened.append(("interrupt", ()))


async def hold_sync(base_url: str, *, signed: bool = False) -> Client:
    """A whole conversation with `Conversation`, until the other side closes."""
    client = Client()
    conversation = Conversation(
        ElevenLabs(api_key="key-1", base_url=base_url),
        "agent-1",
        requires_auth=signed,
        audio_interface=Device(client),
        callback_agent_response=client.note("response"),
        callback_agent_response_correction=client.note("correction"),
        callback_user_transcript=client.note("transcript"),
        callback_latency_measurement=client.note("latency"),
        callback_disconnect=client.disconnected,
    )
    await asyncio.to_thread(conversation.start_session)
    client.note("id")(await asyncio.to_thread(conversation.wait_for_session_end))
    return client


async def hold_async(base_url: str, *, signed: bool = False) -> Client:
    """A whole conversation with `AsyncConversation`, until the other side closes."""
    client = Client()
    conversation = AsyncConversation(
        ElevenLabs(api_key="key-1", base_url=base_url),
        "agent-1",
        requires_auth=signed,
        audio_interface=AsyncDevice(client),
        callback_agent_response=client.note_async("response"),
        callback_agent_response_correction=client.note_async("correction"),
        callback_user_transcript=client.note_async("transcript"),
        callback_latency_measurement=client.note_async("latency"),
        callback_disconnect=client.disconnected_async,
    )
    await conversation.start_session()
    client.note("id")(await conversation.wait_for_session_end())
    return client
