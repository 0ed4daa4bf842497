"""A bounded queue in front of each sink: a slow, hanging or broken sink hurts only itself.

Each sink is served by a task of its own, or, where it may block (a terminal, a pipe), by a thread of its own with its
own event loop. A sink that raises is closed and gets no more events; the reason is logged and kept in `failures`. A
full queue drops events of that sink alone, counts them, and logs that it does, and how many once it has caught up.
Alerts, and the start and the end of a call, push others out. For a recording, whose pace is ours, a sink may be
`patient`: then the call waits for it and nothing is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from monitor.core.events import AlertCleared, AlertRaised, CallEnded, CallStarted, Event
from monitor.runtime.loose_threads import LooseThreads
from monitor.sinks import Measured, Sink

log = logging.getLogger("turnwatch.delivery")

_KEPT = (AlertRaised, AlertCleared, CallStarted, CallEnded)
"""What gives way only to others of these when a queue is full."""

MAX_WAITING = 1000
"""Events that may wait for one sink."""


class _Outlet:
    """One sink, its queue, and the loop that serves it: the caller's own (`home`), or that of a thread."""

    def __init__(self, name: str, sink: Sink, patient: bool) -> None:
        self.name = name
        self.failure: BaseException | None = None
        self.dropped = 0
        self.done = asyncio.Event()
        self._sink = sink
        self.patient = patient
        self._waiting: deque[Event] = deque()
        self._changing = threading.Lock()  # appending is safe without it; looking through the queue is not
        self._behind = self._closing = False
        self._thread: threading.Thread | None = None
        self._home = self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()

    async def serve(self) -> None:
        """Open the sink, give it events until the end, close it. Never raises."""
        try:
            await self._sink.open()
            await self._drain()
        except (Exception, SystemExit) as error:  # a broken pipe leaves rich as SystemExit
            self._fail(error)
        finally:
            try:
                await self._sink.close()
            except (Exception, SystemExit) as error:
                self._fail(error)
            self._on(self._home, self.done.set)
            self._on(self._home, self._room.set)

    async def _drain(self) -> None:
        told = 0
        while True:
            while self._waiting:
                with self._changing:
                    event = self._waiting.popleft()
                await self._sink.deliver(event)
                if len(self._waiting) == MAX_WAITING // 2:
                    self._on(self._home, self._room.set)
            if self.dropped > told:
                log.warning("%s fell behind: %d events were not given to it", self.name, self.dropped - told)
                told = self.dropped
            self._behind = False
            if self._closing and not self._waiting:
                return
            self._wake.clear()
            if not self._waiting and not self._closing:
                await self._wake.wait()

    def _fail(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error
            if not isinstance(error, BrokenPipeError | SystemExit):
                log.error("%s gets no more events: %s: %s", self.name, type(error).__name__, error)

    def start_thread(self) -> None:
        """Serve from a thread: a sink that blocks there blocks nobody else, not even the end of the program."""
        started = threading.Event()

        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self._loop.set_default_executor(LooseThreads())
            started.set()
            await self.serve()

        def run() -> None:
            # This kind of loop has add_reader on every system, which MQTT's client needs.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(serve())

        self._thread = threading.Thread(target=run, name=f"sink {self.name}", daemon=True)
        self._thread.start()
        started.wait()

    async def offer(self, event: Event) -> None:
        """Queue an event, or drop it; waits for room only where the outlet is patient."""
        while self.patient and len(self._waiting) >= MAX_WAITING and not self.done.is_set():
            self._room.clear()
            await self._room.wait()
        if self.done.is_set():
            return
        if len(self._waiting) >= MAX_WAITING and not self._make_room(event):
            return
        self._waiting.append(event)
        if len(self._waiting) == 1:
            self._on(self._loop, self._wake.set)

    def _make_room(self, event: Event) -> bool:
        """Something is dropped: `event` itself, unless it is one of those that are kept before others."""
        if not self._behind:
            self._behind = True
            log.warning("%s is too slow: %d events wait for it, and further ones are dropped", self.name, MAX_WAITING)
        self.dropped += 1
        if not isinstance(event, _KEPT):
            return False
        with self._changing:
            place = next((place for place, one in enumerate(self._waiting) if not isinstance(one, _KEPT)), 0)
            if self._waiting:
                del self._waiting[place]
        return True

    def figures(self) -> dict[str, float]:
        """How the sink is doing, in numbers by name."""
        own: dict[str, float] = {}
        if isinstance(self._sink, Measured):
            with suppress(Exception):  # figures are for looking at: a fault in them ends nothing
                own = self._sink.figures()
        up = self.failure is None and not self.done.is_set()
        return {**own, "waiting": len(self._waiting), "overflowed": self.dropped, "up": float(up)}

    def hurry(self) -> None:
        """Wait for room no more."""
        self.patient = False
        self._room.set()

    def finish(self) -> None:
        """Let the sink be closed once its queue is empty."""
        self._closing = True
        self._on(self._loop, self._wake.set)

    def leave(self) -> None:
        """The sink is closed: let its thread end too, so that the program does not end under its feet."""
        if self._thread is not None and self.done.is_set():
            self._thread.join(1)

    def _on(self, loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> None:
        if self._loop is self._home:
            action()
        else:
            with suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(action)


class Delivery:
    """Hands every event to every sink. To be opened, used and closed in one event loop."""

    def __init__(self) -> None:
        self._outlets: list[_Outlet] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._hurried = asyncio.Event()
        self._when_alone: Callable[[], None] | None = None

    def add(self, name: str, sink: Sink, *, own_thread: bool = False, patient: bool = False) -> None:
        """Start to serve a sink, from within the event loop. `own_thread`: for one that may block. `patient`: `deliver`
        waits for it when its queue is full."""
        outlet = _Outlet(name, sink, patient)
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
        for outlet in self._outlets:
            await outlet.offer(event)

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
