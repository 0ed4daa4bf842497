"""Reading the frames of a conversation socket: what is meant comes out, and nothing ever raises."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.protocols.elevenlabs import MAX_TEXT, from_client, from_server, whole
from connectors.protocols.elevenlabs_messages import (
    IGNORED_FROM_CLIENT,
    IGNORED_FROM_SERVER,
    AgentAudio,
    CallerAudio,
    Damaged,
    Failure,
    Ignored,
    Initiation,
    Interruption,
    Message,
    Metadata,
    Ping,
    Pong,
    Unknown,
    Words,
    audio_format,
)


def server(kind: str, **fields: Any) -> Message:
    text = json.dumps({"type": kind, "unknown_field": {"x": [1]}, **fields})
    assert from_server(text.encode()) == from_server(text)
    return from_server(text)


def client(**fields: Any) -> Message:
    text = json.dumps(fields)
    assert from_client(text.encode()) == from_client(text)
    return from_client(text)


@pytest.mark.parametrize("event_id", [7, "7", 7.0, " 7 "])
def test_audio_carries_its_bytes_and_the_id_of_its_response(event_id: object) -> None:
    data = base64.b64encode(b"\x01\x02\x03").decode()
    audio = server("audio", audio_event={"audio_base_64": data, "event_id": event_id, "alignment": None})
    assert audio == AgentAudio(b"\x01\x02\x03", 7)


@pytest.mark.parametrize("event_id", [None, "x", 7.5, True, [], 1e300, 2**60, "9" * 30])
def test_an_id_that_is_no_whole_number_is_none(event_id: object) -> None:
    assert server("audio", audio_event={"audio_base_64": "", "event_id": event_id}) == AgentAudio(b"", None)
    assert server("audio", audio_event={"audio_base_64": ""}) == AgentAudio(b"", None)


@pytest.mark.parametrize("text", ["AQID", "A Q\nID", "AQ", "AQ==", "_-8=", "_-8"])
def test_base64_is_read_in_both_alphabets_with_and_without_padding(text: str) -> None:
    standard = "".join(text.split()).replace("-", "+").replace("_", "/")
    expected = base64.b64decode(standard + "=" * (-len(standard) % 4))
    assert server("audio", audio_event={"audio_base_64": text, "event_id": 1}) == AgentAudio(expected, 1)
    assert client(user_audio_chunk=text) == CallerAudio(expected)


@pytest.mark.parametrize("data", [None, 5, [], {}, "a", "@@@@", "AQID!"])
def test_unreadable_audio_is_damaged(data: object) -> None:
    assert isinstance(server("audio", audio_event={"audio_base_64": data, "event_id": 1}), Damaged)
    assert isinstance(client(user_audio_chunk=data), Damaged)


@pytest.mark.parametrize("body", [{}, {"audio_event": None}, {"audio_event": 5}, {"audio_event": {}}])
def test_an_audio_message_without_the_payload_key_is_damaged(body: dict[str, Any]) -> None:
    assert isinstance(server("audio", **body), Damaged)


def test_metadata_tells_the_id_and_both_formats() -> None:
    event = {
        "conversation_id": "conv_1",
        "agent_output_audio_format": "pcm_24000",
        "user_input_audio_format": "ulaw_8000",
    }
    kind = "conversation_initiation_metadata"
    assert server(kind, conversation_initiation_metadata_event=event) == Metadata("conv_1", "pcm_24000", "ulaw_8000")
    assert server(kind, conversation_initiation_metadata_event={"conversation_id": 5}) == Metadata(None, None, None)
    assert server(kind) == Metadata(None, None, None)


def test_words_of_either_side() -> None:
    transcript = {"user_transcript": "hello", "event_id": 42}
    assert server("user_transcript", user_transcription_event=transcript) == Words("transcript", "hello", 42)
    response = {"agent_response": "hi"}
    assert server("agent_response", agent_response_event=response) == Words("response", "hi", None)
    correction = {"original_agent_response": "hi there", "corrected_agent_response": "hi", "event_id": "3"}
    assert server("agent_response_correction", agent_response_correction_event=correction) == Words(
        "correction", "hi", 3
    )
    assert isinstance(server("agent_response", agent_response_event={"agent_response": None}), Damaged)
    long = server("agent_response", agent_response_event={"agent_response": "x" * (MAX_TEXT + 5)})
    assert isinstance(long, Words)
    assert len(long.text) == MAX_TEXT


def test_interruptions_pings_and_errors() -> None:
    assert server("interruption", interruption_event={"event_id": 43}) == Interruption(43)
    assert server("interruption", interruption_event={"reason": "user"}) == Interruption(None)
    assert server("ping", ping_event={"event_id": 9, "ping_ms": None}) == Ping(9)
    assert server("ping") == Ping(None)
    error = {"code": 1002, "message": "slow", "error_type": "llm_timeout"}
    assert server("error", error_event=error) == Failure(1002, "llm_timeout", "slow")
    assert server("client_error", error_event={"error_name": "bad"}) == Failure(None, "bad", None)


def test_what_the_client_says() -> None:
    initiation = {
        "type": "conversation_initiation_client_data",
        "source_info": {"source": "python_sdk", "version": "2.78.0"},
        "conversation_config_override": {"text_only": True},
    }
    assert client(**initiation) == Initiation("python_sdk", "2.78.0", True)
    nested = {"conversation": {"text_only": True}}
    assert client(type=initiation["type"], conversation_config_override=nested) == Initiation(None, None, True)
    assert client(type=initiation["type"]) == Initiation(None, None, False)
    assert client(type="pong", event_id="9") == Pong(9)


def test_the_rest_is_ignored_if_known_and_told_if_not() -> None:
    assert all(server(kind) == Ignored(kind) for kind in IGNORED_FROM_SERVER)
    assert all(client(type=kind) == Ignored(kind) for kind in IGNORED_FROM_CLIENT)
    assert server("something_new") == Unknown("something_new")
    assert client(type="x" * 500) == Unknown("x" * 60)


@pytest.mark.parametrize(
    ("word", "is_read_as"),
    [
        ("pcm_16000", ("s16le", 16000)),
        ("pcm_44100", ("s16le", 44100)),
        ("ulaw_8000", ("mulaw", 8000)),
        ("opus_48000", None),
        ("pcm_", None),
        ("pcm", None),
        ("pcm_-1", None),
        ("pcm_1e9", None),
        ("pcm_9999999", None),
        ("pcm_٣", None),
        ("", None),
    ],
)
def test_formats(word: str, is_read_as: tuple[str, int] | None) -> None:
    assert audio_format(word) == is_read_as


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
BODIES = [
    "audio_event",
    "conversation_initiation_metadata_event",
    "user_transcription_event",
    "agent_response_event",
    "ping_event",
    "agent_response_correction_event",
    "interruption_event",
    "error_event",
    "source_info",
    "conversation_config_override",
]
KINDS = [
    "audio",
    "conversation_initiation_metadata",
    "user_transcript",
    "agent_response",
    "agent_response_correction",
    "interruption",
    "ping",
    "pong",
    "error",
    "client_error",
    "conversation_initiation_client_data",
]
FIELDS = [
    "audio_base_64",
    "event_id",
    "conversation_id",
    "agent_output_audio_format",
    "user_input_audio_format",
    "user_transcript",
    "code",
    "agent_response",
    "corrected_agent_response",
    "message",
    "error_type",
    "source",
    "version",
    "conversation",
    "text_only",
]


@given(st.binary(max_size=200) | st.text(max_size=200))
@example(b"[" * 100_000)
@example('{"type":"audio","audio_event":' * 5000)
@example('{"type":"\ud800"}')
@example(b'{"type":"ping","ping_event":{"event_id":' + b"9" * 5000 + b"}}")
def test_any_bytes_at_all_are_read_without_an_error(frame: str | bytes) -> None:
    assert isinstance(from_server(frame), Message)
    assert isinstance(from_client(frame), Message)


@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from(KINDS) | JSON},
        optional={"user_audio_chunk": JSON, "event_id": JSON}
        | {body: JSON | st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4) for body in BODIES},
    )
)
def test_hostile_values_in_known_messages_are_read_without_an_error(fields: dict[str, Any]) -> None:
    frame = json.dumps(fields)
    for message in (from_server(frame), from_client(frame), from_server(frame[: len(frame) // 2])):
        assert isinstance(message, Message)
        if isinstance(message, AgentAudio | Words | Interruption | Ping | Pong):
            number = getattr(message, "response", getattr(message, "id", None))
            assert number is None or abs(number) <= 2**53


@given(st.integers() | st.floats(allow_nan=True, allow_infinity=True) | st.text(max_size=30) | st.none())
def test_a_whole_number_is_small_enough_for_every_tape(value: object) -> None:
    number = whole(value)
    assert number is None or (type(number) is int and abs(number) <= 2**53)
