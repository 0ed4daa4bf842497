"""Streams that hang, are lost or come back, and how a call ends (B40, B44, B46)."""

from __future__ import annotations

import time
from unittest.mock import patch

import numpy as np
import pytest

from connectors.inputs import Elapsed
from connectors.protocols.twilio_call import CallLimits
from tests.connectors.twilio.phone import Phone, Wire, expected, interleaved


@pytest.mark.parametrize("restarts", [True, False], ids=["time stamps restart", "time stamps go on"])
def test_a_stream_that_comes_back_is_the_same_call(restarts: bool) -> None:
    # B46: gone at 20.0 s, back at 28.0 s, caller speaks in the new stream's 1.0-2.0 s: 29.0-30.0 s of the call.
    phone, wire = Phone(CallLimits(reconnect_grace_ms=10_000)), Wire()
    stream = phone.join(wire)
    phone.hear(stream, interleaved(wire, 0, 20_000), step_ms=10)
    phone.lose(stream)
    phone.wait(8000)
    assert not phone.call.ended
    again = Wire(sid="MZ2")
    zero = 0 if restarts else 28_000
    stream = phone.join(again)
    phone.hear(stream, interleaved(again, zero, zero + 3000), step_ms=10)
    phone.hear(stream, [again.stop()])
    assert phone.count("reconnected") == 1
    assert phone.count("stream_lost") == 1
    assert "8.0 s" in phone.notices("reconnected")[0].message
    for track in ("caller", "agent"):
        ((begin, end),) = phone.stalls(track)
        assert begin == 20_000
        assert abs(end - 28_000) <= 40
    line = phone.heard()
    assert abs(len(line) / 8 - 31_000) <= 40
    assert np.array_equal(line[-8000:], expected([(zero, zero + 3000)])[-8000:])
    assert phone.ended.cause == "hangup"


def test_a_new_socket_takes_over_from_one_that_hangs() -> None:
    phone, wire, again = Phone(), Wire(), Wire(sid="MZ2")
    hung = phone.join(wire)
    phone.hear(hung, interleaved(wire, 0, 5000), step_ms=10)
    phone.wait(3000)
    stream = phone.join(again)
    phone.hear(stream, interleaved(again, 0, 2000), step_ms=10)
    assert phone.count("reconnected") == 1
    assert abs(len(phone.heard()) / 8 - 10_000) <= 40
    phone.lose(hung)
    phone.hear(stream, [again.stop()])
    assert phone.ended.cause == "hangup"


def test_a_socket_lost_without_stop_ends_the_call_within_five_seconds() -> None:
    # B40, for 50 calls.
    for number in range(50):
        phone, wire = Phone(), Wire(call=f"CA{number}")
        stream = phone.join(wire)
        phone.hear(stream, interleaved(wire, 0, 3000), step_ms=10)
        phone.lose(stream)
        phone.wait(3900)
        assert not phone.call.ended
        phone.wait(200)
        assert (phone.ended.cause, phone.ended.at) == ("disconnected", 3000)
        assert "1006" in str(phone.ended.message)


def test_a_stop_while_another_stream_is_lost_hangs_up() -> None:
    phone = Phone()
    ears, mouth = Wire(tracks=("inbound",), sid="MZ1"), Wire(tracks=("outbound",), sid="MZ2")
    caller, agent = phone.join(ears), phone.join(mouth)
    phone.hear(caller, ears.speech(0, 1000), step_ms=20)
    phone.lose(agent)
    phone.hear(caller, [ears.stop()])
    assert phone.ended.cause == "hangup"


def test_when_nothing_comes_time_goes_on() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, interleaved(wire, 0, 3000), step_ms=10)
    phone.wait(1900)
    assert phone.notices() == []
    phone.wait(8100)
    (notice,) = phone.notices("stalled")
    assert notice.at == 3000
    for track in ("caller", "agent"):
        ((begin, end),) = phone.stalls(track)
        assert begin == 3000
        assert 12_000 <= end <= 13_000
    ticks = [given.at for given in phone.inputs if isinstance(given, Elapsed)]
    assert ticks == sorted(ticks)
    assert ticks[-1] >= 12_000
    assert len(ticks) <= 30
    phone.hear(stream, interleaved(wire, 13_000, 14_000), step_ms=10)
    for track in ("caller", "agent"):
        assert phone.stalls(track) == [(3000, 13_000)]  # type: ignore[arg-type]
    assert np.array_equal(phone.heard(), expected([(0, 3000), (13_000, 14_000)]))


def test_bursts_of_a_held_stream_lose_nothing() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    for begin in range(0, 10_000, 1000):
        phone.hear(stream, interleaved(wire, begin, begin + 760), step_ms=10)
        held = interleaved(wire, begin + 760, begin + 1000)
        phone.wait(233)
        phone.hear(stream, held)
    assert np.array_equal(phone.heard("caller"), expected([(0, 10_000)]))
    assert np.array_equal(phone.heard("agent"), expected([(0, 10_000)]))
    assert phone.notices() == []


def test_what_a_stall_has_passed_is_late() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, interleaved(wire, 0, 1000), step_ms=10)
    held = interleaved(wire, 1000, 6000)
    phone.wait(5000)
    phone.hear(stream, held)
    phone.hear(stream, [*interleaved(wire, 6000, 7000), wire.stop()], step_ms=10)
    assert phone.count("late_audio") > 100
    assert phone.count("clock_drift") == 0
    assert np.array_equal(phone.heard()[-8000:], expected([(6000, 7000)])[-8000:])
    assert len(phone.heard()) == 7000 * 8


def test_a_sender_whose_clock_stood_still_is_set_forward() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, interleaved(wire, 0, 1000), step_ms=10)
    phone.wait(5000)
    phone.hear(stream, interleaved(wire, 1000, 6000), step_ms=10)
    assert phone.count("clock_drift") == 1
    line = phone.heard()
    assert 9_500 <= len(line) / 8 <= 11_100
    assert np.array_equal(line[-3000 * 8 :], expected([(0, 6000)])[-3000 * 8 :])


def test_a_call_without_any_audio_is_given_up() -> None:
    phone = Phone(CallLimits(silent_limit_ms=20_000))
    phone.join(Wire())
    phone.wait(21_000)
    assert phone.ended.cause == "disconnected"
    assert "no audio" in str(phone.ended.message)


def test_a_call_is_stopped_with_the_program() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, wire.speech(0, 1000))
    phone.inputs += phone.call.stopped(phone.clock)
    assert (phone.ended.cause, phone.ended.at) == ("stopped", 1000)
    assert phone.call.stopped(phone.clock) == []


def test_the_wall_clock_may_jump() -> None:
    # B44: only the monotonic clock that is handed in counts.
    def events() -> list[object]:
        phone, wire = Phone(), Wire()
        stream = phone.join(wire)
        for at in range(0, 30_000, 1000):
            phone.hear(stream, interleaved(wire, at, at + 500), step_ms=10)
            phone.wait(500)
        phone.hear(stream, [wire.stop()])
        return list(phone.inputs)

    steady = events()
    hours = iter(range(10_000_000))
    with patch.object(time, "time", lambda: 1e9 - 3600.0 * next(hours)):
        assert events() == steady
