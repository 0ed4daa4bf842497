"""What a frame of an ElevenLabs conversation socket says to a listener, and the words for audio formats.

Sources: the Python SDK 2.78.0, the JavaScript SDK 1.21.0 and the two published AsyncAPI contracts.
"""

from __future__ import annotations

from typing import Literal

import msgspec

WordsKind = Literal["transcript", "response", "correction"]

_FORMAT_ENCODINGS = {"pcm": "s16le", "ulaw": "mulaw", "alaw": "alaw"}

IGNORED_FROM_SERVER = frozenset(
    {
        "agent_chat_response_part",
        "agent_reasoning_response_part",
        "agent_response_complete",
        "agent_response_metadata",
        "agent_tool_request",
        "agent_tool_response",
        "agent_tool_response_full_payload",
        "agent_typing",
        "asr_initiation_metadata",
        "client_tool_call",
        "context_usage",
        "dtmf_request",
        "external_agent_connected",
        "external_agent_disconnected",
        "guardrail_triggered",
        "internal_tentative_agent_response",
        "internal_turn_probability",
        "mcp_connection_status",
        "mcp_tool_call",
        "queue_status",
        "rich_content",
        "tentative_user_transcript",
        "vad_score",
    }
)
"""Types known from a contract that say nothing about who is heard when."""

IGNORED_FROM_CLIENT = frozenset(
    {
        "client_tool_result",
        "contextual_update",
        "enclave_setup_config",
        "feedback",
        "mcp_tool_approval_result",
        "multimodal_message",
        "user_activity",
        "user_message",
    }
)


class Message(msgspec.Struct, frozen=True):
    """The base of what a frame says."""


class Metadata(Message, frozen=True):
    """The conversation has begun. Formats are the wire's words (`pcm_16000`), None where they were not told."""

    conversation_id: str | None
    agent_format: str | None
    caller_format: str | None


class AgentAudio(Message, frozen=True):
    """Encoded audio of the agent; pieces of one response share its id."""

    data: bytes
    response: int | None


class CallerAudio(Message, frozen=True):
    """Encoded audio of the caller."""

    data: bytes


class Words(Message, frozen=True):
    """`kind`: `transcript` of the caller, `response` of the agent, or its `correction` after an interruption."""

    kind: WordsKind
    text: str
    response: int | None


class Interruption(Message, frozen=True):
    """The client must stop playing the response of this id; one published sample carries no id."""

    response: int | None


class Ping(Message, frozen=True):
    """The server asks for a pong with the same id."""

    id: int | None


class Pong(Message, frozen=True):
    """The client's answer to a ping."""

    id: int | None


class Initiation(Message, frozen=True):
    """The client's opening words. `source` and `version` name the SDK."""

    source: str | None
    version: str | None
    text_only: bool


class Failure(Message, frozen=True):
    """The server says what went wrong, in either of its two shapes. A close usually follows."""

    code: int | None
    name: str | None
    text: str | None


class Ignored(Message, frozen=True):
    """A known message that says nothing about who is heard when."""

    type: str


class Unknown(Message, frozen=True):
    """A message of a type that no contract names."""

    type: str


class Damaged(Message, frozen=True):
    """A frame that cannot be read; `reason` is for people and quotes nothing of the frame."""

    reason: str


def audio_format(word: str) -> tuple[str, int] | None:
    """`pcm_16000` -> (`s16le`, 16000), `ulaw_8000` -> (`mulaw`, 8000); None for what is not of that form."""
    family, _, rate = word.partition("_")
    encoding = _FORMAT_ENCODINGS.get(family)
    return (encoding, int(rate)) if encoding and rate.isascii() and rate.isdecimal() and len(rate) <= 6 else None
