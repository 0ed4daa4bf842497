"""All calls of a process, or of many, seen together: their events in, alerts across calls out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from monitor.core import events
from monitor.core.events import AlertRaised, Event, Severity
from monitor.core.fleet.agent import AgentWatch, Change
from monitor.core.fleet.alerts import SOURCE, UNNAMED, FleetAlerts
from monitor.core.fleet.baselines import Baselines, hour_of_week
from monitor.core.fleet.call_counts import CallCounts
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Learnt, Standing


class _Agent(msgspec.Struct, eq=False):
    watch: AgentWatch
    alerts: FleetAlerts


class _Call(msgspec.Struct, eq=False):
    agent: str
    counts: CallCounts


class FleetWatcher:
    """`start`, `started_at`: see `FleetAlerts`. Everything that it remembers is bounded; what had to be let go for
    that is counted: `agents_let_go`, `calls_let_go`.

    Whoever knows the time calls `reach` with it before anything else: ms since the start, and seconds of the epoch.
    """

    def __init__(self, settings: FleetSettings, baselines: Baselines, *, start: str, started_at: str) -> None:
        self._set = settings
        self._baselines = baselines
        self._start = start
        self._started_at = started_at
        self._agents: OrderedDict[str, _Agent] = OrderedDict()
        self._calls: OrderedDict[str, _Call] = OrderedDict()
        self._now_ms = 0
        self._step = 0
        self._hour: int | None = None
        self._epoch_s: float | None = None
        self._mute = False
        self.agents_let_go = 0
        self.calls_let_go = 0
        self.changed: set[str] = set()
        """Agents whose alert was raised or cleared since this was last emptied."""

    @property
    def standings(self) -> list[Standing]:
        """How every agent stands that was heard of."""
        return [agent.watch.standing() for agent in self._agents.values()]

    @property
    def calls(self) -> int:
        """Calls that go on."""
        return len(self._calls)

    def severity(self, agent: str | None) -> Severity | None:
        """How bad is what goes on with this agent? None where nothing does."""
        known = self._agents.get(agent or UNNAMED)
        return None if known is None or not known.watch.raised else "critical" if known.watch.critical else "warning"

    def told(self, agent: str) -> AlertRaised | None:
        """What was told last of the alert that is open for this agent."""
        known = self._agents.get(agent)
        return None if known is None else known.alerts.last

    @property
    def learnt_turns(self) -> dict[str, int]:
        """On how many turns what is usual rests, for each agent that was heard of."""
        return {name: self._baselines.turns(name) for name in self._agents}

    def baseline(self, agent: str | None) -> float | None:
        """What is usual for this agent now; None while nothing was learnt."""
        return None if self._baselines.blank else self._baselines.share(agent or UNNAMED, self._hour)

    def reach(self, now_ms: int, epoch_s: float | None = None) -> list[Event]:
        """The time is `now_ms` (never back). -> what follows."""
        self._now_ms, self._epoch_s = max(self._now_ms, now_ms), epoch_s
        self._hour = None if epoch_s is None else hour_of_week(epoch_s)
        step = int(self._now_ms // (self._set.step_s * 1000))
        if step == self._step:
            return []
        self._step = step
        return [event for agent in self._agents.values() for event in self._tell(agent, agent.watch.reach(step))]

    def take(self, event: Event) -> list[Event]:
        """An event of any call, each call's in order. -> what follows."""
        if isinstance(event, events.CallStarted):
            if event.source != SOURCE:
                self._begin(event.call, event.agent_id or UNNAMED)
            return []
        call = self._calls.get(event.call)
        if call is None:
            return []
        out: list[Event] = []
        for barged in call.counts.take(event):
            agent = self._agent(call.agent)
            agent.watch.turn(event.call, self._hour)
            change = agent.watch.barge_in(event.call) if barged else None
            out += self._tell(agent, [change] if change else [])
        if isinstance(event, events.CallEnded):
            del self._calls[event.call]
            if event.cause != "failed":
                counts = call.counts
                watch = self._agent(call.agent).watch
                watch.finished(event.call, counts.turns, counts.barge_ins, self._epoch_s)
        return out

    def forget(self, calls: Iterable[str]) -> None:
        """These calls will not go on: whoever told of them is gone. They teach nothing."""
        for call in calls:
            self._calls.pop(call, None)

    def adopt(self, agent: str, left: AlertRaised) -> None:
        """Another process has left this open for an agent, and this one goes on with it."""
        known = self._agent(agent)
        known.alerts.adopt(left, self._now_ms, self._epoch_s)
        known.watch.adopt(critical=left.alert.severity == "critical")
        self.changed.add(agent)

    def give(self) -> list[str]:
        """Another process goes on with all that is open. -> the pseudo-calls that are its own from now on."""
        return [call for agent in self._agents.values() if (call := agent.alerts.give())]

    def mute(self, mute: bool) -> list[Event]:
        """While somebody else tells of alerts across calls, this one goes on counting and says nothing: what is open is
        cleared, and raised again once it speaks again, if it still holds."""
        if mute == self._mute:
            return []
        self._mute = mute
        out: list[Event] = []
        for agent in self._agents.values():
            if mute:
                out += agent.alerts.cleared(self._now_ms)
            elif agent.watch.raised and (agent.alerts.open is None or agent.watch.critical > _critical(agent.alerts)):
                out += agent.alerts.raised(agent.watch.standing(), self._now_ms)
        return out

    def learnt(self) -> list[Learnt]:
        """What baselines were taught since the last time: for whoever keeps it."""
        out: list[Learnt] = []
        for agent in self._agents.values():
            out += agent.watch.learnt
            agent.watch.learnt.clear()
        return out

    def close(self) -> list[Event]:
        """The watcher stops: open alerts are cleared, since nobody would do so later."""
        out: list[Event] = []
        for agent in self._agents.values():
            agent.watch.close()
            out += agent.alerts.ended(self._now_ms)
        return out

    def _begin(self, call: str, agent: str) -> None:
        self._calls[call] = _Call(agent, CallCounts())
        if len(self._calls) > self._set.max_calls:
            self._calls.popitem(last=False)
            self.calls_let_go += 1

    def _agent(self, name: str) -> _Agent:
        known = self._agents.get(name)
        if known is None:
            watch = AgentWatch(name, self._set, self._baselines, self._step)
            known = self._agents[name] = _Agent(watch, FleetAlerts(name, self._set, self._start, self._started_at))
            self._make_room()
        self._agents.move_to_end(name)
        return known

    def _make_room(self) -> None:
        if len(self._agents) <= self._set.max_agents:
            return
        oldest = next((name for name, one in self._agents.items() if one.alerts.open is None), None)
        if oldest is not None:
            del self._agents[oldest]
            self.agents_let_go += 1

    def _tell(self, agent: _Agent, changes: list[Change]) -> list[Event]:
        out: list[Event] = []
        for change in changes:
            if change == "cleared":
                out += agent.alerts.cleared(self._now_ms)
            elif not self._mute:
                out += agent.alerts.raised(agent.watch.standing(), self._now_ms)
            self.changed.add(agent.watch.agent)
        return out


def _critical(alerts: FleetAlerts) -> bool:
    return alerts.open is not None and alerts.open.severity == "critical"
