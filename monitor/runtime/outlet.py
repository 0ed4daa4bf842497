"""One sink, the bounded queue in front of it, and the task or thread that serves it: see `monitor.runtime.delivery`."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from monitor.core.events import AlertCleared, AlertRaised, CallEnded, CallStarted, Event
from monitor.runtime.loose_threads import LooseThreads
from monitor.sinks import Measured, Sink

log = logging.getLogger("turnwatch.delivery")

KEPT = (AlertRaised, AlertCleared, CallStarted, CallEnded)
"""What gives way only to others of these when a queue is full."""

ALERTS = (AlertRaised, AlertCleared)

MAX_WAITING = 1000
"""Events that may wait for one sink."""


class Outlet:
    """One sink, its queue, and the loop that serves it: the caller's own (`home`), or that of a thread. `keeps`: what
    the sink has taken outlives the program."""

    def __init__(self, name: str, sink: Sink, patient: bool) -> None:
        self.name = name
        self.failure: BaseException | None = None
        self.dropped = 0
        self.done = asyncio.Event()
        self._sink = sink
        self.keeps = getattr(sink, "keeps", False)
        self._unkept: dict[tuple[str, int], asyncio.Future[None]] = {}
        self._hangs = False
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
                if self.keeps and isinstance(event, ALERTS):
                    self._on(self._home, partial(self._was_kept, event))
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

    def kept(self, alert: Event) -> asyncio.Future[None] | None:
        """Done once the sink has taken this alert, which is to be offered now; None where that is not to be waited
        for: the sink is closed, or hangs."""
        if self._hangs or self.done.is_set():
            return None
        self._unkept[alert.call, alert.seq] = future = self._home.create_future()
        return future

    def gave_up(self, alert: Event) -> None:
        """It took too long. No further alert waits for this sink before it has taken one."""
        if self._unkept.pop((alert.call, alert.seq), None) is not None:
            self._hangs = True

    def _was_kept(self, alert: Event) -> None:
        self._hangs = False
        future = self._unkept.pop((alert.call, alert.seq), None)
        if future is not None and not future.done():
            future.set_result(None)

    def _make_room(self, event: Event) -> bool:
        """Something is dropped: `event` itself, unless it is one of those that are kept before others."""
        if not self._behind:
            self._behind = True
            log.warning("%s is too slow: %d events wait for it, and further ones are dropped", self.name, MAX_WAITING)
        self.dropped += 1
        if not isinstance(event, KEPT):
            return False
        with self._changing:
            place = next((place for place, one in enumerate(self._waiting) if not isinstance(one, KEPT)), 0)
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
