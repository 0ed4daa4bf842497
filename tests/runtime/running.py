"""A service that runs on free ports of loopback, and all that it told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from monitor.config import Config, load
from monitor.core import events
from monitor.core.events import Event
from monitor.runtime.serve import Service


def settings(*assignments: str) -> Config:
    return load(assignments=["serve.ingest=127.0.0.1:0", "serve.console=127.0.0.1:0", *assignments])


class Running:
    """A service that runs, and all that it told."""

    def __init__(self, config: Config, tape_dir: Path | None = None) -> None:
        self.events: list[Event] = []
        self._told = asyncio.Condition()
        self.service = Service(config, self._deliver, tape_dir=tape_dir)

    async def _deliver(self, event: Event) -> None:
        self.events.append(event)
        async with self._told:
            self._told.notify_all()

    async def until(self, kind: type[Event], times: int = 1, within_s: float = 5) -> None:
        """Wait for so many events of this kind."""
        async with asyncio.timeout(within_s), self._told:
            await self._told.wait_for(lambda: sum(isinstance(event, kind) for event in self.events) >= times)

    def url(self, path: str) -> str:
        return f"ws://{self.service.ingest}{path}"

    async def get(self, path: str, *, console: bool = False, **headers: str) -> httpx.Response:
        address = self.service.console if console else self.service.ingest
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(f"http://{address}{path}", headers=headers)

    def causes(self) -> list[str]:
        return [event.cause for event in self.events if isinstance(event, events.CallEnded)]


@contextlib.asynccontextmanager
async def running(config: Config, tape_dir: Path | None = None) -> AsyncIterator[Running]:
    one = Running(config, tape_dir)
    await one.service.start()
    try:
        yield one
    finally:
        await one.service.stop()
