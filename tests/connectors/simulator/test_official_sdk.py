"""The provider's own Python SDK talks to the simulated agent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from elevenlabs.client import ElevenLabs
from elevenlabs.conversational_ai.conversation import (
    AsyncAudioInterface,
    AsyncConversation,
    AudioInterface,
    Conversation,
)

from connectors.simulator.device import VirtualDevice
from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import Habits
from connectors.simulator.scripted_caller import ScriptedCaller
from connectors.simulator.wire_audio import piece
from tests.connectors.simulator.calls import CUT, HOURS, hosted

CHUNK_MS = 50


class Heard:
    """What an SDK handed to its application, which is the scenario's caller."""

    def __init__(self) -> None:
        self.device = VirtualDevice()
        self.caller = ScriptedCaller(CUT.caller, self.device)
        self.sent = 0
        self.audio = b""
        self.interrupted = 0
        self.audio_at_interruption = 0
        self.agent: list[str] = []
        self.corrections: list[tuple[str, str]] = []
        self.user: list[str] = []
        self.latencies: list[int] = []

    def speak(self) -> bytes:
        """The next chunk of the microphone."""
        self.sent += CHUNK_MS
        return self.caller.microphone(self.sent - CHUNK_MS, self.sent).tobytes()

    def output(self, audio: bytes) -> None:
        self.audio += audio
        self.device.play(self.sent, len(audio) / 32, None)

    def interrupt(self) -> None:
        self.interrupted += 1
        self.device.cut(self.sent, None)
        self.audio_at_interruption = len(self.audio)


class Microphone(AudioInterface):
    """A blocking audio interface whose microphone is the scenario's caller."""

    def __init__(self) -> None:
        self.heard = Heard()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, input_callback: Callable[[bytes], None]) -> None:
        def talk() -> None:
            while not self._stop.wait(CHUNK_MS / 1000):
                input_callback(self.heard.speak())

        self._thread = threading.Thread(target=talk, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def output(self, audio: bytes) -> None:
        self.heard.output(audio)

    def interrupt(self) -> None:
        self.heard.interrupt()


class AsyncMicrophone(AsyncAudioInterface):
    """The same for the asynchronous client."""

    def __init__(self) -> None:
        self.heard = Heard()
        self._talking: asyncio.Task[None] | None = None

    async def start(self, input_callback: Callable[[bytes], Awaitable[None]]) -> None:
        async def talk() -> None:
            while True:
                await asyncio.sleep(CHUNK_MS / 1000)
                await input_callback(self.heard.speak())

        self._talking = asyncio.create_task(talk())

    async def stop(self) -> None:
        if self._talking is not None:
            self._talking.cancel()

    async def output(self, audio: bytes) -> None:
        self.heard.output(audio)

    async def interrupt(self) -> None:
        self.heard.interrupt()


def converse(agent: ElevenLabsSimulator, signed: bool) -> Heard:
    """A whole conversation of the blocking client."""
    audio = Microphone()
    heard = audio.heard
    conversation = Conversation(
        ElevenLabs(api_key="a key", base_url=agent.base_url),
        "any",
        requires_auth=signed,
        audio_interface=audio,
        callback_agent_response=heard.agent.append,
        callback_agent_response_correction=lambda was, now: heard.corrections.append((was, now)),
        callback_user_transcript=heard.user.append,
        callback_latency_measurement=heard.latencies.append,
    )
    conversation.start_session()
    assert conversation.wait_for_session_end() == agent.calls[-1].conversation_id
    return heard


async def converse_async(agent: ElevenLabsSimulator, signed: bool) -> Heard:
    """A whole conversation of the asynchronous client."""
    audio = AsyncMicrophone()
    heard = audio.heard

    def keep(into: list[Any]) -> Callable[..., Awaitable[None]]:
        async def callback(*values: Any) -> None:
            into.append(values[0] if len(values) == 1 else values)

        return callback

    conversation = AsyncConversation(
        ElevenLabs(api_key="a key", base_url=agent.base_url),
        "any",
        requires_auth=signed,
        audio_interface=audio,
        callback_agent_response=keep(heard.agent),
        callback_agent_response_correction=keep(heard.corrections),
        callback_user_transcript=keep(heard.user),
        callback_latency_measurement=keep(heard.latencies),
    )
    await conversation.start_session()
    assert await conversation.wait_for_session_end() == agent.calls[-1].conversation_id
    return heard


@pytest.fixture(params=["blocking", "asynchronous"])
def client(request: pytest.FixtureRequest) -> Callable[[ElevenLabsSimulator, bool], Heard]:
    if request.param == "blocking":
        return converse
    return lambda agent, signed: asyncio.run(converse_async(agent, signed))


@pytest.mark.parametrize("signed", [False, True], ids=["public", "signed"])
def test_the_sdk_holds_a_whole_conversation(signed: bool, client: Callable[[ElevenLabsSimulator, bool], Heard]) -> None:
    with hosted(ElevenLabsSimulator(CUT, Habits(ping_every=100, late_ms=500), private=signed)) as agent:
        heard = client(agent, signed)
        record = agent.calls[-1]
    assert heard.agent == [line.text for line in CUT.agent]
    assert heard.user == ["(0.3 s of speech)"]
    assert heard.interrupted == 1
    assert heard.corrections[0][0] == HOURS
    assert HOURS.startswith(heard.corrections[0][1])
    assert record.pongs >= 3
    assert len(heard.latencies) >= 3
    # Late audio of the cut response came, and the SDK dropped it: what was played after the cut is the reply alone.
    assert heard.audio.startswith(piece("agent_hours", "pcm_16000", 0, 500))
    assert heard.audio[heard.audio_at_interruption :] == piece("agent_noted", "pcm_16000", 0, 300)
    assert record.close_code == 1000
    assert ("conversation_signature" in record.path) == signed


def test_what_the_caller_sent_arrives_to_the_sample() -> None:
    with hosted(ElevenLabsSimulator(CUT)) as agent:
        converse(agent, signed=False)
        assert agent.calls[0].caller_ms >= 700
        assert agent.calls[0].caller_ms % CHUNK_MS == 0


def test_a_text_client_gets_words_alone() -> None:
    words: list[str] = []
    with hosted(ElevenLabsSimulator(CUT)) as agent:
        conversation = Conversation(
            ElevenLabs(base_url=agent.base_url), "any", requires_auth=False, callback_agent_response=words.append
        )
        conversation.start_session()
        deadline = threading.Event()
        while not words:
            assert not deadline.wait(0.01)
        conversation.send_user_message("Where is my parcel?")
        conversation.wait_for_session_end()
        assert agent.calls[0].agent_ms == 0
    assert words == [line.text for line in CUT.agent]
