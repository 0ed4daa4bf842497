"""The sink: events of all calls -> traces of calls."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from monitor.core import events
from monitor.core.fleet.alerts import SOURCE
from monitor.sinks.otel.call_trace import CallTrace, SpanFacts, alert_attributes, identity
from monitor.sinks.otel.sending import Sending
from monitor.sinks.otel.settings import OtelSettings
from monitor.sinks.otel.spans import Spans

MOST_CALLS: Final = 5000
"""Calls that go on. Where the end of a call is never told, it is forgotten once so many others came after it."""


class OtelSink:
    """A span for each call and each turn. `now_ns`: Unix time in ns, for calls that do not say when they began. Raises
    `SinkError` where the settings are no good."""

    def __init__(self, settings: OtelSettings, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._include_text = settings.include_text
        self._now_ns = now_ns
        self._sending = Sending(settings)
        self._spans = Spans(settings.service_name, self._sending.put)
        self._calls: OrderedDict[str, CallTrace] = OrderedDict()

    async def open(self) -> None:
        """Begin to send. A collector that is away is no error."""
        self._sending.open()

    async def deliver(self, event: events.Event) -> None:
        """Take one event."""
        if isinstance(event, events.AlertRaised | events.AlertCleared) and event.alert.scope == "fleet":
            self._spans.make(self._across_calls(event))
            return
        trace = self._calls.get(event.call)
        if isinstance(event, events.CallStarted):
            if event.source == SOURCE:
                return  # no call, but the beginning of what is told across calls
            trace = None
        elif trace is None and isinstance(event, events.CallEnded):
            return  # nothing is known of it
        if trace is None:
            trace = self._begin(event)
        self._calls.move_to_end(event.call)
        for facts in trace.take(event):
            self._spans.make(facts)
        if isinstance(event, events.CallEnded):
            del self._calls[event.call]

    async def close(self) -> None:
        """Send what is left, and let go."""
        for trace in self._calls.values():
            for facts in trace.rest():
                self._spans.make(facts)
        self._calls.clear()
        await self._sending.close()

    def figures(self) -> dict[str, float]:
        """Spans `delivered`, `dropped` and waiting (`spooled`), tries that `failed`, whether the last one went well."""
        sending = self._sending
        return {
            "delivered": sending.delivered,
            "dropped": sending.dropped,
            "failed": sending.failed,
            "spooled": len(sending),
            "connected": float(sending.connected),
        }

    def _begin(self, event: events.Event) -> CallTrace:
        started = event if isinstance(event, events.CallStarted) else None
        begun = _unix_ns(started.started_at) if started else None
        if begun is None:
            begun = self._now_ns() - event.known_at_ms * 1_000_000
        trace = self._calls[event.call] = CallTrace(event.call, begun, started, self._include_text)
        while len(self._calls) > MOST_CALLS:
            _, oldest = self._calls.popitem(last=False)
            for facts in oldest.rest():
                self._spans.make(facts)
        return trace

    def _across_calls(self, event: events.AlertRaised | events.AlertCleared) -> SpanFacts:
        """An alert that belongs to no call is a moment in a trace of its own."""
        now, alert = self._now_ns(), event.alert
        trace_id, own = identity(128, alert.id), identity(64, alert.id, event.type, event.seq)
        return SpanFacts(event.type, trace_id, own, None, now, now, alert_attributes(alert))


def _unix_ns(text: str | None) -> int | None:
    """An RFC 3339 time as ns of Unix time; None where there is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return max(0, whole * 1_000_000_000 + moment.microsecond * 1000)
