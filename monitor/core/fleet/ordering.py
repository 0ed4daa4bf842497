"""Events of many calls, as a network brings them: twice, out of order, from the middle. Each once, each call's in
order.

(`call`, `seq`) identifies an event. What comes early waits for what lies before it, a moment and only so much of it;
then the call goes on without what is missing, which is counted.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from monitor.core.events import CallEnded, Event

HOLD_MS = 2000
HOLD_EVENTS = 256
"""So many events of one call wait at most ..."""
HOLD_EVENTS_OF_ALL = 20_000
"""... and so many of all calls."""


class _Line(msgspec.Struct, eq=False):
    due: int = 0
    early: dict[int, Event] = msgspec.field(default_factory=dict)
    since_ms: int = 0
    ended: bool = False


class Ordering:
    """`max_calls`: so many calls are remembered, the ended ones for as long as there is room. Counted since the start:
    `doubles` (came before, or too late), `missing` (in the midst of a call), `calls_let_go` (open ones). `held`: events
    that wait now."""

    def __init__(self, max_calls: int = 20_000) -> None:
        self._max_calls = max_calls
        self._lines: OrderedDict[str, _Line] = OrderedDict()
        self._held: set[str] = set()
        self.held = 0
        self.doubles = 0
        self.missing = 0
        self.calls_let_go = 0

    def take(self, event: Event, now_ms: int) -> list[Event]:
        """An event has come. -> the events whose turn it is."""
        line = self._lines.get(event.call)
        if line is None:
            line = self._lines[event.call] = _Line()
            self._make_room()
        elif event.call not in self._held:
            self._lines.move_to_end(event.call)
        if event.seq < line.due or event.seq in line.early or line.ended:
            self.doubles += 1
            return []
        if event.seq == line.due and not line.early:
            line.due += 1
            line.ended = isinstance(event, CallEnded)
            return [event]
        if not line.early:
            line.since_ms = now_ms
            self._held.add(event.call)
        line.early[event.seq] = event
        self.held += 1
        full = len(line.early) > HOLD_EVENTS or self.held > HOLD_EVENTS_OF_ALL
        return self._let_on(event.call, line, now_ms, forced=full)

    def overdue(self, now_ms: int) -> list[Event]:
        """What has waited long enough for what is missing before it."""
        out: list[Event] = []
        for call in [call for call in self._held if now_ms - self._lines[call].since_ms >= HOLD_MS]:
            out += self._let_on(call, self._lines[call], now_ms, forced=True)
        return out

    def _let_on(self, call: str, line: _Line, now_ms: int, *, forced: bool) -> list[Event]:
        out: list[Event] = []
        if forced and line.due not in line.early:
            first = min(line.early)
            self.missing += first - line.due if line.due else 0  # a call that was joined lacks nothing
            line.due = first
        while line.due in line.early:
            event = line.early.pop(line.due)
            self.held -= 1
            line.due += 1
            line.ended = line.ended or isinstance(event, CallEnded)
            out.append(event)
        if out:
            line.since_ms = now_ms
        if not line.early or line.ended:
            self.held -= len(line.early)
            line.early.clear()
            self._held.discard(call)
        return out

    def _make_room(self) -> None:
        while len(self._lines) > self._max_calls:
            ended = next((call for call, line in self._first(100) if line.ended), None)
            call = ended or next(iter(self._lines))
            line = self._lines.pop(call)
            self._held.discard(call)
            self.held -= len(line.early)
            self.calls_let_go += not line.ended

    def _first(self, many: int) -> list[tuple[str, _Line]]:
        return [pair for pair, _ in zip(self._lines.items(), range(many), strict=False)]


class Seen:
    """Tells events that came before, where only some of each call's come: the last `limit` are remembered."""

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self._seen: OrderedDict[tuple[str, int], None] = OrderedDict()

    def add(self, event: Event) -> bool:
        """One more. -> whether it is new."""
        key = event.call, event.seq
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self._limit:
            self._seen.popitem(last=False)
        return True
