"""What is usual for each agent: the share of its turns that callers barge in on, learnt from finished calls."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from monitor.core.fleet.settings import FleetSettings

HOURS_OF_WEEK = 168
_LEAST, _MOST = 0.005, 0.9
"""A share beyond these is no baseline to compare with: something that never happens happens all the same."""


def hour_of_week(epoch_s: float) -> int:
    """0..167: the hour of the week (UTC, from Monday 00:00) of a time in seconds of the epoch."""
    return int(epoch_s // 3600 + 72) % HOURS_OF_WEEK  # the epoch began on a Thursday


class Counts(msgspec.Struct):
    """Agent turns, and the barge-ins on them."""

    turns: float = 0
    barge_ins: float = 0

    def add(self, turns: float, barge_ins: float, most: float) -> None:
        """Count on; what is older than about `most` turns weighs less and less."""
        self.turns += turns
        self.barge_ins += barge_ins
        if self.turns > most:
            self.barge_ins *= most / self.turns
            self.turns = most


class _Agent(msgspec.Struct):
    all: Counts
    hours: dict[int, Counts]


class Baselines:
    """p0 = (20·m + Σx)/(20 + n) for each agent. `hour`: of the week, 0..167. Bounded: the agents that were asked for
    least recently are let go."""

    def __init__(self, settings: FleetSettings) -> None:
        self._set = settings
        self._fleet = Counts()
        self._agents: OrderedDict[str, _Agent] = OrderedDict()
        self.let_go = 0

    def learn(self, agent: str, turns: float, barge_ins: float, hour: int | None = None) -> None:
        """Finished calls of `agent` had so many of its turns, and so many barge-ins on them. What cannot be is taken
        as near to it as can be."""
        turns = max(0, turns)
        barge_ins = min(max(0, barge_ins), turns)
        most = self._set.remembered_turns
        self._fleet.add(turns, barge_ins, 10 * most)
        known = self._known(agent)
        known.all.add(turns, barge_ins, most)
        if hour is not None:
            known.hours.setdefault(hour % HOURS_OF_WEEK, Counts()).add(turns, barge_ins, most)

    @property
    def mean(self) -> float:
        """m: the share over all agents; the settings' own until enough is learnt."""
        if self._fleet.turns < self._set.needed_turns:
            return self._set.baseline_until_learnt
        return _within(self._fleet.barge_ins / self._fleet.turns)

    @property
    def blank(self) -> bool:
        """Nothing at all has been learnt."""
        return self._fleet.turns <= 0

    def turns(self, agent: str) -> int:
        """On how many of its own turns an agent's baseline rests."""
        known = self._agents.get(agent)
        return 0 if known is None else int(known.all.turns)

    def share(self, agent: str, hour: int | None = None) -> float:
        """p0 of an agent, in 0..1; that of an hour of the week where there is something to it."""
        known = self._agents.get(agent)
        if known is None:
            return _within(self.mean)
        self._agents.move_to_end(agent)
        whole = _shrunk(self._set.baseline_weight_turns, self.mean, known.all)
        cell = None if hour is None else known.hours.get(hour % HOURS_OF_WEEK)
        return _within(whole if cell is None else _shrunk(self._set.hour_weight_turns, whole, cell))

    def _known(self, agent: str) -> _Agent:
        known = self._agents.get(agent)
        if known is None:
            known = self._agents[agent] = _Agent(Counts(), {})
            if len(self._agents) > self._set.max_agents:
                self._agents.popitem(last=False)
                self.let_go += 1
        self._agents.move_to_end(agent)
        return known


def _shrunk(weight: float, toward: float, counts: Counts) -> float:
    return (weight * toward + counts.barge_ins) / (weight + counts.turns)


def _within(share: float) -> float:
    return min(max(share, _LEAST), _MOST)
