"""A line of JSON back into the event that it tells: `encode(decode(line)) == line` for every event of the contract.

Tolerant of what newer versions may add: unknown fields are passed over, and unknown types are told apart from damage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from monitor.core import events
from monitor.core.encode import VERSION
from monitor.core.events import Event

_Part = TypeVar("_Part")


class Undecodable(ValueError):
    """A line that is no event. The message says what is wrong with it, and quotes nothing of it."""


class UnknownType(Undecodable):
    """An event of a type that this version does not know."""


def decode(line: bytes | str) -> Event:
    """The event of a line. Raises Undecodable."""
    try:
        told = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Undecodable(f"not JSON: {error}") from None
    if not isinstance(told, dict):
        raise Undecodable("not a JSON object")
    return event_of(told)


def event_of(told: dict[str, Any]) -> Event:
    """The event of a contract's JSON object. Raises Undecodable."""
    if told.get("v") != VERSION:
        raise Undecodable(f"its version is not {VERSION}")
    kind = told.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise UnknownType("its type is not known")
    try:
        envelope = {
            "call": told["call"],
            "seq": told["seq"],
            "at_ms": _ms(told["at"]),
            "known_at_ms": _ms(told["known_at"]),
        }
        if not isinstance(envelope["seq"], int) or envelope["seq"] < 0:
            raise Undecodable("its seq is no number of an event")
        cls, body = reader(told)
        # To and fro through plain values: every field is checked against its type, tuples and structs are made.
        return msgspec.convert({**envelope, **body}, cls)
    except Undecodable:
        raise
    except KeyError as error:
        raise Undecodable(f"it lacks {error.args[0]}") from None
    except (TypeError, ValueError, AttributeError, OverflowError, msgspec.ValidationError) as error:
        raise Undecodable(str(error)) from None


def _ms(value: Any) -> int:
    """Seconds as the whole ms that they came from."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Undecodable("a time is no number")
    return round(value * 1000)


def _turn(told: dict[str, Any], **known: Any) -> dict[str, Any]:
    turn = dict(told["turn"])
    if "start_time" in turn:
        turn["start_ms"] = _ms(turn["start_time"])
    if turn.get("duration") is not None:
        turn["duration_ms"] = _ms(turn["duration"])
    return {"role": "assistant", "start_ms": 0, **turn, **known}


def _alert(told: dict[str, Any]) -> dict[str, Any]:
    alert = dict(told["alert"])
    until = alert.get("until")
    return {**alert, "since_ms": _ms(alert["since"]), "until_ms": None if until is None else _ms(until)}


def _plain(cls: type[Event]) -> Callable[[dict[str, Any]], tuple[type[Event], dict[str, Any]]]:
    envelope = {"call", "seq", "at", "known_at", "v", "type"}
    return lambda told: (cls, {key: value for key, value in told.items() if key not in envelope})


def _with_turn(cls: type[Event]) -> Callable[[dict[str, Any]], tuple[type[Event], dict[str, Any]]]:
    plain = _plain(cls)
    return lambda told: (cls, {**plain(told)[1], "turn": _turn(told)})


def _with_alert(cls: type[Event]) -> Callable[[dict[str, Any]], tuple[type[Event], dict[str, Any]]]:
    return lambda told: (cls, {"alert": _alert(told)})


def _scored(told: dict[str, Any]) -> tuple[type[Event], dict[str, Any]]:
    passing = told["transition"]
    body = {"transition": {**passing, "gap_ms": _ms(passing["gap_seconds"])}, "turn_taking": told["turn_taking"]}
    return events.TransitionScored, body


def _withdrawn(told: dict[str, Any]) -> tuple[type[Event], dict[str, Any]]:
    return events.TransitionWithdrawn, {**told["transition"], "turn_taking": told["turn_taking"]}


_READERS: dict[str, Callable[[dict[str, Any]], tuple[type[Event], dict[str, Any]]]] = {
    "call.started": _plain(events.CallStarted),
    "turn.started": _with_turn(events.TurnStarted),
    "turn.updated": _with_turn(events.TurnUpdated),
    "turn.ended": _with_turn(events.TurnEnded),
    "turn.text": _with_turn(events.TurnText),
    "transition.scored": _scored,
    "transition.withdrawn": _withdrawn,
    "relevancy.judged": _with_turn(events.RelevancyJudged),
    "relevancy.scored": _plain(events.RelevancyScored),
    "alert.raised": _with_alert(events.AlertRaised),
    "alert.cleared": _with_alert(events.AlertCleared),
    "notice": _plain(events.Notice),
    "call.ended": _plain(events.CallEnded),
}
