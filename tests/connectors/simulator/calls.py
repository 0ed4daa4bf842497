"""Calls to a simulated agent, for the tests of it: short scenarios, a client that keeps every frame, a host thread."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from connectors.simulator.caller import Caller, CallerReport
from connectors.simulator.conversation import Record
from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import Habits
from connectors.simulator.scenario import AfterAgent, AfterCaller, AgentLine, AtTime, CallerLine, IntoAgent, Scenario

HOURS = "Our depot is open from eight to six, Monday to Saturday."

MONOLOGUE = Scenario(
    "monologue", "one line of 0.3 s", (AgentLine(AtTime(20), "agent_hours", HOURS, 300),), hang_up_ms=50
)

CUT = Scenario(
    "cut",
    "a barge-in, then an answer",
    (
        AgentLine(AtTime(20), "agent_hours", HOURS, 3000),
        AgentLine(AfterCaller(400), "agent_noted", "Got it, number twelve. I have told the driver.", 300),
    ),
    (CallerLine(IntoAgent(0, 100), "caller_mhm", "Mm-hm."),),
    yield_ms=200,
    hang_up_ms=50,
)

ANSWER = Scenario(
    "answer",
    "a line, an answer, a reply",
    (
        AgentLine(AtTime(20), "agent_hours", HOURS, 300),
        AgentLine(AfterCaller(400), "agent_noted", "Got it, number twelve. I have told the driver.", 300),
    ),
    (CallerLine(AfterAgent(0, 200), "caller_mhm", "Mm-hm."),),
    hang_up_ms=50,
)


@dataclass
class Played:
    """A call as both sides saw it."""

    report: CallerReport
    record: Record


async def play(scenario: Scenario, habits: Habits | None = None, **options: Any) -> Played:
    """The scenario's own caller calls the simulated agent."""
    async with ElevenLabsSimulator(scenario, habits) as agent:
        report = await Caller(scenario, limit_ms=20_000, **options).call(f"{agent.url}?agent_id=any")
        await ended(agent)
        return Played(report, agent.calls[0])


async def ended(agent: ElevenLabsSimulator) -> Record:
    """The first call's record, once the agent's side has closed it."""
    async with asyncio.timeout(5):
        await agent.calls[0].ended.wait()
    return agent.calls[0]


async def frames(agent: ElevenLabsSimulator, *sent: str) -> list[dict[str, Any]]:
    """Everything the agent sends to a client that says `sent` and then only listens."""
    async with connect(f"{agent.url}?agent_id=any", max_size=None) as socket:
        return await listen(socket, *sent)


async def listen(socket: ClientConnection, *sent: str) -> list[dict[str, Any]]:
    """Sends, and then takes every message until the agent closes with 1000."""
    for message in sent:
        await socket.send(message)
    return [json.loads(message) async for message in socket]


def of_type(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The bodies of the messages of one type."""
    found = [message for message in messages if message["type"] == kind]
    return [next(body for name, body in message.items() if name != "type") for message in found]


@contextmanager
def hosted(agent: ElevenLabsSimulator) -> Iterator[ElevenLabsSimulator]:
    """Serves `agent` from a thread of its own, for clients that block."""
    ready = threading.Event()
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        async with agent:
            done = asyncio.Event()
            loops.append((asyncio.get_running_loop(), done))
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(5)
    try:
        yield agent
    finally:
        loop, done = loops[0]
        loop.call_soon_threadsafe(done.set)
        thread.join(5)
