"""How a conversation socket's closing is told."""

from __future__ import annotations

from typing import Literal, NamedTuple

from connectors.inputs import CallEnded

Who = Literal["client", "server", "relay"]

_NAMES: dict[Who, str] = {"client": "the client", "server": "ElevenLabs", "relay": "the relay"}
_HANGUPS = (1000, 1001, 1005)
SHUTDOWN = 1012
"""What the relay closes both legs with when it stops: no client takes it for the agent's hanging up."""


class Ending(NamedTuple):
    """`who` closed first; `code` of its close frame (1005: a frame without one), None where the connection broke, with
    what the relay had found wrong as the reason."""

    who: Who
    code: int | None
    reason: str = ""


def call_ended(at: int, ending: Ending, failure: str | None) -> CallEnded:
    """The call's last input. A hang-up is a normal close of either side; `failure` is what the provider had said."""
    if ending.code is None:
        broken = f"the connection to {_NAMES[ending.who]} broke without a close frame"
        return CallEnded(at, "disconnected", _with(_with(broken, ending.reason), failure))
    if ending.who == "relay":
        return CallEnded(at, "stopped", _with(f"the relay was stopped (code {ending.code})", ending.reason))
    closed = f"{_NAMES[ending.who]} closed the call"
    if ending.code in _HANGUPS:
        return CallEnded(at, "hangup", _with(closed, ending.reason))
    told = _with(f"{closed} with code {ending.code}", ending.reason)
    return CallEnded(at, "failed", _with(told, failure) if failure and failure != ending.reason else told)


def _with(sentence: str, more: str | None) -> str:
    return f"{sentence}: {more}" if more else sentence
