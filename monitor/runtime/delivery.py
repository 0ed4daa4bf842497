"""A bounded queue in front of each sink: a slow, hanging or broken sink hurts only itself.

Each sink is served by a task of its own, or, where it may block (a terminal, a pipe), by a thread of its own with its
own event loop. A sink that raises is closed and gets no more events; the reason is logged and kept in `failures`. A
full queue drops events of that sink alone, counts them, and logs that it does, and how many once it has caught up.
Alerts, and the start and the end of a call, push others out. For a recording, whose pace is ours, a sink may be
`patient`: then the call waits for it and nothing is dropped.

An alert goes first to the sinks that keep it (on disk), and to the others once those have it, or a moment later: what
anybody has been told is not lost if the program is killed right then. Only the events of that call wait meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from monitor.core.events import Event
from monitor.runtime.outlet import ALERTS, Outlet
from monitor.sinks import Sink

log = logging.getLogger("turnwatch.delivery")

KEPT_WITHIN_S = 0.25
"""An alert is told to all after this time at the latest, whether or not it is kept by then."""


class Delivery:
    """Hands every event to every sink. To be opened, used and closed in one event loop."""

    def __init__(self) -> None:
        self._outlets: list[Outlet] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._hurried = asyncio.Event()
        self._when_alone: Callable[[], None] | None = None

    def add(self, name: str, sink: Sink, *, own_thread: bool = False, patient: bool = False) -> None:
        """Start to serve a sink, from within the event loop. `own_thread`: for one that may block. `patient`: `deliver`
        waits for it when its queue is full."""
        outlet = Outlet(name, sink, patient)
        self._outlets.append(outlet)
        if own_thread:
            outlet.start_thread()
        else:
            self._tasks.append(asyncio.create_task(outlet.serve(), name=f"sink {name}"))

    @property
    def failures(self) -> dict[str, BaseException]:
        """The sinks that have failed, by name, and why."""
        return {outlet.name: outlet.failure for outlet in self._outlets if outlet.failure is not None}

    @property
    def dropped(self) -> dict[str, int]:
        """How many events each sink did not get because it was too slow."""
        return {outlet.name: outlet.dropped for outlet in self._outlets}

    def figures(self) -> dict[str, dict[str, float]]:
        """How each sink is doing, by name: events `waiting` in its queue, events `overflowed` from it, whether it is
        `up` (1 or 0), and the sink's own figures."""
        return {outlet.name: outlet.figures() for outlet in self._outlets}

    @property
    def alive(self) -> int:
        """How many sinks still get events."""
        return sum(outlet.failure is None for outlet in self._outlets)

    def when_alone(self, callback: Callable[[], None]) -> None:
        """Call `callback` with the first event that no sink takes any more."""
        self._when_alone = callback

    async def deliver(self, event: Event) -> None:
        """Hand on one event. Waits for nobody but patient sinks."""
        if self._when_alone is not None and not self.alive:
            self._when_alone()
            self._when_alone = None
        first = await self._kept_first(event) if isinstance(event, ALERTS) else ()
        for outlet in self._outlets:
            if outlet not in first:
                await outlet.offer(event)

    async def _kept_first(self, alert: Event) -> list[Outlet]:
        """Offer an alert to the sinks that keep what they take, and wait a moment for them. -> these sinks."""
        keepers = [outlet for outlet in self._outlets if outlet.keeps]
        awaited = [future for outlet in keepers if (future := outlet.kept(alert)) is not None]
        for outlet in keepers:
            await outlet.offer(alert)
        if awaited:
            _, late = await asyncio.wait(awaited, timeout=KEPT_WITHIN_S)
            if late:
                for outlet in keepers:
                    outlet.gave_up(alert)
        return keepers

    def hurry(self) -> None:
        """Wait for no sink any more, patient or not: the program is being stopped."""
        self._hurried.set()
        for outlet in self._outlets:
            outlet.hurry()

    async def close(self, within_s: float = 3.0) -> bool:
        """Let every sink finish what waits, and close it: patient ones in their own time unless there is a hurry,
        others within `within_s` seconds. False if one still blocks its thread: then that thread stays behind."""
        for outlet in self._outlets:
            outlet.finish()
        finishing = asyncio.create_task(self._finished())
        hurried = asyncio.create_task(self._hurried.wait())
        if any(outlet.patient for outlet in self._outlets):
            await asyncio.wait([finishing, hurried], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([finishing], timeout=within_s)
        for outlet in self._outlets:
            if not outlet.done.is_set():
                log.error("%s was left behind: it did not take its events within %g seconds", outlet.name, within_s)
            outlet.leave()
        for task in (finishing, hurried, *self._tasks):
            task.cancel()
        await asyncio.gather(finishing, hurried, *self._tasks, return_exceptions=True)
        return all(outlet.done.is_set() for outlet in self._outlets)

    async def _finished(self) -> None:
        for outlet in self._outlets:
            await outlet.done.wait()
