"""Twilio's messages are read as they come, by strings or numbers, and whatever else comes is refused plainly."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.inputs import TrackFormat
from connectors.protocols.twilio import BadMessage, MediaFormat, Start, decode, media, start, stop


def test_the_messages_of_twilios_page_are_read() -> None:
    assert decode('{"event":"connected","protocol":"Call","version":"1.0.0"}').event == "connected"
    message = decode(
        '{"event":"start","sequenceNumber":"1","streamSid":"MZ1","start":{"accountSid":"AC1","streamSid":"MZ1",'
        '"callSid":"CA1","tracks":["inbound","outbound"],"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,'
        '"channels":1},"customParameters":{"token":"t"}}}'
    )
    assert message.start is not None
    assert (message.start.call_sid, message.start.stream_sid) == ("CA1", "MZ1")
    assert message.start.carries == {"caller", "agent"}
    assert message.start.parameters == {"token": "t"}
    piece = decode(
        '{"event":"media","sequenceNumber":"3","streamSid":"MZ1","media":{"track":"inbound","chunk":"1",'
        '"timestamp":"5","payload":"/3+A"}}'
    )
    assert piece.sequence_number == 3
    assert piece.media is not None
    assert (piece.media.track, piece.media.chunk, piece.media.timestamp) == ("inbound", 1, 5)
    assert piece.media.payload == b"\xff\x7f\x80"
    for event in ("dtmf", "mark", "stop", "something-new"):
        assert decode(json.dumps({"event": event, event: {"name": 3}, "new": [1]})).event == event


def test_numbers_may_be_numbers_and_fields_may_be_missing() -> None:
    piece = decode('{"event":"media","sequenceNumber":3,"media":{"chunk":1,"timestamp":5,"track":null}}').media
    assert piece is not None
    assert (piece.chunk, piece.timestamp, piece.track, piece.payload) == (1, 5, None, None)
    piece = decode('{"event":"media","media":{"payload":""}}').media
    assert piece is not None
    assert (piece.chunk, piece.timestamp, piece.track, piece.payload) == (None, None, "inbound", b"")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "7",
        '"x"',
        '{"event":"media"',
        '{"event":7}',
        '{"event":"media","media":[]}',
        '{"event":"media","media":{"timestamp":"soon"}}',
        '{"event":"media","media":{"timestamp":1e300}}',
        '{"event":"media","media":{"timestamp":' + "9" * 5000 + "}}",
        '{"event":"media","media":{"payload":"a"}}',
        '{"event":"media","media":{"payload":"&&&&"}}',
        '{"event":"start","start":{"callSid":{}}}',
        '{"x":' * 50_000,
        '{"event":"\ud800"}',
    ],
)
def test_what_is_no_message_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(BadMessage) as refusal:
        decode(text)
    assert len(str(refusal.value)) <= 200
    assert "\n" not in str(refusal.value)


@settings(deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_random_text_is_a_message_or_refused(text: str) -> None:
    with contextlib.suppress(BadMessage):
        assert isinstance(decode(text).event, str)


@settings(deadline=None)
@given(st.integers(0, 400))
def test_truncated_messages_are_refused(cut: int) -> None:
    whole = media("MZ1", "inbound", bytes(160), sequence=4, chunk=2, timestamp=20)
    with pytest.raises(BadMessage):
        decode(whole[: min(cut, len(whole) - 1)])


def test_what_is_written_is_what_is_read() -> None:
    started = decode(start("MZ1", "CA1", tracks=("inbound",), encoding="audio/x-alaw", parameters={"a": "b"})).start
    assert started is not None
    assert (started.call_sid, set(started.carries), started.parameters) == ("CA1", {"caller"}, {"a": "b"})
    assert started.media_format == MediaFormat("audio/x-alaw")
    assert decode(stop("MZ1", "CA1", sequence=9)).event == "stop"
    text = media("MZ1", "outbound", b"\x00\x01", sequence=7, chunk=3, timestamp=40)
    assert json.loads(text)["media"] == {"track": "outbound", "chunk": "3", "timestamp": "40", "payload": "AAE="}


@pytest.mark.parametrize(
    ("wire", "ours"),
    [
        ("audio/x-mulaw", TrackFormat("mulaw", 8000)),
        ("PCMU", TrackFormat("mulaw", 8000)),
        ("audio/PCMA", TrackFormat("alaw", 8000)),
        ("audio/x-alaw;rate=8000", TrackFormat("alaw", 8000)),
        ("audio/x-l16", TrackFormat("pcm_s16le", 8000)),
    ],
)
def test_formats_have_our_names(wire: str, ours: TrackFormat) -> None:
    assert MediaFormat(wire).track_format == ours


def test_hostile_parameters_become_short_text() -> None:
    raw = {f"n{i}": "x" * 9000 for i in range(300)} | {"": None}
    parameters = Start(custom_parameters=raw).parameters
    assert len(parameters) == 99
    assert max(map(len, parameters.values())) == 500
    assert Start(custom_parameters={"a": 1, "b": None, "c": [1]}).parameters == {"a": "1", "b": "null", "c": "[1]"}
    assert Start(tracks=["inbound_track", "outbound", "sideways"]).carries == {"caller", "agent"}
