"""What a client sends on an ElevenLabs conversation socket, read strictly: the simulator is there to find faults."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

PASSED_OVER = frozenset(
    {
        "client_tool_result",
        "contextual_update",
        "conversation_initiation_client_data",
        "enclave_setup_config",
        "feedback",
        "mcp_tool_approval_result",
        "multimodal_message",
        "user_activity",
    }
)
"""Types that are known and change nothing here."""


class BadMessage(ValueError):
    """The client sent what the protocol does not know; the provider closes with 1008."""


def fields(message: str | bytes) -> dict[str, Any]:
    """The message as an object. Raises `BadMessage`."""
    try:
        read = json.loads(message)
    except (ValueError, RecursionError):
        raise BadMessage("invalid_message: not JSON") from None
    if not isinstance(read, dict):
        raise BadMessage("invalid_message: not an object")
    return read


def part(message: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under `name`; empty where there is none."""
    inner = message.get(name)
    return inner if isinstance(inner, dict) else {}


def caller_audio(message: dict[str, Any]) -> bytes:
    """The bytes of a `user_audio_chunk`. Raises `BadMessage`."""
    try:
        return base64.b64decode(message["user_audio_chunk"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise BadMessage("invalid_message: user_audio_chunk is not base64") from None


def is_text_only(initiation: dict[str, Any]) -> bool:
    """Whether the client wants no audio. Its Python SDK puts the flag at the top of the override, the contract under
    `conversation`."""
    override = part(initiation, "conversation_config_override")
    return override.get("text_only") is True or part(override, "conversation").get("text_only") is True
