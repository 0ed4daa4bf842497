"""Turns to be transcribed."""

from __future__ import annotations

from typing import Any

from monitor.core.questions import TranscribeRequest
from tests.builders import voice


def finished(turn: int = 1, call: str = "call", ms: int = 1500, **more: Any) -> TranscribeRequest:
    """A finished turn of noise; even ones are the agent's."""
    given: dict[str, Any] = {
        "call": call,
        "turn": turn,
        "role": "user" if turn % 2 else "assistant",
        "pcm": voice(ms),
        "rate": 8000,
        "at_ms": 6000,
        "due_ms": 16_000,
    }
    return TranscribeRequest(**(given | more))
