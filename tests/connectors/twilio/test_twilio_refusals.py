"""What the endpoint turns away, and what it counts and goes on with, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from connectors.base import ConnectorError
from connectors.inputs import CallEnded, CallStarted
from connectors.protocols import twilio
from connectors.simulator.twilio import TwilioCarrier
from connectors.twilio import TwilioSettings
from tests.connectors.twilio.phone import Wire, heard
from tests.connectors.twilio.station import AGENT, CALLER, station


async def test_signature_and_token_are_both_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "turnwatch.twilio")
    async with station(TwilioSettings(auth_token="sesame-auth", token="sesame-token")) as here:
        with pytest.raises(ConnectorError, match="403"):
            await TwilioCarrier(here.url, speed=None, token="sesame-token").call(CALLER, AGENT)
        with pytest.raises(ConnectorError, match="403"):
            await TwilioCarrier(here.url, speed=None, auth_token="wrong").call(CALLER, AGENT)
        for token in (None, "wrong", ""):
            carrier = TwilioCarrier(here.url, speed=None, auth_token="sesame-auth", token=token)
            placed = await carrier.call(CALLER, AGENT)
            ((code, reason),) = placed.closes
            assert code == 1008
            assert "token" in reason
        assert here.door.calls == []
        assert here.calls.refused == 3
        await TwilioCarrier(here.url, speed=None, auth_token="sesame-auth", token="sesame-token").call(CALLER, AGENT)
        await here.over()
        started = here.door.call[0]
        assert isinstance(started, CallStarted)
        assert started.labels == {}
        assert "refused" in caplog.text
        assert "sesame" not in caplog.text
        assert "sesame" not in repr(here.door.call)


@pytest.mark.parametrize(
    ("sent", "code", "reason"),
    [
        ([b"\x00\x01"], 1003, "text, not binary"),
        (["{"], 1008, "not a media-stream message"),
        (["x" * 70_000], 1008, "longer"),
        (['{"event":"connected"}'] * 20, 1008, "no start message among"),
        ([twilio.media("MZ1", "inbound", b"x", sequence=1, chunk=1, timestamp=0)] * 20, 1008, "no start message"),
        (['{"event":"start"}'], 1008, "no streamSid and callSid"),
        (['{"event":"start","start":{"call_sid":"CA1","stream_sid":"MZ1"}}'], 1008, "only Twilio's messages"),
        ([twilio.start("MZ1", "../../etc/passwd")], 1008, "no id"),
        ([twilio.start("MZ1", "C" * 500)], 1008, "no id"),
        ([twilio.start("MZ1", "CA1", encoding="audio/opus")], 1003, "not known"),
        ([twilio.start("MZ1", "CA1", sample_rate=4000)], 1003, "4000 Hz"),
        ([], 1008, "no start message came within 0.2 s"),
        (["x" * 2_000_000], 1009, ""),
    ],
)
async def test_a_socket_that_starts_no_stream_is_told_why(sent: list[str | bytes], code: int, reason: str) -> None:
    async with station(TwilioSettings(start_timeout_s=0.2)) as here, connect(here.url, compression=None) as socket:
        with contextlib.suppress(ConnectionClosed):
            for message in sent:
                await socket.send(message)
        await asyncio.wait_for(socket.wait_closed(), 5)
        assert socket.close_code == code
        assert reason in (socket.close_reason or "")
        assert here.door.calls == []
        assert len(here.calls) == 0


async def test_rubbish_inside_a_stream_is_counted_and_the_call_goes_on() -> None:
    async with station() as here, connect(here.url, compression=None) as socket:
        wire = Wire()
        speech = wire.speech(0, 400)
        rubbish: list[str | bytes] = [b"\xff", "{", "[]", "x" * 70_000, '{"event":"\\u0007news"}', wire.start()]
        for message in [wire.start(), *speech[:10], *rubbish, *speech[10:], wire.stop()]:
            await socket.send(message)
        await here.over()
        assert sum(notice.count for notice in here.door.notices("bad_payload")) == 4
        assert len(here.door.notices("unknown_event")) == 1
        assert len(here.door.notices("unexpected_start")) == 1
        assert len(heard(here.door.call, "caller")) == 400 * 8


async def test_a_message_beyond_all_bounds_ends_the_stream_cleanly() -> None:
    async with station(TwilioSettings(reconnect_grace_ms=100)) as here, connect(here.url, compression=None) as socket:
        wire = Wire()
        await socket.send(wire.start())
        await socket.send(wire.speech(0, 20)[0])
        await socket.send("x" * 2_000_000)
        await here.over()
        ended = here.door.call[-1]
        assert isinstance(ended, CallEnded)
        assert ended.cause == "disconnected"
        assert "1009" in str(ended.message)


async def test_too_many_calls_and_too_many_streams_are_turned_away() -> None:
    async with station(TwilioSettings(max_calls=1)) as here:
        sockets = []
        for number in range(9):
            socket = await connect(here.url, compression=None)
            await socket.send(Wire(sid=f"MZ{number}", call="CA1").start())
            sockets.append(socket)
        async with connect(here.url, compression=None) as other:
            await other.send(Wire(call="CA2").start())
            with pytest.raises(ConnectionClosed):
                await other.recv()
            assert other.close_code == 1013
        with pytest.raises(ConnectionClosed):
            await sockets[8].recv()
        assert "too many streams" in (sockets[8].close_reason or "")
        for socket in sockets:
            await socket.close()
