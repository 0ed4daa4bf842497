"""`turnwatch serve` on free ports of loopback: all that it tells, call by call, and the tapes that it keeps."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from monitor.core.encode import encode
from monitor.core.events import CallEnded, Event
from monitor.runtime.hearing import CallMonitor
from monitor.runtime.serve import Service
from monitor.runtime.watch import NewCore
from tests.pipeline.contract import check_stream
from tests.runtime.running import settings

PATIENCE_S = 20.0


class Serving:
    """A service that runs. `told`: the events of each call, by its id."""

    def __init__(self, assignments: tuple[str, ...], tape_dir: Path | None, new_core: NewCore) -> None:
        self.told: dict[str, list[Event]] = {}
        self.tapes = tape_dir
        self._news = asyncio.Event()
        self.service = Service(settings(*assignments), self._deliver, tape_dir=tape_dir, new_core=new_core)

    async def _deliver(self, event: Event) -> None:
        self.told.setdefault(event.call, []).append(event)
        self._news.set()

    async def until(self, happened: Callable[[], object], seconds: float = PATIENCE_S) -> None:
        """Wait until something has happened; looked at whenever an event comes, and now and then."""
        async with asyncio.timeout(seconds):
            while not happened():
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.02)

    def ended(self) -> list[list[Event]]:
        """The calls that are over."""
        return [events for events in self.told.values() if isinstance(events[-1], CallEnded)]

    async def over(self, number: int = 1) -> list[list[Event]]:
        """Wait until so many calls are over."""
        await self.until(lambda: len(self.ended()) >= number)
        return self.ended()

    async def call(self) -> list[Event]:
        """The one call, when it is over."""
        (events,) = await self.over()
        return events

    def url(self, path: str = "/twilio") -> str:
        """Where calls come in."""
        return f"ws://{self.service.ingest}{path}"


@contextlib.asynccontextmanager
async def serving(
    *assignments: str, tape_dir: Path | None = None, new_core: NewCore = CallMonitor
) -> AsyncIterator[Serving]:
    """The service with these settings. Whatever call it has told, by the end, keeps the contract."""
    one = Serving(assignments, tape_dir, new_core)
    await one.service.start()
    try:
        yield one
    finally:
        await one.service.stop()
    for events in one.told.values():
        check_stream(events)


def lines_of(events: list[Event]) -> list[bytes]:
    """The lines that they are told as."""
    return [encode(event) for event in events]


def upstream(agent: Any) -> str:
    """The setting that makes a simulated agent the relay's provider."""
    return f"elevenlabs.upstream={agent.base_url.replace('http', 'ws')}"
