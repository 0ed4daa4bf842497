"""The messages an ElevenLabs conversation sends to its client, as JSON texts. Shapes: the provider's published
contracts and what its official Python SDK reads."""

from __future__ import annotations

import base64
import json
from typing import Any


def _frame(kind: str, body: str, **fields: Any) -> str:
    return json.dumps({"type": kind, body: fields}, separators=(",", ":"))


def metadata(conversation_id: str, agent_format: str, caller_format: str) -> str:
    """The first message, once a conversation."""
    return _frame(
        "conversation_initiation_metadata",
        "conversation_initiation_metadata_event",
        conversation_id=conversation_id,
        agent_output_audio_format=agent_format,
        user_input_audio_format=caller_format,
    )


def audio(data: bytes, event: int, extra: dict[str, Any] | None = None) -> str:
    """A piece of response `event`, in the agent's format."""
    text = base64.b64encode(data).decode("ascii")
    return _frame("audio", "audio_event", audio_base_64=text, event_id=event, **(extra or {}))


def user_transcript(text: str, event: int) -> str:
    """What the caller said."""
    return _frame("user_transcript", "user_transcription_event", user_transcript=text, event_id=event)


def agent_response(text: str, event: int) -> str:
    """What the agent is going to say."""
    return _frame("agent_response", "agent_response_event", agent_response=text, event_id=event)


def agent_response_correction(original: str, heard: str, event: int) -> str:
    """What was heard of a response that was cut."""
    return _frame(
        "agent_response_correction",
        "agent_response_correction_event",
        original_agent_response=original,
        corrected_agent_response=heard,
        event_id=event,
    )


def agent_response_complete(event: int) -> str:
    """The last audio of a response has been sent; it may play for long yet."""
    return _frame("agent_response_complete", "agent_response_complete_event", event_id=event)


def interruption(event: int | None) -> str:
    """The client must stop playing."""
    return _frame(
        "interruption", "interruption_event", **({"reason": "user"} if event is None else {"event_id": event})
    )


def ping(event: int, **figure: int | None) -> str:
    """`figure` is `ping_ms` (the last round trip, or None), or nothing."""
    return _frame("ping", "ping_event", event_id=event, **figure)


def vad_score(score: float) -> str:
    """How much the caller's audio is speech, 0 to 1."""
    return _frame("vad_score", "vad_score_event", vad_score=score)


def error(kind: str, code: int, message: str) -> str:
    """A failure, in either of the two published shapes: `error` or `client_error`."""
    name = {"error": "error_type", "client_error": "error_name"}[kind]
    reason = {1002: "llm_timeout", 1008: "override_error", 1011: "unknown_websocket_crash"}.get(code, "unknown")
    return _frame(kind, "error_event", **{"code": code, name: reason, "message": message})


def undescribed() -> str:
    """A message of a type that no contract knows."""
    return _frame("weather_report", "weather_report_event", clouds=[3, None, {"deep": [[]]}], event_id="not a number")
