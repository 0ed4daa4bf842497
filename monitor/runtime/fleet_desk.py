"""What a broker brings of a whole fleet: its messages in, the events of all calls out, each once and in order.

    desk = FleetDesk(fleet, deliver, detects=True, shows=True)
    await desk.take(topic, payload, monitor)
    await desk.tick()

| topic under `turnwatch/<site>/` | becomes |
|---|---|
| `calls/<call>/<type>` | the event, to the sinks and to the fleet |
| `monitors/<monitor>` | a notice, where a monitor is lost or comes back; the calls of a lost one are counted no more |

What cannot be read is counted and told, and ends nothing.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from monitor.core import events
from monitor.core.decode import Undecodable, UnknownType, decode
from monitor.core.events import Event
from monitor.core.fleet.alerts import SOURCE
from monitor.core.fleet.ordering import Ordering, Seen
from monitor.runtime.fleet import Fleet

MONITORS_KEPT = 1000
_TELL_EVERY_S = 60.0


class FleetDesk:
    """`detects`: the fleet is given the events. `shows`: `deliver` is. `whole`: every event of a call comes here, so
    that they can be put in order; else only doubles are left out."""

    def __init__(
        self,
        fleet: Fleet,
        deliver: Callable[[Event], Awaitable[None]],
        *,
        max_calls: int,
        detects: bool = True,
        shows: bool = True,
        whole: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleet = fleet
        self._deliver = deliver
        self._detects, self._shows = detects, shows
        self._ordering = Ordering(max_calls) if whole else None
        self._seen = Seen()
        self._clock = clock
        self._zero = clock()
        self._monitors: OrderedDict[str, str] = OrderedDict()
        self._calls: OrderedDict[str, str] = OrderedDict()
        self._max_calls = max_calls
        self._seq = 0
        self._told: dict[str, int] = {}
        self._next_tell = self._zero + _TELL_EVERY_S
        self.counts: dict[str, int] = {
            "events": 0,
            "unreadable": 0,
            "unknown": 0,
            "doubles": 0,
            "missing": 0,
            "lost": 0,
        }

    @property
    def monitors(self) -> int:
        """Monitors that are online."""
        return sum(state == "online" for state in self._monitors.values())

    async def take(self, topic: str, payload: bytes, monitor: str | None = None) -> None:
        """A message, and the monitor that published it where that is known."""
        parts = topic.split("/")
        if len(parts) == 4 and parts[2] == "monitors":
            await self._monitor(payload)
        elif len(parts) == 5 and parts[2] == "calls":
            await self._event(payload, monitor)

    async def tick(self) -> None:
        """Time has passed."""
        if self._ordering is not None:
            for event in self._ordering.overdue(self._now_ms()):
                await self._hand_on(event)
            self.counts |= {"doubles": self._ordering.doubles, "missing": self._ordering.missing}
        if self._clock() >= self._next_tell:
            self._next_tell = self._clock() + _TELL_EVERY_S
            await self._tell_losses()

    async def close(self) -> None:
        """The program stops."""
        await self._tell_losses()
        if self._seq and self._shows:
            ended = events.CallEnded(**self._envelope(), cause="stopped", summary={"duration": self._now_ms() / 1000})
            await self._deliver(ended)

    async def _event(self, payload: bytes, monitor: str | None) -> None:
        try:
            event = decode(payload)
        except UnknownType:
            self.counts["unknown"] += 1
            return
        except Undecodable:
            self.counts["unreadable"] += 1
            return
        if self._fleet.owns(event.call):
            return  # it is ours, come back
        self.counts["events"] += 1
        if monitor is not None:
            self._note(event, monitor)
        if self._ordering is not None:
            for one in self._ordering.take(event, self._now_ms()):
                await self._hand_on(one)
        elif self._seen.add(event):
            await self._hand_on(event)
        else:
            self.counts["doubles"] += 1

    async def _hand_on(self, event: Event) -> None:
        if self._shows:
            await self._deliver(event)
        if self._detects:
            await self._fleet.take(event)

    def _note(self, event: Event, monitor: str) -> None:
        """Whose call it is."""
        if isinstance(event, events.CallEnded):
            self._calls.pop(event.call, None)
        else:
            self._calls[event.call] = monitor
            if len(self._calls) > self._max_calls:
                self._calls.popitem(last=False)

    async def _monitor(self, payload: bytes) -> None:
        try:
            told = msgspec.json.decode(payload, type=_MonitorState)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.counts["unreadable"] += bool(payload)
            return
        before = self._monitors.pop(told.monitor, None)
        self._monitors[told.monitor] = told.state
        if len(self._monitors) > MONITORS_KEPT:
            self._monitors.popitem(last=False)
        if before is None or before == told.state:
            return  # the first word of a monitor is what the broker has kept: no news
        if told.state == "online":
            await self.notice("monitor_online", f"the monitor {told.monitor} is there again")
        elif told.cause == "lost":
            lost = [call for call, monitor in self._calls.items() if monitor == told.monitor]
            for call in lost:
                del self._calls[call]
            self._fleet.forget(lost)
            many = f": {len(lost)} calls of it are watched by nobody now" if lost else ""
            await self.notice("monitor_lost", f"the monitor {told.monitor} is gone without a word{many}")

    async def _tell_losses(self) -> None:
        words = {
            "unreadable": "messages under calls/ could not be read as events",
            "unknown": "events were of types that this version does not know",
            "missing": "events of calls did not come",
            "lost": "messages came faster than they could be taken, and were let go",
        }
        for kind, text in words.items():
            more = self.counts[kind] - self._told.get(kind, 0)
            if more > 0:
                self._told[kind] = self.counts[kind]
                await self.notice("gap" if kind in ("missing", "lost") else "bad_payload", f"{more} {text}", more)

    async def notice(self, kind: str, message: str, count: int = 1) -> None:
        """Something about the fleet itself, under a pseudo-call of its own."""
        if not self._shows:
            return
        if self._seq == 0:
            begun = events.CallStarted(
                **{**self._envelope(), "at_ms": 0, "known_at_ms": 0},
                source=SOURCE,
                started_at=self._fleet.started_at,
                agent_id=None,
                labels={},
                tracks={},
            )
            await self._deliver(begun)
        await self._deliver(events.Notice(**self._envelope(), kind=kind, track=None, count=count, message=message))

    def _envelope(self) -> dict[str, Any]:
        self._seq += 1
        now = self._now_ms()
        return {"call": f"{SOURCE}@{self._fleet.start}", "seq": self._seq - 1, "at_ms": now, "known_at_ms": now}

    def _now_ms(self) -> int:
        return int((self._clock() - self._zero) * 1000)


class _MonitorState(msgspec.Struct):
    monitor: str
    state: str
    cause: str | None = None
