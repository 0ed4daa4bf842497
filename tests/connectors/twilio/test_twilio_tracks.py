"""The two tracks of a call, one that is missing, and a stream for each (B38)."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from connectors.inputs import TrackFormat
from connectors.pcm import UnknownFormat
from connectors.protocols import twilio
from connectors.protocols.twilio_call import CallLimits, TwilioCall
from tests.connectors.twilio.phone import CALL, Phone, Wire, expected, interleaved


def test_both_tracks_of_one_stream_share_their_clock() -> None:
    # B38 (a): caller 0-2 s, agent 2.5-4.5 s, each sent only while it speaks.
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, [*wire.speech(0, 2000), *wire.speech(2500, 4500, "outbound"), wire.stop()])
    assert phone.started.tracks == {"caller": TrackFormat("mulaw", 8000), "agent": TrackFormat("mulaw", 8000)}
    assert np.array_equal(phone.heard("caller")[: 2000 * 8], expected([(0, 2000)]))
    assert not phone.heard("caller")[2000 * 8 :].any()
    assert np.array_equal(phone.heard("agent"), expected([(2500, 4500)]))
    assert phone.ended.at == 4500


def test_an_absent_track_follows_with_silence() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, wire.speech(0, 240))
    assert len(phone.heard("agent")) == 0
    phone.hear(stream, wire.speech(240, 4000))
    assert 4000 - 100 <= len(phone.heard("agent")) / 8 <= 4000 - 40
    assert not phone.heard("agent").any()
    assert phone.stalls("agent") == []
    phone.hear(stream, [*wire.speech(4000, 4020), *wire.speech(4000, 5000, "outbound")])
    assert np.array_equal(phone.heard("agent"), expected([(4000, 5000)]))
    assert phone.notices() == []


def test_an_absent_track_whose_messages_are_missing_is_unknown() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    texts = []
    for at in range(0, 3000, 20):
        texts += wire.speech(at, at + 20)
        agent = wire.speech(at, at + 20, "outbound")
        texts += agent if not 1000 <= at < 1600 else []
    phone.hear(stream, texts)
    assert phone.stalls("agent") == [(1000, 1600)]
    assert phone.stalls("caller") == []
    assert phone.count("gap") == 30
    assert np.array_equal(phone.heard("agent"), expected([(0, 1000), (1600, 3000)]))


def test_a_stream_of_the_caller_alone_says_so() -> None:
    # B38 (b): a bidirectional <Connect><Stream> carries inbound only.
    phone, wire = Phone(), Wire(tracks=("inbound",))
    stream = phone.join(wire)
    phone.hear(stream, wire.speech(0, 10_000), step_ms=20)
    assert list(phone.started.tracks) == ["caller"]
    (notice,) = phone.notices()
    assert (notice.kind, notice.track) == ("one_way_audio", "agent")
    assert notice.message.startswith("agent channel absent")
    assert '<Start><Stream track="both_tracks">' in notice.message
    assert np.array_equal(phone.heard(), expected([(0, 10_000)]))
    assert len(phone.heard("agent")) == 0


def test_a_promised_track_that_never_comes_is_told_and_then_unknown() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, wire.speech(0, 15_000), step_ms=20)
    (notice,) = phone.notices("one_way_audio")
    assert notice.track == "agent"
    ((begin, end),) = phone.stalls("agent")
    assert abs(begin - 10_000) <= 100
    assert abs(end - 15_000) <= 100


def test_a_start_that_does_not_name_its_tracks_has_those_that_come() -> None:
    phone, wire = Phone(), Wire()
    message = twilio.decode(wire.start()).start
    assert message is not None
    stream = phone.call.join(msgspec.structs.replace(message, tracks=None), 1, phone.clock)
    phone.hear(stream, interleaved(wire, 0, 1200), step_ms=10)
    assert list(phone.started.tracks) == ["caller", "agent"]
    assert np.array_equal(phone.heard("agent"), expected([(0, 1200)]))


def test_a_start_with_nothing_after_it_still_is_a_call() -> None:
    phone = Phone()
    stream = phone.join(Wire(tracks=()))
    phone.hear(stream, [Wire().stop()])
    assert list(phone.started.tracks) == ["caller"]
    assert (phone.ended.at, phone.ended.cause) == (0, "hangup")


def test_a_stream_for_each_track_is_one_call() -> None:
    phone = Phone()
    ears, mouth = Wire(tracks=("inbound",), sid="MZ1"), Wire(tracks=("outbound",), sid="MZ2")
    caller = phone.join(ears)
    phone.clock += 300
    agent = phone.join(mouth)
    for at in range(0, 3000, 20):
        phone.hear(agent, mouth.speech(at, at + 20, "outbound"), step_ms=10)
        phone.hear(caller, ears.speech(at + 300, at + 320), step_ms=10)
    assert list(phone.started.tracks) == ["caller", "agent"]
    phone.hear(caller, [ears.stop()])
    assert not phone.call.ended
    phone.hear(agent, [mouth.stop()])
    assert phone.ended.cause == "hangup"
    caller_line, agent_line = phone.heard("caller"), phone.heard("agent")
    offset = int(np.flatnonzero(caller_line)[0]) - int(np.flatnonzero(agent_line)[0])
    assert abs(offset / 8) <= 20
    assert phone.notices() == []


def test_a_second_stream_of_a_track_is_passed_over() -> None:
    phone = Phone()
    first, second = Wire(sid="MZ1"), Wire(sid="MZ2", tracks=("inbound",))
    one, two = phone.join(first), phone.join(second)
    for at in range(0, 1000, 20):
        phone.hear(one, interleaved(first, at, at + 20), step_ms=10)
        phone.hear(two, second.speech(at, at + 20))
    phone.hear(two, [second.stop()])
    phone.hear(one, [first.stop()])
    assert np.array_equal(phone.heard(), expected([(0, 1000)]))
    assert phone.count("duplicate") == 50
    assert phone.ended.cause == "hangup"


def test_the_track_of_a_stream_that_is_over_is_unknown() -> None:
    phone = Phone()
    ears, mouth = Wire(tracks=("inbound",), sid="MZ1"), Wire(tracks=("outbound",), sid="MZ2")
    caller, agent = phone.join(ears), phone.join(mouth)
    for at in range(0, 2000, 20):
        phone.hear(caller, ears.speech(at, at + 20), step_ms=20)
        phone.hear(agent, mouth.speech(at, at + 20, "outbound"))
    phone.hear(agent, [mouth.stop()])
    phone.hear(caller, ears.speech(2000, 6000), step_ms=20)
    ((begin, end),) = phone.stalls("agent")
    assert begin == 2000
    assert end >= 5000


def test_parameters_become_labels_and_the_agent() -> None:
    phone, wire = Phone(), Wire()
    phone.join(wire, parameters={"conversation_id": "conv_1", "agent_id": "agent_7"})
    assert phone.started.labels == {"conversation_id": "conv_1", "agent_id": "agent_7"}
    assert phone.started.agent_id == "agent_7"
    assert (phone.started.source, phone.started.call) == ("twilio", CALL)


@pytest.mark.parametrize(("encoding", "rate"), [("audio/opus", 8000), ("audio/x-l16", 4000), ("audio/x-mulaw", 0)])
def test_audio_that_cannot_be_read_is_refused_at_the_start(encoding: str, rate: int) -> None:
    call = TwilioCall(CALL, CallLimits())
    message = twilio.decode(Wire().start(encoding=encoding, sample_rate=rate)).start
    assert message is not None
    with pytest.raises(UnknownFormat):
        call.join(message, 1, 0)
