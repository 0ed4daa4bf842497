"""A live call over a socket, with all that a carrier does to it: its tape gives the same lines, byte for byte."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from connectors.simulator.rehearsal import rehearse
from connectors.simulator.scenario_demo import DEMO
from connectors.simulator.twilio_frames import CarrierSettings, lines
from monitor.core import events
from monitor.core.encode import encode
from monitor.runtime.watch import watch
from tests.runtime.running import running, settings

SECONDS = 25


@pytest.mark.parametrize(
    "carrier",
    [
        CarrierSettings(),
        CarrierSettings(loss=0.03, duplicate=0.02, swap=0.03, hold_ms=300),
        CarrierSettings(stop=False),
    ],
    ids=["clean", "lossy", "cut off"],
)
async def test_a_media_stream_is_heard_again_as_it_was(tmp_path: Path, carrier: CarrierSettings) -> None:
    call = rehearse(DEMO)
    caller, agent = (side[: SECONDS * 8000].tobytes() for side in (call.caller, call.agent))
    sent = lines(caller, agent, stream_sid="MZ1", call_sid="CA1", settings=carrier)
    async with running(settings("twilio.reconnect_grace_ms=100"), tape_dir=tmp_path) as one:
        async with connect(one.url("/twilio"), proxy=None) as socket:
            for number, line in enumerate(sent):
                await socket.send(line.text)
                if number % 100 == 0:
                    await asyncio.sleep(0)
        await one.until(events.CallEnded, within_s=20)
    live = [encode(event) for event in one.events]
    assert sum(isinstance(event, events.TurnEnded) for event in one.events) >= 4
    again = [encode(event) async for event in watch(f"tape:{tmp_path}/CA1.tape", speed=None)]
    assert again == live
