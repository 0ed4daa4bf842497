"""Alerts, and sinks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from monitor.core.events import Alert, AlertCleared, AlertRaised, CallStarted
from monitor.sinks.webhook.settings import WebhookSettings
from monitor.sinks.webhook.sink import WebhookSink, make

QUICK: dict[str, Any] = {"timeout_s": 0.3, "first_rest_s": 0.01, "longest_rest_s": 0.05}
"""Time-outs and pauses for tests."""


def alert(call: str = "call-1", **changes: Any) -> Alert:
    told: dict[str, Any] = {
        "id": f"{call}/barge_in_spike/0",
        "rule": "barge_in_spike",
        "severity": "critical",
        "scope": "call",
        "message": "4 barge-ins in 60 s",
        "value": 4.0,
        "threshold": 3.0,
        "because": (3, 5),
        "since_ms": 61_000,
    }
    return Alert(**told | changes)


def raised(seq: int = 7, call: str = "call-1", **changes: Any) -> AlertRaised:
    return AlertRaised(call=call, seq=seq, at_ms=61_000, known_at_ms=61_500, alert=alert(call, **changes))


def cleared(seq: int = 9, call: str = "call-1", **changes: Any) -> AlertCleared:
    over = alert(call, until_ms=90_000, **changes)
    return AlertCleared(call=call, seq=seq, at_ms=90_000, known_at_ms=95_000, alert=over)


def started(call: str = "call-1", **changes: Any) -> CallStarted:
    told: dict[str, Any] = {
        "source": "twilio",
        "started_at": "2026-05-01T10:00:00.000Z",
        "agent_id": "agent-9",
        "labels": {"team": "billing"},
        "tracks": {},
    }
    return CallStarted(call=call, seq=0, at_ms=0, known_at_ms=0, **told | changes)


def sinks(tmp_path: Path, *urls: str, **settings: Any) -> list[tuple[str, WebhookSink]]:
    given = QUICK | {"spool_dir": str(tmp_path / "spool")} | settings
    return [(name, sink) for name, sink in make(WebhookSettings(urls=urls, **given)) if isinstance(sink, WebhookSink)]


@asynccontextmanager
async def sending(tmp_path: Path, url: str, **settings: Any) -> AsyncIterator[WebhookSink]:
    """A sink at work."""
    ((_, sink),) = sinks(tmp_path, url, **settings)
    await sink.open()
    try:
        yield sink
    finally:
        await sink.close()


async def until(check: Callable[[], bool]) -> None:
    """Wait for what no event tells."""
    async with asyncio.timeout(10):
        while not check():
            await asyncio.sleep(0.002)
