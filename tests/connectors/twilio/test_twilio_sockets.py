"""The simulator's carrier against the endpoint, over real sockets: calls, sample by sample, and their endings (B40)."""

from __future__ import annotations

import asyncio
import gc

import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from connectors.inputs import TRACKS, CallEnded, CallStarted
from connectors.simulator.twilio import TwilioCarrier
from connectors.simulator.twilio_frames import CarrierSettings
from connectors.twilio import TwilioSettings
from tests.connectors.twilio.phone import Wire, heard, stalls
from tests.connectors.twilio.station import AGENT, CALLER, assert_heard, station, tone


async def test_a_call_arrives_sample_by_sample() -> None:
    async with station() as here:
        placed = await TwilioCarrier(here.url, speed=None, parameters={"conversation_id": "c1"}).call(CALLER, AGENT)
        await here.over()
        started, ended = here.door.call[0], here.door.call[-1]
        assert isinstance(started, CallStarted)
        assert (started.call, started.source, started.labels) == (placed.call_sid, "twilio", {"conversation_id": "c1"})
        assert started.started_at is not None
        assert started.started_at.endswith("Z")
        assert isinstance(ended, CallEnded)
        assert (ended.cause, ended.at) == ("hangup", 3000)
        assert_heard(here.door.call)
        assert placed.closes == [(1000, "the call is over")]


@pytest.mark.parametrize(
    "settings",
    [
        CarrierSettings(duplicate=0.2),
        CarrierSettings(swap=0.2),
        CarrierSettings(drop_silence=True),
        CarrierSettings(payload_bytes=(1, 160, 37, 800)),
        CarrierSettings(hold_ms=233, hold_every_ms=1000),
    ],
    ids=["doubled", "swapped", "silence not sent", "odd payloads", "bursts"],
)
async def test_a_carrier_with_its_faults_changes_no_sample(settings: CarrierSettings) -> None:
    async with station() as here:
        speed = 10.0 if settings.hold_ms else None
        await TwilioCarrier(here.url, settings, speed=speed).call(CALLER, AGENT)
        await here.over()
        lines = {track: heard(here.door.call, track) for track in TRACKS}
        for track, pcm in zip(TRACKS, (CALLER, AGENT), strict=True):
            whole = np.frombuffer(pcm, "<i2")
            sounds = len(np.trim_zeros(whole, "b"))
            assert np.array_equal(lines[track][:sounds], whole[:sounds])
            assert not lines[track][sounds:].any()
            assert stalls(here.door.call, track) == []


async def test_loss_is_told_and_unknown() -> None:
    async with station() as here:
        await TwilioCarrier(here.url, CarrierSettings(loss=0.05, seed=4), speed=None).call(CALLER, AGENT)
        await here.over()
        lost = sum(notice.count for notice in here.door.notices("gap"))
        unknown = sum(until - at for track in TRACKS for at, until in stalls(here.door.call, track))
        assert lost > 5
        assert unknown == 20 * lost
        assert len(here.door.notices("gap")) <= 4
        line, whole = heard(here.door.call, "caller"), np.frombuffer(CALLER, "<i2")
        assert len(whole) - len(line) <= 800
        known = np.ones(len(line), bool)
        for at, until in stalls(here.door.call, "caller"):
            known[at * 8 : until * 8] = False
        assert np.array_equal(line[known], whole[: len(line)][known])


async def test_alaw_is_heard_as_alaw() -> None:
    async with station() as here:
        await TwilioCarrier(here.url, CarrierSettings(encoding="alaw"), speed=None).call(CALLER, AGENT)
        await here.over()
        started = here.door.call[0]
        assert isinstance(started, CallStarted)
        assert started.tracks["caller"].encoding == "alaw"
        error = heard(here.door.call, "caller").astype(int) - np.frombuffer(CALLER, "<i2")
        assert np.abs(error).max() <= 512


async def test_a_stream_for_each_track_is_one_call() -> None:
    async with station() as here:
        await TwilioCarrier(here.url, speed=10, separate=True).call(CALLER, AGENT)
        await here.over()
        ended = here.door.call[-1]
        assert isinstance(ended, CallEnded)
        assert ended.cause == "hangup"
        assert here.door.notices("one_way_audio") == []
        for track, pcm in zip(TRACKS, (CALLER, AGENT), strict=True):
            line = heard(here.door.call, track)
            assert np.count_nonzero(line) == np.count_nonzero(np.frombuffer(pcm, "<i2"))


async def test_one_track_alone_is_told() -> None:
    async with station(TwilioSettings(pairing_ms=100)) as here:
        await TwilioCarrier(here.url, CarrierSettings(tracks=("inbound",)), speed=None).call(CALLER, b"")
        await here.over()
        started = here.door.call[0]
        assert isinstance(started, CallStarted)
        assert list(started.tracks) == ["caller"]
        assert len(here.door.notices("one_way_audio")) == 1


async def test_fifty_calls_that_are_cut_off_leave_nothing_behind() -> None:
    # B40, over TCP resets.
    async with station(TwilioSettings(reconnect_grace_ms=500)) as here:
        carrier = TwilioCarrier(here.url, CarrierSettings(stop=False), speed=30, abort=True)
        await asyncio.gather(*(carrier.call(CALLER, AGENT) for _ in range(50)))
        await here.over(50)
        for inputs in here.door.calls:
            ended = inputs[-1]
            assert isinstance(ended, CallEnded)
            assert ended.cause == "disconnected"
            assert "1006" in str(ended.message)
        await here.until(lambda: not here.server.connections)
        await asyncio.sleep(0)
        gc.collect()
        assert len(asyncio.all_tasks()) <= 3


async def test_a_connection_that_comes_back_is_the_same_call() -> None:
    async with station() as here:
        pcm = tone(3)
        carrier = TwilioCarrier(here.url, speed=1, lost_at_ms=500, away_ms=600)
        await carrier.call(pcm, bytes(len(pcm)))
        await here.over()
        assert len(here.door.notices("reconnected")) == 1
        ((begin, end),) = stalls(here.door.call, "caller")
        assert abs(begin - 500) <= 60
        assert 500 <= end - begin <= 1000
        ended = here.door.call[-1]
        assert isinstance(ended, CallEnded)
        assert ended.cause == "hangup"


async def test_the_same_call_sid_again_has_an_id_of_its_own() -> None:
    async with station() as here:
        for number in (1, 2):
            await TwilioCarrier(here.url, speed=None).call(CALLER, AGENT, call_sid="CAagain")
            await here.over(number)
        names = [inputs[0].call for inputs in here.door.calls if isinstance(inputs[0], CallStarted)]
        assert names == ["CAagain", "CAagain-2"]


async def test_stopping_ends_every_call_and_closes_its_sockets() -> None:
    async with station() as here, connect(here.url, compression=None) as socket:
        wire = Wire()
        for message in [wire.start(), *wire.speech(0, 200)]:
            await socket.send(message)
        await here.until(lambda: bool(here.door.calls) and len(heard(here.door.call, "caller")) == 1600)
        here.calls.stop()
        ended = here.door.call[-1]
        assert isinstance(ended, CallEnded)
        assert ended.cause == "stopped"
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert (socket.close_code, socket.close_reason) == (1012, "the monitor is being stopped")


async def test_nothing_is_ever_sent_to_the_carrier() -> None:
    # Sending on a one-way stream is Twilio's error 31924.
    async with station() as here, connect(here.url, compression=None) as socket:
        wire = Wire()
        for message in [wire.start(), *wire.speech(0, 400), wire.stop()]:
            await socket.send(message)
        received = [message async for message in socket]
        assert received == []
