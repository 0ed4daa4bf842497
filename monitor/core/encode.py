"""One event, one canonical line of JSON, and back to a plain mapping.

The line's keys come in the contract's order, times are seconds (multiples of 0.001), scores have full precision, and
text is valid UTF-8 whatever the wire brought: a lone surrogate becomes U+FFFD.
"""

from __future__ import annotations

from typing import Any

import msgspec

from monitor.core import events
from monitor.core.clock import seconds

VERSION = 1
_json = msgspec.json.Encoder()


def _turn(event: events.Event, turn: events.Turn) -> dict[str, Any]:
    if isinstance(event, events.TurnText):
        return {"index": turn.index, "role": turn.role}
    out: dict[str, Any] = {"index": turn.index, "role": turn.role, "start_time": turn.start_time}
    if not isinstance(event, events.TurnStarted):
        out["duration"] = turn.duration
    if isinstance(event, events.TurnEnded):
        out |= {
            "ended_by": turn.ended_by,
            "backchannel": turn.backchannel,
            "interrupted": turn.interrupted,
            "text": turn.text,
        }
        if turn.sure is not None:
            out["sure"] = turn.sure
        if turn.after_stall:
            out["after_stall"] = True
    return out


def _transition(t: events.Transition) -> dict[str, Any]:
    out: dict[str, Any] = {
        "from_turn": t.from_turn,
        "to_turn": t.to_turn,
        "kind": t.kind,
        "gap_seconds": t.gap_seconds,
        "score": t.score,
        "final": t.final,
    }
    return out if t.sure is None else out | {"sure": t.sure}


def _turn_taking(state: events.TurnTaking) -> dict[str, Any]:
    return {"score": state.score, "transitions": state.transitions}


def _relevancy(state: events.Relevancy) -> dict[str, Any]:
    return {
        "score": state.score,
        "relevant": state.relevant,
        "judged": state.judged,
        "unscored": state.unscored,
        "assistant_turns": state.assistant_turns,
    }


def _alert(alert: events.Alert) -> dict[str, Any]:
    out: dict[str, Any] = {
        "id": alert.id,
        "rule": alert.rule,
        "severity": alert.severity,
        "scope": alert.scope,
        "message": alert.message,
        "value": alert.value,
        "threshold": alert.threshold,
        "because": alert.because,
        "since": seconds(alert.since_ms),
    }
    if alert.until_ms is not None:
        out["until"] = seconds(alert.until_ms)
    if alert.suppressed:
        out["suppressed"] = alert.suppressed
    return out


def _body(event: events.Event) -> dict[str, Any]:
    match event:
        case events.CallStarted():
            body = {
                "source": event.source,
                "started_at": event.started_at,
                "agent_id": event.agent_id,
                "labels": event.labels,
                "tracks": event.tracks,
            }
            return body if event.playout is None else body | {"playout": event.playout}
        case events.TurnText():
            return {"turn": _turn(event, event.turn), "text": event.text, "reason": event.reason}
        case events.TurnStarted() | events.TurnUpdated() | events.TurnEnded():
            return {"turn": _turn(event, event.turn)}
        case events.TransitionScored(transition=t):
            return {"transition": _transition(t), "turn_taking": _turn_taking(event.turn_taking)}
        case events.TransitionWithdrawn():
            return {
                "transition": {"from_turn": event.from_turn, "to_turn": event.to_turn, "reason": event.reason},
                "turn_taking": _turn_taking(event.turn_taking),
            }
        case events.RelevancyJudged():
            return {
                "turn": {"index": event.turn.index},
                "verdict": event.verdict,
                "reason": event.reason,
                "window": event.window,
                "batch": event.batch,
                "judge": event.judge,
                "relevancy": _relevancy(event.relevancy),
            }
        case events.RelevancyScored():
            return {
                "turns": event.turns,
                "score": event.score,
                "confidence": event.confidence,
                "reason": event.reason,
                "batch": event.batch,
                "judge": event.judge,
                "relevancy": _relevancy(event.relevancy),
            }
        case events.AlertRaised() | events.AlertCleared():
            return {"alert": _alert(event.alert)}
        case events.Notice():
            return {"kind": event.kind, "track": event.track, "count": event.count, "message": event.message}
        case events.CallEnded():
            return {"cause": event.cause, "summary": event.summary}
    raise TypeError(f"{type(event).__name__} is not an event of the contract")


def event_to_dict(event: events.Event) -> dict[str, Any]:
    """The event as the contract's JSON object, keys in the contract's order."""
    return {
        "v": VERSION,
        "type": event.type,
        "call": event.call,
        "seq": event.seq,
        "at": seconds(event.at_ms),
        "known_at": seconds(event.known_at_ms),
        **_body(event),
    }


def clean_text(text: str) -> str:
    """`text` with what UTF-8 cannot hold (lone surrogates) replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def encode(event: events.Event) -> bytes:
    """The event's line: UTF-8 JSON without a line break inside or behind."""
    told = event_to_dict(event)
    try:
        return _json.encode(told)
    except UnicodeEncodeError:
        return _json.encode(_clean(told))


def _clean(part: Any) -> Any:
    """The same, with every text as UTF-8 can hold it."""
    if isinstance(part, str):
        return clean_text(part)
    if isinstance(part, dict):
        return {clean_text(key): _clean(value) for key, value in part.items()}
    return [_clean(one) for one in part] if isinstance(part, list | tuple) else part
