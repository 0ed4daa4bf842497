"""All calls that come in: an inbox and a listening task each. A `connectors.base.Door`.

One call's trouble stays with it. When the program stops, every call ends as `stopped`, with all that is open told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from connectors.base import Feed
from connectors.inputs import CallStarted, FleetView
from monitor.core.call import Status
from monitor.core.events import Event
from monitor.runtime.call_names import MAX_NAME, CallNames
from monitor.runtime.gauges import Gauges
from monitor.runtime.inbox import Inbox
from monitor.runtime.inquiry import Bench
from monitor.runtime.listener import Core, Listener, NewTape, View

log = logging.getLogger("turnwatch.call")


class _Line(msgspec.Struct, eq=False):
    """One call that goes on."""

    inbox: Inbox
    listener: Listener
    agent: str | None = None
    task: asyncio.Task[None] | None = None


class Switchboard:
    """Opens a feed for each call and listens to it. `new_core` makes a call's core, `new_tape` its tape, `deliver`
    takes its events. `bench`: who is asked about them. `view`: what is known across calls. `max_calls`: more are not
    listened to; whoever lets connections in asks `full` first."""

    def __init__(
        self,
        new_core: Callable[[], Core],
        deliver: Callable[[Event], Awaitable[None]],
        *,
        new_tape: NewTape | None = None,
        bench: Bench | None = None,
        max_calls: int = 1000,
        gauges: Gauges | None = None,
        view: View | None = None,
    ) -> None:
        self._new_core = new_core
        self._deliver = deliver
        self._new_tape = new_tape
        self._bench = bench
        self._max_calls = max_calls
        self._gauges = gauges or Gauges()
        self._view = view
        self._lines: set[_Line] = set()
        self._names = CallNames()
        self._stopping = False

    def open(self, started: CallStarted) -> Feed:
        """See `Door.open`."""
        inbox = Inbox()
        if self.full or self._stopping:
            log.warning("call %s is not watched: %d calls go on already", started.call[:MAX_NAME], len(self._lines))
            inbox.close()
            return inbox
        inbox.put(msgspec.structs.replace(started, call=self._names.own(started.call)))
        listener = Listener(self._new_core(), self._new_tape, bench=self._bench, view=self._view)
        line = _Line(inbox, listener, started.agent_id)
        self._lines.add(line)
        line.task = asyncio.create_task(self._listen(line), name=f"call {started.call[:MAX_NAME]}")
        self._gauges.calls_started += 1
        return inbox

    @property
    def full(self) -> bool:
        """No further call can be listened to."""
        return len(self._lines) >= self._max_calls

    @property
    def calls(self) -> list[Status]:
        """How the calls stand that go on."""
        return [line.listener.status for line in self._lines]

    def tell(self, agent: str | None, view: FleetView) -> None:
        """This is known across calls now: to the calls of the agent that go on, each at the time that it has come
        to."""
        for line in self._lines:
            if line.agent == agent:
                line.inbox.put(msgspec.structs.replace(view, at=line.listener.status.now_ms))

    async def stop(self, within_s: float = 2.0) -> None:
        """End every call as `stopped`, and wait until all is told; at most `within_s` seconds."""
        self._stopping = True
        tasks = [line.task for line in self._lines if line.task]
        for line in self._lines:
            line.inbox.close("stopped")
            line.listener.hurry()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=within_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _listen(self, line: _Line) -> None:
        try:
            async for event in line.listener.events(line.inbox):
                await self._deliver(event)
        finally:
            line.inbox.close()
            self._lines.discard(line)
            self._gauges.inputs_dropped += line.inbox.dropped
            self._gauges.calls_failed += line.listener.failed
