"""The messages of an ElevenLabs conversation socket, both ways, read without ever failing.

The published contracts disagree in places and leave out more, so the reading is lenient: any message type may come,
numbers may be strings, fields may be missing or null. What a message means to a listener is one of the structs of
`elevenlabs_messages`; what means nothing is `Ignored`, what nobody has described is `Unknown`, and what cannot be read
is `Damaged`, with the reason.

Audio is the bulk of the traffic. It is tried first with a typed decoder, which checks the JSON and turns base64 into
bytes in one pass; whatever does not fit that goes through the lenient reading.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

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
    WordsKind,
)
from connectors.protocols.surrogates import without_halves

MAX_TEXT = 65_536
"""Characters of a text that are kept. More is no utterance."""

_MAX_ID = 1 << 53


class _AudioEvent(msgspec.Struct):
    audio_base_64: bytes
    event_id: int | None = None


class _AudioFrame(msgspec.Struct):
    user_audio_chunk: bytes | None = None
    audio_event: _AudioEvent | None = None
    type: str | None = None


_audio_frame = msgspec.json.Decoder(_AudioFrame)


def from_server(frame: str | bytes) -> Message:
    """What a frame from the provider says. Never raises."""
    audio = _audio(frame)
    if audio is not None and audio.type == "audio" and audio.audio_event is not None:
        return AgentAudio(audio.audio_event.audio_base_64, whole(audio.audio_event.event_id))
    fields = _fields(frame)
    if isinstance(fields, Damaged):
        return fields
    kind = fields.get("type")
    if not isinstance(kind, str):
        return Damaged("a message from the agent without a type")
    match kind:
        case "audio":
            event = _part(fields, "audio_event")
            data = _base64(event.get("audio_base_64"))
            return Damaged("an audio message without readable audio") if data is None else AgentAudio(data, _id(event))
        case "conversation_initiation_metadata":
            event = _part(fields, "conversation_initiation_metadata_event")
            return Metadata(
                _word(event.get("conversation_id")),
                _word(event.get("agent_output_audio_format")),
                _word(event.get("user_input_audio_format")),
            )
        case "user_transcript":
            return _words("transcript", _part(fields, "user_transcription_event"), "user_transcript")
        case "agent_response":
            return _words("response", _part(fields, "agent_response_event"), "agent_response")
        case "agent_response_correction":
            event = _part(fields, "agent_response_correction_event")
            return _words("correction", event, "corrected_agent_response")
        case "interruption":
            return Interruption(_id(_part(fields, "interruption_event")))
        case "ping":
            return Ping(_id(_part(fields, "ping_event")))
        case "error" | "client_error":
            event = _part(fields, "error_event")
            name = _word(event.get("error_type")) or _word(event.get("error_name"))
            return Failure(whole(event.get("code")), name, _word(event.get("message")))
    return Ignored(kind) if kind in IGNORED_FROM_SERVER else Unknown(kind[:60])


def from_client(frame: str | bytes) -> Message:
    """What a frame from the client says. Never raises."""
    audio = _audio(frame)
    if audio is not None and audio.user_audio_chunk is not None:
        return CallerAudio(audio.user_audio_chunk)
    fields = _fields(frame)
    if isinstance(fields, Damaged):
        return fields
    if "user_audio_chunk" in fields:
        data = _base64(fields["user_audio_chunk"])
        return Damaged("a user_audio_chunk without readable audio") if data is None else CallerAudio(data)
    kind = fields.get("type")
    if not isinstance(kind, str):
        return Damaged("a message from the client without a type")
    match kind:
        case "pong":
            return Pong(_id(fields))
        case "conversation_initiation_client_data":
            source = _part(fields, "source_info")
            override = _part(fields, "conversation_config_override")
            text_only = override.get("text_only") is True or _part(override, "conversation").get("text_only") is True
            return Initiation(_word(source.get("source")), _word(source.get("version")), text_only)
    return Ignored(kind) if kind in IGNORED_FROM_CLIENT else Unknown(kind[:60])


def whole(value: object) -> int | None:
    """A whole number, told as a number or as a string, within ±2^53; None for anything else."""
    if isinstance(value, str) and len(value) <= 20:
        try:
            value = int(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_ID:
        return None
    return value


def _audio(frame: str | bytes) -> _AudioFrame | None:
    try:
        return _audio_frame.decode(frame)
    except (ValueError, RecursionError):
        return None


def _fields(frame: str | bytes) -> Mapping[str, Any] | Damaged:
    try:
        fields = msgspec.json.decode(frame)
    except (ValueError, RecursionError):
        mended = without_halves(frame) if isinstance(frame, str) else None
        return Damaged("a frame that is not JSON") if mended is None else _fields(mended)
    return fields if isinstance(fields, dict) else Damaged("a frame that is not a JSON object")


def _part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}


def _id(fields: Mapping[str, Any]) -> int | None:
    return whole(fields.get("event_id"))


def _word(value: object) -> str | None:
    return value[:500] if isinstance(value, str) and value else None


def _words(kind: WordsKind, event: Mapping[str, Any], name: str) -> Message:
    text = event.get(name)
    return Words(kind, text[:MAX_TEXT], _id(event)) if isinstance(text, str) else Damaged(f"a {kind} without words")


def _base64(value: object) -> bytes | None:
    """Base64 in either alphabet, with or without padding and white space; None for anything else."""
    if not isinstance(value, str):
        return None
    text = "".join(value.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return binascii.a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError:
        return None
