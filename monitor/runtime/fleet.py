"""The calls of this process seen together: a clock around `monitor.core.fleet`, its alerts to the sinks, and what it
knows to the calls.

    fleet = Fleet(config.fleet, delivery.deliver, store)
    await fleet.take(event)             # every event of every call
    await fleet.tick()                  # now and then
    switchboard = Switchboard(..., view=fleet.view)

Where a leader of the site is known (see `monitor.runtime.leadership`), that one raises the alerts, and its word counts
for the calls; this one goes on counting and learning, and says nothing.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from connectors.inputs import FleetView
from monitor.core.events import AlertRaised, Event, Severity
from monitor.core.fleet.alerts import RULE, UNNAMED
from monitor.core.fleet.baselines import Baselines
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Learnt, Standing
from monitor.core.fleet.watcher import FleetWatcher

log = logging.getLogger("turnwatch.fleet")

_PSEUDO_CALLS = 2000
"""So many that went from one process to another are remembered."""


class Known(msgspec.Struct, frozen=True):
    """What is known of an agent: the share of its turns that is usually barged in on (None: nothing yet), on how many
    turns of its own that rests, and whether an alert across calls is open, and how severe."""

    agent: str
    baseline: float | None
    raised: bool
    severity: Severity | None = None
    turns: int = 0


class BaselineStore(Protocol):
    """Keeps what baselines rest on."""

    def load(self, into: Baselines) -> None:
        """Teach `into` everything that is kept. May block; called once, at the start."""
        ...

    def keep(self, learnt: list[Learnt]) -> None:
        """Keep this. Returns at once."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class Fleet:
    """`deliver` takes the alerts. `store`: without one, baselines live in memory. `clock`: seconds that never go back,
    `wall`: seconds of the epoch. `when_changed` is called with each agent whose `Known` has changed."""

    def __init__(
        self,
        settings: FleetSettings,
        deliver: Callable[[Event], Awaitable[None]],
        store: BaselineStore | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._set = settings
        self._deliver = deliver
        self._store = store
        self._clock, self._wall = clock, wall
        self._zero = clock()
        begun = datetime.fromtimestamp(wall(), UTC)
        self.start = f"{begun:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        self._baselines = Baselines(settings)
        if store is not None:
            store.load(self._baselines)
        self.started_at = f"{begun:%Y-%m-%dT%H:%M:%SZ}"
        self._watcher = FleetWatcher(settings, self._baselines, start=self.start, started_at=self.started_at)
        self._led: dict[str, Known] | None = None
        self._told: dict[str, Known] = {}
        self._adopted: OrderedDict[str, None] = OrderedDict()
        self._given: OrderedDict[str, None] = OrderedDict()
        self._let_go = 0
        self.when_changed: Callable[[Known], None] = lambda known: None

    @property
    def standings(self) -> list[Standing]:
        """How every agent stands, as far as this process has heard."""
        return self._watcher.standings

    @property
    def calls(self) -> int:
        """Calls that go on."""
        return self._watcher.calls

    def forget(self, calls: Iterable[str]) -> None:
        """These calls are watched by nobody any more."""
        self._watcher.forget(calls)

    def owns(self, call: str) -> bool:
        """Is this one of the pseudo-calls that this process tells?"""
        return call in self._adopted or (f"@{self.start}" in call and call not in self._given)

    async def take(self, event: Event) -> None:
        """An event of a call."""
        await self._tell(self._now() + self._watcher.take(event))

    async def tick(self) -> None:
        """Time has passed."""
        await self._tell(self._now())
        self._keep()
        let_go = self._watcher.agents_let_go + self._watcher.calls_let_go + self._baselines.let_go
        if let_go > self._let_go:
            log.warning(
                "fleet: %d calls and agents were let go, there are more than fleet.max_calls and fleet.max_agents",
                let_go,
            )
            self._let_go = let_go

    async def close(self) -> None:
        """The program stops: what is open is cleared, what was learnt is kept."""
        told = self._now() + self._watcher.close()
        self._keep()
        if self._store is not None:
            self._store.close()
        for event in told:
            await self._deliver(event)

    @property
    def led(self) -> dict[str, Known] | None:
        """What somebody else who leads says of the agents; None where nobody does."""
        return self._led

    @property
    def learnt_turns(self) -> dict[str, int]:
        """On how many turns what is usual rests, for each agent that was heard of."""
        return self._watcher.learnt_turns

    def told(self, agent: str) -> AlertRaised | None:
        """What was told last of the alert that this process has open for an agent."""
        return self._watcher.told(agent)

    async def take_over(self, left: Iterable[tuple[Known, AlertRaised | None]]) -> None:
        """This process leads, and goes on with what the one before `left`: open alerts, and what is usual for agents of
        which too little is known here."""
        if self._led is None:
            return
        told = self._now()
        for known, alert in left:
            few = self._baselines.turns(known.agent) < self._set.needed_turns
            if few and known.baseline is not None and known.turns >= self._set.needed_turns:
                self._baselines.learn(known.agent, known.turns, known.baseline * known.turns)
            if alert is not None:
                self._watcher.adopt(known.agent, alert)
                _note(self._adopted, self._given, alert.call)
        self._led = None
        await self._tell(told + self._watcher.mute(False))

    async def hand_over(self) -> None:
        """Another process of the same kind leads, and goes on with what is open here."""
        for call in self._watcher.give():
            _note(self._given, self._adopted, call)
        await self.lead({})

    async def lead(self, known: dict[str, Known] | None) -> None:
        """Somebody else leads, and says this of the agents; None: nobody does."""
        before, self._led = self._led, known
        await self._tell(self._now() + self._watcher.mute(known is not None))
        for agent in {*(before or {}), *(known or {}), *self._told}:
            self._refresh(agent)

    def known(self, agent: str | None) -> Known:
        """What counts for calls of this agent."""
        name = agent or UNNAMED
        if self._led is not None:
            return self._led.get(name) or Known(name, None, False)
        severity = self._watcher.severity(name)
        return Known(name, self._watcher.baseline(name), severity is not None, severity, self._baselines.turns(name))

    def view(self, agent: str | None, at: int = 0) -> FleetView:
        """The same as an input of a call, at `at` ms of it."""
        known = self.known(agent)
        return FleetView(at, known.baseline, (RULE,) if known.raised else ())

    def _now(self) -> list[Event]:
        return self._watcher.reach(int((self._clock() - self._zero) * 1000), self._wall())

    async def _tell(self, told: list[Event]) -> None:
        changed, self._watcher.changed = self._watcher.changed, set()
        for agent in changed:
            self._refresh(agent)
        for event in told:
            await self._deliver(event)

    def _refresh(self, agent: str) -> None:
        known, told = self.known(agent), self._told.get(agent)
        if known != told:
            self._told[agent] = known
            if len(self._told) > self._set.max_agents:
                del self._told[next(iter(self._told))]
            self.when_changed(known)

    def _keep(self) -> None:
        learnt = self._watcher.learnt()
        if learnt and self._store is not None and self._led is None:  # whoever leads keeps it
            self._store.keep(learnt)
        for agent in {one.agent for one in learnt}:
            told = self._told.get(agent)
            known = self.known(agent)
            if told is None or self._learnt(known) != self._learnt(told) or _far(known.baseline, told.baseline):
                self._refresh(agent)

    def _learnt(self, known: Known) -> bool:
        return known.turns >= self._set.needed_turns


def _far(now: float | None, before: float | None) -> bool:
    return now is None or before is None or abs(now - before) >= 0.05 * before


def _note(here: OrderedDict[str, None], there: OrderedDict[str, None], call: str) -> None:
    there.pop(call, None)
    here[call] = None
    if len(here) > _PSEUDO_CALLS:
        here.popitem(last=False)
