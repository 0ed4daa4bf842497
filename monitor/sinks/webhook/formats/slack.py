"""A message for people, in the form of Slack's incoming webhooks (docs.slack.dev/messaging/sending-messages-using-
incoming-webhooks and .../formatting-message-text); Mattermost and others take the same.

Whatever stands in an alert may come from a stranger: the id of a call, the name of an agent, a label. It is shown as
plain text, escaped as Slack wants it, on one line, to a length, and nobody is called by it: an `@` is followed by a
character without width, since some of Slack's likenesses act on a bare @channel.
"""

from __future__ import annotations

import msgspec

from monitor.core.events import AlertCleared, AlertRaised, Event
from monitor.sinks.literal import literal
from monitor.sinks.webhook.formats.shape import ALERTS, About, Format

_MARKS = {"info": "🔵", "warning": "🟠", "critical": "🔴"}
_NO_WIDTH = "\u200b"
_MAX_TURNS = 12


def escaped(text: str, limit: int) -> str:
    """`text` as Slack shows it literally; at most `limit` of its characters."""
    shown = literal(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace("@", f"@{_NO_WIDTH}")


class Slack(Format):
    """One message for each alert that is raised, and for each that is over."""

    takes = ALERTS

    def body(self, event: Event, about: About) -> bytes:
        """The message, without formatting and without previews of links."""
        assert isinstance(event, AlertRaised | AlertCleared)
        return _message(*_first(event), _place(event, about))

    def lost(self, event: AlertRaised, about: About) -> bytes:
        """A message that this alert will not be heard of again."""
        unknown = "the monitor was stopped while this alert was open; how it stands is unknown"
        return _message(f"⚪ unknown: {escaped(event.alert.rule, 80)}", unknown, _place(event, about))


def _message(*lines: str) -> bytes:
    told = {"text": "\n".join(lines), "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
    return msgspec.json.encode(told)


def _first(event: AlertRaised | AlertCleared) -> tuple[str, str]:
    alert = event.alert
    over = isinstance(event, AlertCleared)
    mark = "✅ over" if over else f"{_MARKS.get(alert.severity, '🔴')} {escaped(alert.severity, 20)}"
    measured = "" if alert.value is None else f" (measured {alert.value:g}"
    if measured:
        measured += ")" if alert.threshold is None else f", threshold {alert.threshold:g})"
    return f"{mark}: {escaped(alert.rule, 80)}", f"{escaped(alert.message, 600)}{measured}"


def _place(event: AlertRaised | AlertCleared, about: About) -> str:
    alert = event.alert
    told = [f"call {escaped(event.call, 120)}"]
    if about.agent_id:
        told.append(f"agent {escaped(about.agent_id, 80)}")
    until = "" if alert.until_ms is None else f" to {_clock(alert.until_ms)}"
    told.append(f"{'from' if until else 'since'} {_clock(alert.since_ms)}{until}")
    if alert.because:
        more = ", …" if len(alert.because) > _MAX_TURNS else ""
        told.append(f"turns {', '.join(str(turn) for turn in alert.because[:_MAX_TURNS])}{more}")
    if alert.suppressed:
        told.append(f"{alert.suppressed} more while it was quiet")
    return " · ".join(told)


def _clock(at_ms: int) -> str:
    minutes, seconds = divmod(at_ms // 1000, 60)
    return f"{minutes}:{seconds:02d}"
