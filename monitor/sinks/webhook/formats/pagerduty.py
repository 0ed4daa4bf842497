"""PagerDuty's Events API v2 (developer.pagerduty.com/docs/events-api-v2): an alert opens an incident under its own id,
and resolves it.

The `dedup_key` is the alert's id: an alert that is raised again (its severity rose), or sent twice, stays one incident.
The routing key is put in when the event is sent, so it is in no file.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any

import msgspec

from monitor.core.encode import clean_text
from monitor.core.events import AlertRaised, Event
from monitor.sinks.literal import literal
from monitor.sinks.webhook.formats.shape import ALERTS, About, Format

SEVERITIES = {"info": "info", "warning": "warning", "critical": "critical"}
"""Ours -> PagerDuty's, which also has `error`; what is not known is an `error`."""
_MAX_KEY = 255
_MAX_SUMMARY = 1024
_MAX_FIELD = 255


def dedup_key(alert_id: str) -> str:
    """The alert's id; a longer one than PagerDuty takes is cut, with a hash of the whole."""
    clean = clean_text(alert_id)
    if len(clean) <= _MAX_KEY:
        return clean
    return f"{clean[: _MAX_KEY - 33]}~{hashlib.sha256(clean.encode()).hexdigest()[:32]}"


class PagerDuty(Format):
    """`trigger` for alert.raised, `resolve` for alert.cleared."""

    takes = ALERTS
    path = "/v2/enqueue"
    keyed = True

    def body(self, event: Event, about: About) -> bytes:
        """Everything but the routing key."""
        raised = isinstance(event, AlertRaised)
        told: dict[str, Any] = {"event_action": "trigger" if raised else "resolve"}
        told["dedup_key"] = dedup_key(event.alert.id)  # type: ignore[attr-defined]
        if isinstance(event, AlertRaised):
            told |= {"client": "turnwatch", "payload": _payload(event, about)}
        return msgspec.json.encode(told)

    def lost(self, event: AlertRaised, about: About) -> bytes:
        """`resolve`: nobody else would ever do it."""
        return msgspec.json.encode({"event_action": "resolve", "dedup_key": dedup_key(event.alert.id)})

    def sent(self, body: bytes, routing_key: str) -> bytes:
        """The body with the routing key in front."""
        return b'{"routing_key":' + msgspec.json.encode(routing_key) + b"," + body[1:]


def _payload(event: AlertRaised, about: About) -> dict[str, Any]:
    alert = event.alert
    call, agent = literal(event.call, 200), literal(about.agent_id or "", 200)
    summary = f"{alert.rule}: {alert.message} (call {call}{f', agent {agent}' if agent else ''})"
    told: dict[str, Any] = {
        "summary": literal(summary, _MAX_SUMMARY),
        "severity": SEVERITIES.get(alert.severity, "error"),
        "source": agent or call or "turnwatch",
        "class": literal(alert.rule, _MAX_FIELD),
        "group": literal(alert.scope, _MAX_FIELD),
    }
    if about.source:
        told["component"] = literal(about.source, _MAX_FIELD)
    if timestamp := _timestamp(about.started_at, event.known_at_ms):
        told["timestamp"] = timestamp
    told["custom_details"] = {
        "alert": literal(alert.id, 300),
        "call": call,
        "seq": event.seq,
        "message": literal(alert.message, _MAX_SUMMARY),
        "value": alert.value,
        "threshold": alert.threshold,
        "because_turns": alert.because[:100],
        "since_seconds": alert.since_ms / 1000,
        "suppressed": alert.suppressed,
        "labels": {literal(name, 100): literal(value, 200) for name, value in about.labels},
    }
    return told


def _timestamp(started_at: str | None, after_ms: int) -> str | None:
    """The wall-clock time of a moment of the call, RFC 3339; None where the start is not known."""
    try:
        began = datetime.fromisoformat(started_at or "")
        return (began + timedelta(milliseconds=after_ms)).isoformat(timespec="milliseconds") if began.tzinfo else None
    except (ValueError, OverflowError):
        return None
