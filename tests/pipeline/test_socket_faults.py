"""Sockets that break, pings that must be answered, an analysis that fails: the real service (B40, B47, B48).

`tests/runtime/test_service.py` and `tests/connectors/twilio/test_twilio_sockets.py` have fifty calls that are cut off
(B40); `tests/connectors/elevenlabs/test_relay_refusals.py` a client that comes back after two refusals (B47).
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection

from connectors.inputs import Input
from connectors.simulator.caller import Caller, CallerReport
from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import Habits
from connectors.simulator.twilio import TwilioCarrier
from connectors.simulator.twilio_frames import CarrierSettings
from monitor.core import events
from monitor.core.call import CoreSettings
from monitor.core.events import Event
from monitor.runtime.hearing import CallMonitor
from tests.builders import of, sound, speech, voice
from tests.connectors.elevenlabs.stage import PATH, caller_audio, metadata, ping, provider_with
from tests.connectors.simulator.calls import ANSWER
from tests.pipeline.contract import check_envelopes
from tests.pipeline.conversations import on_the_wire
from tests.pipeline.hearing import ended_turns, live, notices
from tests.pipeline.serving import Serving, serving, upstream

CONVERSATION = f"{PATH}?agent_id=any"


async def talk(client: ClientConnection, seconds: float) -> None:
    """A caller that speaks without a pause, in chunks of 20 ms, at the speed of a microphone."""
    data, began = on_the_wire(voice(200), "pcm_16000"), time.monotonic()
    for number in range(round(seconds * 50)):
        at = number % 10 * 640
        await client.send(caller_audio(data[at : at + 640]))
        await asyncio.sleep(max(0.0, began + number * 0.02 - time.monotonic()))


@pytest.mark.parametrize(
    ("code", "reason", "cause", "shown"),
    [
        (None, "", "disconnected", "broke without a close frame"),
        (1008, "Invalid signature", "failed", "code 1008: Invalid signature"),
        (1011, "unknown_websocket_crash", "failed", "code 1011: unknown_websocket_crash"),
    ],
)
async def test_a_drop_in_a_word_closes_the_turn_and_shows_the_reason(
    code: int | None, reason: str, cause: str, shown: str
) -> None:
    """B47: the provider's socket ends while the caller speaks. The open turn is told, and why the call is over."""

    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        while len(provider.received) < 45:
            await asyncio.sleep(0.005)
        if code is None:
            connection.transport.abort()
        else:
            await connection.close(code, reason)

    async with provider_with(script) as provider, serving(f"elevenlabs.upstream={provider.url}") as here:
        async with connect(here.url(CONVERSATION), proxy=None) as client:
            assert await client.recv() == metadata()
            talking = asyncio.create_task(talk(client, 4))
            await client.wait_closed()
            assert client.close_code == (code or 1006)
            talking.cancel()
        call = await here.call()
    assert live(call).cause == cause
    (turn,) = ended_turns(call)
    assert turn.ended_by == "call_end"
    assert turn.end_ms > 600
    (closed,) = [event for event in of(call, "notice") if event.kind == "closed"]
    assert shown in closed.message


async def test_a_client_that_comes_back_is_a_new_call_of_its_own() -> None:
    """B47: a drop, and a second conversation with the provider's same id. Neither is told under the other's name."""

    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata("conv_1"))
        connection.transport.abort()

    async with provider_with(script) as provider, serving(f"elevenlabs.upstream={provider.url}") as here:
        for number in (1, 2):
            async with connect(here.url(CONVERSATION), proxy=None) as client:
                await client.wait_closed()
            await here.over(number)
        assert [live(call).cause for call in here.ended()] == ["disconnected", "disconnected"]
        assert list(here.told) == ["conv_1", "conv_1~2"]


async def conversation_with(agent: ElevenLabsSimulator, here: Serving) -> CallerReport:
    report = await Caller(ANSWER, limit_ms=20_000).call(here.url(CONVERSATION))
    async with asyncio.timeout(5):
        await agent.calls[0].ended.wait()
    return report


async def test_a_ping_of_any_shape_passes_untouched() -> None:
    """B48: ping 41 with ping_ms 50, and one that lacks it, reach the client as they are; its pongs come back so."""
    pings = [ping(41, ping_ms=50), ping(42), ping(43, ping_ms=None), '{"type":"ping","ping_event":{}}']
    pongs = [json.dumps({"type": "pong", "event_id": number}) for number in (41, 42, 43, None)]

    async def script(connection: ServerConnection) -> None:
        for frame in (metadata(), *pings):
            await connection.send(frame)
        while len(provider.received) < len(pongs):
            await asyncio.sleep(0.005)
        await connection.close(1000)

    async with provider_with(script) as provider, serving(f"elevenlabs.upstream={provider.url}") as here:
        async with connect(here.url(CONVERSATION), proxy=None) as client:
            assert [await client.recv() for _ in range(5)] == [metadata(), *pings]
            for pong in pongs:
                await client.send(pong)
            await client.wait_closed()
        call = await here.call()
    assert provider.received == pongs
    assert notices(call) == {}


class Slow(CallMonitor):
    """Takes 2 ms for each input, as on a machine that is too busy."""

    def feed(self, given: Input) -> list[Event]:
        time.sleep(0.002)
        return super().feed(given)


class Failing(CallMonitor):
    """Fails at its fortieth input."""

    def __init__(self, settings: CoreSettings | None = None) -> None:
        super().__init__(settings)
        self._inputs = 0

    def feed(self, given: Input) -> list[Event]:
        self._inputs += 1
        if self._inputs == 40:
            raise ZeroDivisionError("a mistake of the program")
        return super().feed(given)


@pytest.mark.parametrize(("figure", "core"), [("first", CallMonitor), ("absent", Slow)])
async def test_every_ping_is_answered_with_its_own_id(figure: Any, core: type[CallMonitor]) -> None:
    """B48: a ping every 40 ms (for a minute, if they came every 2 s), with and without `ping_ms`; the provider closes
    when a pong is late. The relay passes both on, even while the core is busy, and answers none itself."""
    habits = Habits(ping_every=40, ping_ms=figure, pong_within=1500)
    async with ElevenLabsSimulator(ANSWER, habits) as agent, serving(upstream(agent), new_core=core) as here:
        report = await conversation_with(agent, here)
        call = await here.call()
    record = agent.calls[0]
    assert (report.close_code, record.close_code, record.refused) == (1000, 1000, None)
    assert record.pings >= 30
    assert record.pings - record.pongs <= 2, "those on their way when the call ended"
    assert record.stray_pongs == 0
    assert live(call).cause == "hangup"


async def test_a_core_that_fails_in_mid_call_leaves_the_conversation_whole() -> None:
    """The analysis dies in the middle of the call: it is told, that call ends for the watchers, and the caller hears
    what it would have heard."""
    async with ElevenLabsSimulator(ANSWER) as agent, ElevenLabsSimulator(ANSWER) as other:
        calling = asyncio.create_task(Caller(ANSWER, limit_ms=20_000).call(f"{other.url}?agent_id=any"))
        one = Serving((upstream(agent),), None, Failing)
        await one.service.start()
        try:
            report = await conversation_with(agent, one)
            call = await one.call()
        finally:
            await one.service.stop()
        alone = await calling
    assert report.close_code == alone.close_code == 1000
    assert report.frames.keys() == alone.frames.keys()
    assert [round(span.end - span.start) for span in report.heard] == [
        round(span.end - span.start) for span in alone.heard
    ]
    check_envelopes([event.as_dict() for event in call])
    assert live(call).cause == "failed"
    assert [event.kind for event in call if isinstance(event, events.Notice)][-1] == "failed"


async def test_one_call_that_fails_does_not_take_the_others_along() -> None:
    """A media stream and a conversation; the stream's core fails, and the conversation is watched to its end."""
    cores = iter([CallMonitor, Failing, CallMonitor])

    def new_core(settings: CoreSettings) -> CallMonitor:
        kind: type[CallMonitor] = next(cores)
        return kind(settings)

    pcm = sound([speech("caller", 500, 1500)], 3000)
    async with ElevenLabsSimulator(ANSWER) as agent:
        one = Serving((upstream(agent),), None, new_core)
        await one.service.start()
        try:
            await TwilioCarrier(one.url(), CarrierSettings(), speed=None).call(pcm["caller"], pcm["agent"])
            await one.over()
            await conversation_with(agent, one)
            first, second = await one.over(2)
        finally:
            await one.service.stop()
    assert (live(first).cause, live(second).cause) == ("failed", "hangup")
    assert len(ended_turns(second)) == 3
