"""The sink behind `/metrics`: each event is counted, and forgotten.

Events come in from the sink's own thread while pages are asked for from others. One lock keeps a page from showing half
an event; writing the page out is done without it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder

from monitor.core import events
from monitor.core.fleet.alerts import RULE, SOURCE, UNNAMED
from monitor.core.measures.barge_in import MIN_OVERLAP_MS
from monitor.sinks.prometheus.calls_heard import CallsHeard, HeardCall, OpenAlert
from monitor.sinks.prometheus.instruments import Instruments
from monitor.sinks.prometheus.labels import CAUSES, NOTICES, RULES, SCOPES, SEVERITIES, Agents, one_of
from monitor.sinks.prometheus.settings import PrometheusSettings
from monitor.sinks.prometheus.standing import Standing, alerts_open, standing_metrics

_UNKNOWN_END = ("stall", "call_end")
_BREATH_S = 0.0005
"""Writing a page takes the interpreter for itself; so often and so long it lets the calls go first."""


class Metrics:
    """A sink, and what may be asked of it at any time from any thread. `clock`: seconds that never go back."""

    def __init__(self, settings: PrometheusSettings | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        settings = settings or PrometheusSettings()
        self._instruments = Instruments(settings)
        self._agents = Agents(settings.agents, settings.max_agents)
        self._calls = CallsHeard()
        self._clock = clock
        self._lock = threading.Lock()

    async def open(self) -> None:
        """Nothing is to be opened."""

    async def deliver(self, event: events.Event) -> None:
        """Count one event."""
        with self._lock:
            self._fold(event)

    async def close(self) -> None:
        """What was counted can still be asked for."""

    def page(self, accept: str | None, standing: Standing) -> tuple[bytes, str]:
        """The page for a scraper that takes `accept` -> (its bytes, its content type): OpenMetrics where that is asked
        for, else Prometheus's text format. Takes some milliseconds, more with many agents."""
        with self._lock:
            self._calls.reconcile(standing.calls, self._clock())
            found = []
            for metric in self._instruments.registry.collect():
                found.append(_bare(metric))
                time.sleep(_BREATH_S)
            found.append(alerts_open(self._calls.open_alerts() + self._led(standing)))
        encode, content_type = choose_encoder(accept or "")
        return encode(_Collected([*found, *standing_metrics(standing)])), content_type

    def _led(self, standing: Standing) -> Counter[tuple[str, str, str, str]]:
        """Alerts across calls that another process has open: no event of them comes here."""
        found: Counter[tuple[str, str, str, str]] = Counter()
        for one in standing.program.get("fleet") or ():
            if one.get("led") and one.get("raised"):
                agent = self._agents.label(None if one["agent"] == UNNAMED else one["agent"])
                found[agent, RULE, one_of(SEVERITIES, one["severity"]), SOURCE] += 1
        return found

    def _fold(self, event: events.Event) -> None:
        count, now = self._instruments, self._clock()
        count.events.labels(event.type).inc()
        if isinstance(event, events.CallStarted):
            across = event.source == SOURCE
            agent = self._agents.label(None if across and event.agent_id == UNNAMED else event.agent_id)
            self._calls.begin(event.call, agent, now, across)
            if not across:
                count.started.labels(agent).inc()
            return
        call = self._calls.of(event.call, now)
        match event:
            case events.TurnStarted():
                call.keep(event.turn)
            case events.TurnEnded(turn=turn):
                call.keep(turn)
                count.turns.labels(call.agent, turn.role).inc()
                if turn.backchannel:
                    count.backchannels.labels(call.agent, turn.role).inc()
            case events.TransitionScored(transition=transition) if transition.final:
                self._transition(call, transition)
            case events.RelevancyJudged():
                count.verdicts.labels(call.agent, event.verdict).inc()
            case events.AlertRaised(alert=alert):
                opened = self._labels(event.call, call.agent, alert)
                self._calls.raised(alert, opened)
                count.raised.labels(*opened[:4]).inc()
            case events.AlertCleared(alert=alert):
                self._calls.cleared(alert)
                count.cleared.labels(*self._labels(event.call, call.agent, alert)[:4]).inc()
            case events.Notice():
                count.notices.labels(one_of(NOTICES, event.kind)).inc(max(0, event.count))
            case events.CallEnded():
                if not call.across:
                    count.ended.labels(call.agent, one_of(CAUSES, event.cause)).inc()
                    self._summary(call.agent, event.summary)
                self._calls.end(event.call)

    def _transition(self, call: HeardCall, transition: events.Transition) -> None:
        """As `monitor.core.measures` counts them, so that sums over calls equal those of their summaries."""
        count, agent, gap_ms = self._instruments, call.agent, transition.gap_ms
        before, after = call.turns.get(transition.from_turn), call.turns.get(transition.to_turn)
        count.transitions.labels(agent, transition.kind).inc()
        count.transition_score.labels(agent).observe(transition.score)
        known = before is not None and before.ended_by not in _UNKNOWN_END
        if transition.kind == "gap":
            stalled = (before is not None and before.ended_by == "stall") or (after is not None and after.after_stall)
            if after is not None and after.role == "assistant" and not stalled:
                count.response.labels(agent).observe(gap_ms / 1000)
        elif -gap_ms >= MIN_OVERLAP_MS:
            user = transition.kind == "user_barge_in"
            count.barge_ins.labels(agent, "user" if user else "assistant").inc()
            if user and known:
                count.yielding.labels(agent).observe(-gap_ms / 1000)

    def _summary(self, agent: str, summary: Mapping[str, Any]) -> None:
        count = self._instruments
        relevancy, turn_taking = _part(summary, "relevancy"), _part(summary, "turn_taking")
        if (score := _number(turn_taking, "score")) is not None:
            count.turn_taking.labels(agent).observe(score)
        if (score := _number(relevancy, "score")) is not None:
            count.relevancy.labels(agent).observe(score)
        if requests := _number(relevancy, "requests"):
            count.judge_requests.labels(agent).inc(requests)
        for direction in ("input", "output"):
            if tokens := _number(_part(relevancy, "tokens"), direction):
                count.judge_tokens.labels(agent, direction).inc(tokens)
        if cost := _number(relevancy, "cost_usd"):
            count.judge_cost.labels(agent).inc(cost)

    @staticmethod
    def _labels(call: str, agent: str, alert: events.Alert) -> OpenAlert:
        severity, scope = one_of(SEVERITIES, alert.severity), one_of(SCOPES, alert.scope)
        return OpenAlert(agent, one_of(RULES, alert.rule), severity, scope, call)


class _Collected:
    """What was collected, as the library's writers want it."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for metric in self._metrics:
            yield metric
            time.sleep(_BREATH_S)


def _bare(metric: Metric) -> Metric:
    """Without the times at which series came up: they would be as many lines again, and nobody reads them."""
    metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
    return metric


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = whole.get(name)
    return found if isinstance(found, Mapping) else {}


def _number(whole: Mapping[str, Any], name: str) -> float | None:
    found = whole.get(name)
    return float(found) if isinstance(found, int | float) and found >= 0 else None
