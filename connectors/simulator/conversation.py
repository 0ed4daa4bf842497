"""One conversation of the simulated ElevenLabs agent, on an accepted WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from connectors.simulator import client_messages, messages
from connectors.simulator.agent import (
    Action,
    AgentWords,
    CallerWords,
    Correct,
    Deliver,
    HangUp,
    Interrupt,
    ScriptedAgent,
)
from connectors.simulator.client_messages import BadMessage
from connectors.simulator.habits import Habits
from connectors.simulator.scenario import Scenario
from connectors.simulator.wire_audio import decoder, duration_ms, piece

TICK_S = 0.01
INITIATION_S = 0.3
"""How long the client's first message is waited for before the conversation starts without it."""

SCORE_EVERY = 200
OPEN_PINGS = 32

SCRIPTED_CALLER = "turnwatch_demo"
"""The `source` of the client whose words are known beforehand: the scenario's own caller."""


@dataclass
class Record:
    """What happened in a conversation, for whoever looks on. Times in ms of the conversation. `path`: with the query;
    `initiation`: the client's first message, None if it sent none; `pings`: sent; `pongs`: answered, `stray_pongs`: of
    an id that was not open; `interruptions`: when the client was told to stop; `agent_ms`, `caller_ms`: audio sent and
    received; `passed_over`: messages that change nothing here; `refused`: what the client sent that is no message;
    `close_code`: how the socket closed (1006: without a close frame), and `ended` is set then."""

    conversation_id: str
    path: str
    subprotocol: str | None = None
    initiation: dict[str, Any] | None = None
    pings: int = 0
    pongs: int = 0
    stray_pongs: int = 0
    interruptions: list[float] = field(default_factory=list)
    agent_ms: int = 0
    caller_ms: float = 0.0
    passed_over: int = 0
    refused: str | None = None
    close_code: int | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Conversation:
    """Runs `scenario` on `socket` and keeps `record`. `clock` gives ms and never goes back."""

    def __init__(
        self,
        socket: ServerConnection,
        scenario: Scenario,
        habits: Habits,
        record: Record,
        *,
        clock: Callable[[], float],
        seed: int = 0,
    ) -> None:
        self._socket, self._scenario, self._habits, self._record = socket, scenario, habits, record
        self._clock, self._zero, self._seed = clock, 0.0, seed
        self._decoder = decoder(habits.caller_format)
        self._agent = ScriptedAgent(scenario, habits, seed=seed)
        self._open_pings: dict[int, float] = {}
        self._round_trip: int | None = None

    async def run(self) -> None:
        """Returns when the socket is closed, from either side."""
        try:
            await self._converse()
        except* BadMessage as group:
            self._record.refused = str(group.exceptions[0])
            await self._socket.close(1008, self._record.refused)
        except* ConnectionClosed:
            pass
        await self._socket.wait_closed()
        self._record.close_code = self._socket.close_code
        self._record.ended.set()

    async def _converse(self) -> None:
        first = await self._await_initiation()
        self._zero = self._clock()
        if first is not None:
            self._take(first)
        habits = self._habits
        await self._send(messages.metadata(self._record.conversation_id, habits.agent_format, habits.caller_format))
        if habits.unknown_types:
            await self._send(messages.undescribed())
        async with asyncio.TaskGroup() as group:
            speaking = group.create_task(self._speak())
            group.create_task(self._listen(speaking))

    async def _await_initiation(self) -> dict[str, Any] | None:
        """The client's first message if it was another one: initiation is optional."""
        try:
            async with asyncio.timeout(INITIATION_S):
                first = client_messages.fields(await self._socket.recv())
        except TimeoutError:
            return None
        if first.get("type") != "conversation_initiation_client_data":
            return first
        self._record.initiation = first
        scripted = client_messages.part(first, "source_info").get("source") == SCRIPTED_CALLER
        self._agent = ScriptedAgent(
            self._scenario,
            self._habits,
            words=tuple(line.text for line in self._scenario.caller) if scripted else (),
            voice=not client_messages.is_text_only(first),
            seed=self._seed,
        )
        return None

    async def _speak(self) -> None:
        """Everything after the metadata is sent here, so that its order is the agent's."""
        next_ping = next_score = 0.0
        while True:
            now = self._now()
            if now >= next_ping:
                next_ping += self._habits.ping_every
                await self._ping(now)
            if now >= next_score:
                next_score += SCORE_EVERY
                await self._event("vad_score", messages.vad_score(1.0 if self._agent.hearing.open else 0.0))
            patience = self._habits.pong_within
            if patience is not None and any(now - sent > patience for sent in self._open_pings.values()):
                await self._socket.close(1002, "no pong within the time allowed")
                return
            for action in self._agent.advance(now):
                if isinstance(action, HangUp):
                    await self._end()
                    return
                await self._do(action)
            await asyncio.sleep(TICK_S)

    async def _do(self, action: Action) -> None:
        match action:
            case CallerWords(text, event):
                await self._event("user_transcript", messages.user_transcript(text, event))
            case AgentWords(text, event):
                await self._event("agent_response", messages.agent_response(text, event))
            case Deliver(line, start, end, event, last):
                data = piece(line.audio, self._habits.agent_format, start, end)
                extra: dict[str, Any] | None = {"shades": [[None]]} if self._habits.unknown_types else None
                self._record.agent_ms += end - start
                await self._event("audio", messages.audio(data, event, extra))
                if last:
                    await self._event("agent_response_complete", messages.agent_response_complete(event))
            case Interrupt(named):
                self._record.interruptions.append(self._now())
                await self._event("interruption", messages.interruption(named))
            case Correct(original, heard, event):
                correction = messages.agent_response_correction(original, heard, event)
                await self._event("agent_response_correction", correction)

    async def _ping(self, now: float) -> None:
        self._record.pings += 1
        self._open_pings[self._record.pings] = now
        if len(self._open_pings) > OPEN_PINGS:
            self._open_pings.pop(next(iter(self._open_pings)))
        figures: dict[str, dict[str, int | None]] = {
            "first": {"ping_ms": self._round_trip},
            "null": {"ping_ms": None},
            "absent": {},
        }
        await self._event("ping", messages.ping(self._record.pings, **figures[self._habits.ping_ms]))

    async def _end(self) -> None:
        habits = self._habits
        if habits.error is not None:
            await self._send(messages.error(habits.error, habits.end_code, habits.end_reason))
        if habits.torn:
            self._socket.transport.abort()
        else:
            await self._socket.close(habits.end_code, habits.end_reason)

    async def _listen(self, speaking: asyncio.Task[None]) -> None:
        try:
            async for message in self._socket:
                self._take(client_messages.fields(message))
        finally:
            speaking.cancel()

    def _take(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if "user_audio_chunk" in message:
            data = client_messages.caller_audio(message)
            self._record.caller_ms += duration_ms(data, self._habits.caller_format)
            (pcm,) = self._decoder.decode(data)
            self._agent.hearing.hear(self._now(), pcm)
        elif kind == "pong":
            event = message.get("event_id")
            sent = self._open_pings.pop(event, None) if isinstance(event, int) else None
            if sent is None:
                self._record.stray_pongs += 1
            else:
                self._record.pongs += 1
                self._round_trip = round(self._now() - sent)
        elif kind == "user_message":
            self._agent.type(self._now(), str(message.get("text", "")))
        elif kind in client_messages.PASSED_OVER:
            self._record.passed_over += 1
        else:
            raise BadMessage(f"invalid_message: unknown type {str(kind)[:40]}")

    async def _event(self, name: str, message: str) -> None:
        if name in self._habits.events:
            await self._send(message)

    async def _send(self, message: str) -> None:
        await self._socket.send(message)

    def _now(self) -> float:
        return self._clock() - self._zero
