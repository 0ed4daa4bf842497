"""Which alerts are open, for those who come late: retained under a topic of each alert's own, until it is cleared.

The event alert.raised itself is never retained, or every subscriber that starts anew would take it for a new alert. Who
comes late sees the state: the line of the last alert.raised, with the user property `state: open`, under
`turnwatch/<site>/alerts/<alert id>`. It goes away

- when the alert is cleared, or its call ends;
- when the monitor starts again after it was killed: what it had left open is in a file beside the spool. Then the empty
  message has the user property `state: lost`, since nobody knows how the alert stands, else `state: cleared`;
- by itself, if the monitor never comes again: the broker forgets it after `mqtt.state_expiry_s`.
"""

from __future__ import annotations

from monitor.core.encode import encode
from monitor.core.events import AlertCleared, AlertRaised, CallEnded, Event
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.message import Message
from monitor.sinks.spool import Spool


class OpenAlerts:
    """The state that the broker is to hold. `record`: which topics it may hold by now, from former programs too."""

    def __init__(self, record: Spool, site: str, monitor: str, expiry_s: int) -> None:
        self._record, self._site, self._monitor, self._expiry_s = record, site, topics.plain(monitor), expiry_s
        self._open: dict[str, AlertRaised] = {}  # by topic
        self._numbers: dict[str, int] = {}
        item = record.head()
        while item is not None:
            self._numbers[item.key] = item.number
            item = record.after(item.number)
        self._due = dict.fromkeys(self._numbers)  # a former program's are open no more
        self._lost = set(self._numbers)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def lost(self) -> list[str]:
        """The last level of the topic of each alert that a former program had left open."""
        return [topic.rpartition("/")[2] for topic in self._lost]

    def go_by(self, monitor: str) -> None:
        """The monitor has another name from now on."""
        self._monitor = topics.plain(monitor)

    def follow(self, event: Event) -> None:
        """Take note of an event."""
        if isinstance(event, AlertRaised):
            topic = topics.alerts(self._site, event.alert.id)
            self._open[topic] = event
            self._lost.discard(topic)
            self._numbers[topic] = self._record.put(topic, b"", {})
            self._due[topic] = None
        elif isinstance(event, AlertCleared):
            self._close(topics.alerts(self._site, event.alert.id))
        elif isinstance(event, CallEnded):
            for topic in [topic for topic, raised in self._open.items() if raised.call == event.call]:
                self._close(topic)

    def renew(self) -> None:
        """All of it is to be told once more: the connection is new, or it would expire."""
        self._due |= dict.fromkeys(self._open)

    def next(self) -> Message | None:
        """The next message that brings the broker's state up to date."""
        for topic in self._due:
            raised = self._open.get(topic)
            if raised is None:
                state = "lost" if topic in self._lost else "cleared"
                return Message(topic=topic, qos=1, retain=True, user=(("state", state), ("monitor", self._monitor)))
            user = (("state", "open"), ("event-id", topics.event_id(raised)), ("monitor", self._monitor))
            return Message(topic=topic, payload=encode(raised), qos=1, retain=True, expiry_s=self._expiry_s, user=user)
        return None

    def sent(self, message: Message) -> None:
        """It is on its way; if the connection breaks before it has arrived, `unsent` follows."""
        self._due.pop(message.topic, None)

    def unsent(self, message: Message) -> None:
        """It did not arrive."""
        self._due[message.topic] = None

    def arrived(self, message: Message) -> None:
        """The broker has it."""
        if not message.payload and message.topic not in self._open and message.topic in self._numbers:
            self._record.done(self._numbers.pop(message.topic))

    def _close(self, topic: str) -> None:
        if self._open.pop(topic, None) is not None:
            self._due[topic] = None
