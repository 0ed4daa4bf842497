"""The demo's caller: a client of an ElevenLabs conversation as any other, with a scenario for a person.

It sends the microphone at the pace of the call, plays the agent on a device that makes no sound, clears it on an
interruption and answers pings. Pointed at the relay, it is what the relay sees of a real client.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from connectors.simulator.conversation import SCRIPTED_CALLER
from connectors.simulator.device import Heard, VirtualDevice
from connectors.simulator.scenario import Scenario
from connectors.simulator.scripted_caller import Said, ScriptedCaller
from connectors.simulator.wire_audio import duration_ms, pack, wire_rate

MAX_MESSAGE = 16 << 20


@dataclass
class CallerReport:
    """What the caller knows when the call is over; times in ms since its microphone opened. `heard`: one span for each
    of the agent's responses; `said`: its own lines; `frames`: how many messages came, by type; `close_code`: 1006 where
    the connection was torn."""

    conversation_id: str | None = None
    heard: list[Heard] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    frames: dict[str, int] = field(default_factory=dict)
    dropped_ms: float = 0.0
    unheard_ms: float = 0.0
    close_code: int | None = None


def _clock() -> float:
    return time.monotonic() * 1000


class Caller:
    """One call of `scenario`'s caller. `chunk_ms`: how much microphone a message holds (20 to 100 on real clients).
    `limit_ms`: it hangs up then, whatever happens."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        chunk_ms: int = 40,
        seed: int = 0,
        limit_ms: int = 180_000,
        clock: Callable[[], float] = _clock,
    ) -> None:
        self.report = CallerReport()
        self._device = VirtualDevice()
        self._person = ScriptedCaller(scenario.caller, self._device, seed=seed)
        self._chunk_ms, self._limit_ms, self._clock = chunk_ms, limit_ms, clock
        self._zero = 0.0
        self._agent_format = self._caller_format = "pcm_16000"

    async def call(self, url: str) -> CallerReport:
        """Calls the agent at `url` (`ws://…/v1/convai/conversation?agent_id=…`) and returns when the call is over.
        Raises `OSError` and `websockets.exceptions.InvalidHandshake` if nobody answers."""
        async with connect(url, subprotocols=[Subprotocol("convai")], max_size=MAX_MESSAGE, close_timeout=2) as socket:
            await socket.send(_initiation())
            opened = asyncio.Event()
            talking = asyncio.create_task(self._talk(socket, opened))
            try:
                async for message in socket:
                    await self._take(socket, json.loads(message), opened)
            except ConnectionClosed:
                pass
            finally:
                talking.cancel()
                await asyncio.gather(talking, return_exceptions=True)
        report = self.report
        report.heard, report.said = self._device.responses(), self._person.said
        report.dropped_ms, report.unheard_ms = self._device.dropped_ms, self._device.unheard_ms
        report.close_code = socket.close_code
        return report

    async def _take(self, socket: ClientConnection, message: dict[str, Any], opened: asyncio.Event) -> None:
        kind = str(message.get("type"))
        self.report.frames[kind] = self.report.frames.get(kind, 0) + 1
        match kind:
            case "conversation_initiation_metadata":
                event = message["conversation_initiation_metadata_event"]
                self.report.conversation_id = event["conversation_id"]
                self._agent_format = event["agent_output_audio_format"]
                self._caller_format = event["user_input_audio_format"]
                self._zero = self._clock()
                opened.set()
            case "audio":
                event = message["audio_event"]
                data = base64.b64decode(event["audio_base_64"])
                self._device.play(self._now(), duration_ms(data, self._agent_format), event["event_id"])
            case "interruption":
                self._device.cut(self._now(), message["interruption_event"].get("event_id"))
            case "ping":
                await socket.send(json.dumps({"type": "pong", "event_id": message["ping_event"]["event_id"]}))

    async def _talk(self, socket: ClientConnection, opened: asyncio.Event) -> None:
        """The microphone, from the metadata to the end of the call."""
        await opened.wait()
        self._person.rate = wire_rate(self._caller_format)
        sent = 0
        while sent < self._limit_ms:
            await asyncio.sleep(max(0.0, sent + self._chunk_ms - self._now()) / 1000)
            data = pack(self._person.microphone(sent, sent + self._chunk_ms), self._caller_format)
            sent += self._chunk_ms
            text = base64.b64encode(data).decode("ascii")
            await socket.send(json.dumps({"user_audio_chunk": text}))
        await socket.close(1000)

    def _now(self) -> float:
        return self._clock() - self._zero


def _initiation() -> str:
    """What a client sends first. Its `source` is nobody's whose device behaves in a way of its own."""
    return json.dumps(
        {
            "type": "conversation_initiation_client_data",
            "conversation_config_override": {},
            "custom_llm_extra_body": {},
            "dynamic_variables": {},
            "source_info": {"source": SCRIPTED_CALLER, "version": "1"},
        }
    )
