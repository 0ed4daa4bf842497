"""What is to be published, in one order: what the spool keeps, and what is only passed on while the broker is there.

An event that is passed on knows behind which kept one it came. So the order of a call holds on the wire: also when a
connection has broken, and the kept ones that the broker has not confirmed are sent once more, before anything newer.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import NamedTuple

from monitor.core.encode import encode
from monitor.core.events import AlertCleared, AlertRaised, CallEnded, CallStarted, Event
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.message import Message
from monitor.sinks.spool import Item, Spool

KEPT = (CallStarted, CallEnded, AlertRaised, AlertCleared)
"""These go by QoS 1 and are never lost while the spool has room."""

MAX_PASSING = 1000


class Outgoing(NamedTuple):
    """A message, and the spool's number where it is a kept one."""

    message: Message
    number: int | None


class Outbox:
    """The events on their way to one broker."""

    def __init__(self, spool: Spool, site: str, monitor: str, others_qos: int = 0) -> None:
        self.spool = spool
        self.skipped = 0
        """Events that were passed on to nobody: the broker was away, or too slow."""
        self._site, self._monitor, self._others_qos = site, topics.plain(monitor), others_qos
        self._passing: deque[tuple[int, Message]] = deque()
        self._last = 0

    @property
    def full(self) -> bool:
        """There is no room for one more that is only passed on."""
        return len(self._passing) >= MAX_PASSING

    def go_by(self, monitor: str) -> None:
        """The monitor has another name from now on."""
        self._monitor = topics.plain(monitor)

    def keep(self, event: Event) -> None:
        """Take an event that is not to be lost."""
        meta = {
            "topic": topics.calls(self._site, event.call, event.type),
            "event-id": topics.event_id(event),
            "type": event.type,
            "monitor": self._monitor,
            "taken-at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        self._last = max(self._last, self.spool.put(f"{event.call}#{event.seq}", encode(event), meta))

    def pass_on(self, event: Event) -> None:
        """Take an event that is sent if the broker is there. Where there is no room, the oldest gives way."""
        if self.full:
            self._passing.popleft()
            self.skipped += 1
        user = (("event-id", topics.event_id(event)), ("type", event.type), ("monitor", self._monitor))
        topic = topics.calls(self._site, event.call, event.type)
        self._passing.append((self._last, Message(topic=topic, payload=encode(event), qos=self._others_qos, user=user)))

    def skip(self) -> None:
        """An event comes that is not kept, and the broker is away."""
        self.skipped += 1

    def clear(self) -> None:
        """The broker is away: what is not kept is not sent."""
        self.skipped += len(self._passing)
        self._passing.clear()

    def next(self, sent: int) -> Outgoing | None:
        """What comes next on a connection that has sent the kept ones up to number `sent`."""
        kept = self.spool.after(sent) if len(self.spool) else None
        if self._passing and (kept is None or self._passing[0][0] < kept.number):
            return Outgoing(self._passing[0][1], None)
        return kept and Outgoing(_message(kept), kept.number)

    def passed(self) -> None:
        """The first of those that are passed on has been sent."""
        self._passing.popleft()


def _message(item: Item) -> Message:
    user = {key: value for key, value in item.meta.items() if key != "topic"}
    return Message(topic=item.meta["topic"], payload=item.body, qos=1, user=tuple(user.items()))
