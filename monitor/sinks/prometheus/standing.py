"""How the program stands at the moment of a scrape, as metrics: nothing of this is kept between scrapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

Figures = Mapping[str, float]


class Standing(NamedTuple):
    """`calls`: the ids of those that go on. `waits_ms`: how long callers are waiting for an answer right now.
    `program`: as `/api/calls` tells it. `sinks`: the figures of each sink by its name. `version`: of this program."""

    calls: tuple[str, ...] = ()
    waits_ms: tuple[int, ...] = ()
    program: Mapping[str, Any] = {}
    sinks: Mapping[str, Figures] = {}
    version: str = ""


class _Row(NamedTuple):
    """`key`: in the figures; `name`: of the metric, without `turnwatch_`; `counts`: it only ever rises; `scale`: what
    a figure is multiplied with."""

    key: str
    name: str
    told: str
    counts: bool = False
    scale: float = 1.0


PROGRAM: Final = (
    _Row("loop_lag_ms", "event_loop_lag_seconds", "The worst delay of the event loop of late.", scale=0.001),
    _Row("calls_failed", "calls_failed", "Calls that were not watched to their end by our own fault.", True),
    _Row("inputs_dropped", "inputs_dropped", "Inputs of calls lost because the monitor was too slow.", True),
    _Row("refused", "connections_refused", "Connections turned away for want of room or of a token.", True),
)
SINK: Final = (
    _Row("up", "sink_up", "Whether the sink takes events (1), or has failed or ended (0)."),
    _Row("waiting", "sink_waiting_events", "Events that wait in the sink's queue."),
    _Row("overflowed", "sink_overflowed_events", "Events lost because the sink's queue was full.", True),
    _Row("connected", "sink_connected", "Whether the sink's far side is reached (1) or not (0)."),
    _Row("spooled", "sink_spooled_items", "Items kept until the sink's far side has taken them."),
    _Row("held", "sink_held_items", "Items held in memory because they cannot be written."),
    _Row("dropped", "sink_dropped_items", "Items lost because the far side was away for too long.", True),
    _Row("lost", "sink_lost_items", "Items lost because they could not be written for too long.", True),
    _Row("delivered", "sink_delivered_items", "Items that the sink's far side has taken.", True),
    _Row("written", "sink_written_items", "Items that are written and will stay.", True),
    _Row("sent", "sink_sent_items", "Items sent without a promise that they arrive.", True),
    _Row("skipped", "sink_skipped_items", "Items without a promise that were not sent.", True),
    _Row("duplicates", "sink_duplicate_items", "Items that had been written already.", True),
    _Row("refused", "sink_refused_items", "Items that cannot be written as they are.", True),
    _Row("tries", "sink_tries", "Requests made to the sink's far side.", True),
    _Row("failed", "sink_failed_deliveries", "Deliveries that came to nothing.", True),
)
JUDGE: Final = (
    _Row("waiting", "judge_waiting_questions", "Questions to the judge without an answer yet."),
    _Row("in_flight", "judge_in_flight_questions", "Questions that are before the judge right now."),
    _Row("requests", "judge_requests", "Requests sent to the judge.", True),
    _Row("answered", "judge_answered_questions", "Questions that have an answer, or none to hope for.", True),
    _Row("overflowed", "judge_overflowed_questions", "Questions turned away for want of room.", True),
)
TRANSCRIBER: Final = (
    _Row("waiting", "transcriber_waiting_turns", "Turns without their words yet."),
    _Row("in_flight", "transcriber_in_flight_turns", "Turns that are before the transcriber right now."),
    _Row("requests", "transcriber_requests", "Requests sent to the transcriber.", True),
    _Row("answered", "transcriber_answered_turns", "Turns that have an answer, or none to hope for.", True),
    _Row("worded", "transcriber_worded_turns", "Turns that got words.", True),
    _Row("overflowed", "transcriber_overflowed_turns", "Turns turned away for want of room.", True),
    _Row("seconds", "transcriber_sound_seconds", "Sound transcribed.", True),
)


def alerts_open(found: Mapping[tuple[str, str, str, str], int]) -> Metric:
    """The alerts that are open now."""
    told = "Alerts that are open now."
    gauge = GaugeMetricFamily("turnwatch_alerts_open", told, labels=("agent", "rule", "severity", "scope"))
    for labels, many in sorted(found.items()):
        gauge.add_metric(labels, many)
    return gauge


def standing_metrics(standing: Standing) -> Iterator[Metric]:
    """The metrics of this moment."""
    info = InfoMetricFamily("turnwatch_build", "The version that runs.")
    info.add_metric((), {"version": standing.version})
    yield info
    yield GaugeMetricFamily("turnwatch_calls_live", "Calls that go on now.", len(standing.calls))
    wait = "The longest that a caller is waiting for an answer right now."
    yield GaugeMetricFamily("turnwatch_longest_wait_seconds", wait, max(standing.waits_ms, default=0) / 1000)
    for row in PROGRAM:
        yield from _metrics(row, {"": standing.program}, ())
    for row in SINK:
        yield from _metrics(row, standing.sinks, ("sink",))
    for who, rows in (("judge", JUDGE), ("transcriber", TRANSCRIBER)):
        status = standing.program.get(who)
        if not isinstance(status, Mapping):
            continue
        available = GaugeMetricFamily(
            f"turnwatch_{who}_available",
            f"Whether the {who} is asked (1), or left alone or refused (0).",
            labels=(who,),
        )
        available.add_metric((str(status.get(who, "")),), float(status.get("disabled") is None))
        yield available
        for row in rows:
            yield from _metrics(row, {"": status}, ())


def _metrics(row: _Row, figures: Mapping[str, Mapping[str, Any]], labels: tuple[str, ...]) -> Iterator[Metric]:
    """One metric with a value for each of `figures` that has it; none where nobody has."""
    kind = CounterMetricFamily if row.counts else GaugeMetricFamily
    metric = kind(f"turnwatch_{row.name}", row.told, labels=labels)
    for name in sorted(figures):
        value = figures[name].get(row.key)
        if isinstance(value, int | float):
            metric.add_metric((name,) if labels else (), value * row.scale)
    if metric.samples:
        yield metric
