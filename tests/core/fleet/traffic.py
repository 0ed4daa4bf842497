"""Simulated calls of one agent, minute by minute, into the detection as it is shipped."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.core.fleet.agent import AgentWatch
from monitor.core.fleet.baselines import Baselines
from monitor.core.fleet.settings import FleetSettings


class Told(NamedTuple):
    """The minutes in which alerts were raised and cleared, and how many calls there were."""

    raised: list[int]
    cleared: list[int]
    calls: int


def minutes_of(
    rng: np.random.Generator,
    turns_a_minute: float,
    minutes: int,
    *,
    usual: float = 0.10,
    spike: range = range(0),
    times: float = 1.0,
    dispersion: float = 2.0,
    turns_a_call: int = 20,
    known_turns: int = 5000,
    settings: FleetSettings | None = None,
) -> Told:
    """`turns_a_minute` agent turns on average; callers barge in on `usual` of them, and on `times` as many in the
    minutes of `spike`. Counts of a minute vary `dispersion` times as much as Poisson's (a beta-binomial)."""
    settings = settings or FleetSettings()
    baselines = Baselines(settings)
    if known_turns:
        baselines.learn("agent", known_turns, int(rng.binomial(known_turns, usual)))
    watch = AgentWatch("agent", settings, baselines)
    told = Told([], [], 0)
    first, open_calls = 0, max(3, round(turns_a_minute / 4))
    for minute in range(minutes):
        _note(told, watch.reach(minute), minute)
        turns = int(rng.poisson(turns_a_minute))
        share = _share(rng, turns, usual * (times if minute in spike else 1), dispersion)
        barged = rng.random(turns) < share
        for number in range(turns):
            call = f"{first + rng.integers(open_calls)}"
            watch.turn(call)
            if barged[number]:
                change = watch.barge_in(call)
                _note(told, [change] if change else [], minute)
            if rng.random() < 1 / turns_a_call:
                first += 1
                watch.finished(call, turns_a_call, round(turns_a_call * share))
    return told._replace(calls=first)


def _share(rng: np.random.Generator, turns: int, mean: float, dispersion: float) -> float:
    """The share of this minute: variance φμ asks for a correlation of (φ/(1−p) − 1)/(n−1) between its turns."""
    mean = min(mean, 0.95)
    if turns < 2:
        return mean
    correlation = min((dispersion / (1 - mean) - 1) / (turns - 1), 0.9)
    if correlation <= 0:
        return mean
    weight = 1 / correlation - 1
    return float(rng.beta(mean * weight, (1 - mean) * weight))


def _note(told: Told, changes: list[str], minute: int) -> None:
    told.raised.extend(minute for change in changes if change == "raised")
    told.cleared.extend(minute for change in changes if change == "cleared")
