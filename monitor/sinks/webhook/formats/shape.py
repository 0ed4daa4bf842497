"""What a format is, and what it may know of a call beside the event itself."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from monitor.core.events import AlertRaised, CallStarted, Event

ALERTS = frozenset({"alert.raised", "alert.cleared"})


class About(NamedTuple):
    """Of an event's call: what its `call.started` has told. All is unknown for a call whose start was not seen."""

    source: str | None = None
    agent_id: str | None = None
    started_at: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


class Format:
    """How events are put to one kind of receiver. `takes`: the types it has words for; None for all. `signed`: the
    receiver is one's own, and can verify. `path`: that of a URL that has none. `keyed`: it takes a routing key."""

    takes: ClassVar[frozenset[str] | None] = None
    signed: ClassVar[bool] = False
    path: ClassVar[str] = ""
    keyed: ClassVar[bool] = False

    def body(self, event: Event, about: About) -> bytes:
        """What is kept until it is delivered: the same for every try, and without secrets."""
        raise NotImplementedError

    def lost(self, event: AlertRaised, about: About) -> bytes:
        """What is said of an alert that was open when the program was killed: nobody knows how it stands."""
        raise NotImplementedError

    def sent(self, body: bytes, routing_key: str) -> bytes:
        """What is sent of that."""
        return body


class CallsKnown:
    """What is known of the calls that go on; of the last 2,000 at most."""

    def __init__(self, limit: int = 2_000) -> None:
        self._limit = limit
        self._known: dict[str, About] = {}

    def __len__(self) -> int:
        return len(self._known)

    def follow(self, event: Event) -> About:
        """Take note of an event. -> what is known of its call."""
        if isinstance(event, CallStarted):
            labels = tuple((name[:50], value[:100]) for name, value in list(event.labels.items())[:10])
            self._known[event.call] = About(event.source, event.agent_id, event.started_at, labels)
            if len(self._known) > self._limit:
                del self._known[next(iter(self._known))]
        if event.type == "call.ended":
            return self._known.pop(event.call, About())
        return self._known.get(event.call, About())
