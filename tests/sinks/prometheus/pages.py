"""Pages of metrics for tests, and what stands on them."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterable

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from monitor.core.events import Event
from monitor.sinks.prometheus.folding import Metrics
from monitor.sinks.prometheus.settings import PrometheusSettings
from monitor.sinks.prometheus.standing import Standing

OPENMETRICS = "application/openmetrics-text; version=1.0.0"

STANDING = Standing(
    calls=("one", "two"),
    waits_ms=(1200, 300),
    program={
        "loop_lag_ms": 3.5,
        "calls_started": 4,
        "calls_failed": 1,
        "inputs_dropped": 7,
        "refused": 2,
        "judge": {
            "judge": "gpt",
            "waiting": 3,
            "in_flight": 1,
            "requests": 9,
            "answered": 8,
            "overflowed": 0,
            "disabled": None,
        },
        "transcriber": {
            "transcriber": "whisper",
            "waiting": 0,
            "in_flight": 0,
            "requests": 2,
            "answered": 2,
            "worded": 1,
            "overflowed": 0,
            "seconds": 12.5,
            "disabled": "its quota is spent",
        },
    },
    sinks={
        "mqtt": {"waiting": 4, "overflowed": 5, "up": 1.0, "spooled": 6, "dropped": 0, "delivered": 10, "connected": 0},
        "standard output": {"waiting": 0, "overflowed": 0, "up": 0.0},
    },
    version="1.2.3",
)


def told(metrics: Metrics, events: Iterable[Event]) -> Metrics:
    """`metrics` with these events counted."""

    async def deliver() -> None:
        await metrics.open()
        for event in events:
            await metrics.deliver(event)
        await metrics.close()

    asyncio.run(deliver())
    return metrics


def folded(*events: Event, settings: PrometheusSettings | None = None) -> Metrics:
    """Metrics of these events."""
    return told(Metrics(settings), events)


class Page:
    """A page that was read: `value("calls_live")`, `value("turns_total", role="user")`."""

    def __init__(self, metrics: Metrics, standing: Standing = STANDING, accept: str | None = None) -> None:
        self.body, self.content_type = metrics.page(accept, standing)
        self.text = self.body.decode()
        read = read_openmetrics if "openmetrics" in self.content_type else read_text
        self.families = {family.name: family for family in read(self.text)}
        self.samples = [sample for family in self.families.values() for sample in family.samples]

    def value(self, name: str, **labels: str) -> float | None:
        """The sum of the series with these labels; None where there is none."""
        found = [
            sample.value
            for sample in self.samples
            if sample.name == f"turnwatch_{name}" and labels.items() <= sample.labels.items()
        ]
        return sum(found) if found else None

    def labels(self, name: str, label: str) -> set[str]:
        """The values of a label."""
        return {s.labels[label] for s in self.samples if s.name == f"turnwatch_{name}"}


def complaints(page: bytes) -> str:
    """What Prometheus's own checker says of a page in its text format; nothing where it is good."""
    promtool = shutil.which("promtool", path="/usr/bin:/usr/local/bin") or "promtool"
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, check=False, timeout=30)
    return (done.stdout + done.stderr).decode() + (f"exit code {done.returncode}" if done.returncode else "")
