"""What is remembered of the calls that go on, and the alerts that are open: bounded, and let go of by itself.

`call.ended` may never come: a full queue drops it. So a call is also forgotten when the program no longer has it and
nothing was heard of it for a while, and beyond a number of calls the one that was silent for longest.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from typing import Final, NamedTuple

from monitor.core.events import Alert, Turn

MOST_CALLS: Final = 10_000
MOST_ALERTS: Final = 10_000
TURNS_KEPT: Final = 32
FORGOTTEN_AFTER_S: Final = 60.0


class OpenAlert(NamedTuple):
    """The labels of an alert that is open, and whose it is."""

    agent: str
    rule: str
    severity: str
    scope: str
    call: str


class HeardTurn(NamedTuple):
    """What transitions need to know of a turn."""

    role: str
    ended_by: str | None
    after_stall: bool


class HeardCall:
    """A call that goes on: its agent's label, and its last turns by index. `across`: it is none, but stands for the
    alerts across an agent's calls."""

    __slots__ = ("across", "agent", "heard_at", "turns")

    def __init__(self, agent: str, now: float, across: bool) -> None:
        self.agent, self.across = agent, across
        self.heard_at = now
        self.turns: dict[int, HeardTurn] = {}

    def keep(self, turn: Turn) -> None:
        """A turn has begun, or has ended."""
        self.turns[turn.index] = HeardTurn(turn.role, turn.ended_by, turn.after_stall)
        if len(self.turns) > TURNS_KEPT:
            del self.turns[next(iter(self.turns))]


class CallsHeard:
    """All of them. Times are seconds of any clock that never goes back."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, HeardCall] = OrderedDict()
        self._alerts: dict[str, OpenAlert] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def begin(self, call: str, agent: str, now: float, across: bool = False) -> None:
        """`call.started`."""
        self._calls[call] = HeardCall(agent, now, across)
        while len(self._calls) > MOST_CALLS:
            self._forget(next(iter(self._calls)))

    def of(self, call: str, now: float) -> HeardCall:
        """The call; one of an unknown agent where its beginning was not heard."""
        found = self._calls.get(call)
        if found is None:
            self.begin(call, "", now)
            found = self._calls[call]
        found.heard_at = now
        self._calls.move_to_end(call)
        return found

    def end(self, call: str) -> None:
        """`call.ended`: its alerts are open no more."""
        self._forget(call, ("call", "fleet"))

    def raised(self, alert: Alert, opened: OpenAlert) -> None:
        """An alert is open, or open with another severity."""
        self._alerts[alert.id] = opened
        while len(self._alerts) > MOST_ALERTS:
            del self._alerts[next(iter(self._alerts))]

    def cleared(self, alert: Alert) -> None:
        """An alert is over."""
        self._alerts.pop(alert.id, None)

    def open_alerts(self) -> Counter[tuple[str, str, str, str]]:
        """How many are open, by agent, rule, severity and scope."""
        return Counter(opened[:4] for opened in self._alerts.values())

    def reconcile(self, live: Collection[str], now: float) -> None:
        """Forget the calls that are not among the `live` ones and of which nothing was heard for a while."""
        known = set(live)
        gone = []
        for call, heard in self._calls.items():  # the one silent for longest first
            if now - heard.heard_at < FORGOTTEN_AFTER_S:
                break
            if call not in known and not heard.across:
                gone.append(call)
        for call in gone:
            self._forget(call)

    def _forget(self, call: str, scopes: tuple[str, ...] = ("call",)) -> None:
        self._calls.pop(call, None)
        own = [name for name, opened in self._alerts.items() if opened.call == call and opened.scope in scopes]
        for name in own:
            del self._alerts[name]
