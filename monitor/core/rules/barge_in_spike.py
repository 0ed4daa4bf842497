"""Barge-in spike: callers barge in on the agent's turns far more often than is usual for it.

A Bernoulli CUSUM over agent turns (Reynolds & Stoumbos 1999): S ← max(0, S + ln(p1/p0)) on a turn with a barge-in, else
S ← max(0, S + ln((1−p1)/(1−p0))). p0 is what is usual; p1, what a spike is, comes by table from it.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from math import log

from connectors.inputs import FleetView
from monitor.core.events import Turn
from monitor.core.rules import Rule
from monitor.core.rules.settings import BargeInSpikeSettings

TABLE = ((0.05, 0.25), (0.10, 0.35), (0.15, 0.45), (0.20, 0.55))
"""p0 -> p1, straight lines between."""
SHOWN = 32
"""So many of the barge-ins that an alert rests on are named in it."""


def spike_share(usual: float) -> float:
    """p1 for a p0, both in 0..1. Beyond either end of the table the odds stay as many times as high as at that end."""
    if usual <= TABLE[0][0]:
        return _times_the_odds(usual, *TABLE[0])
    for (low, first), (high, second) in pairwise(TABLE):
        if usual <= high:
            return first + (second - first) * (usual - low) / (high - low)
    return _times_the_odds(usual, *TABLE[-1])


def _times_the_odds(usual: float, low: float, high: float) -> float:
    odds = usual / (1 - usual) * (high / (1 - high)) / (low / (1 - low))
    return odds / (1 + odds)


class BargeInSpike(Rule):
    """The sum starts at 0 with each call, and is held at the critical height: more evidence than that would only make
    an alert last longer. What is usual may change during a call; it changes what comes, not what was."""

    name = "barge_in_spike"

    def __init__(self, settings: BargeInSpikeSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._set = settings
        self.score = 0.0
        self._turns = 0
        self._barged: list[int] = []
        self._many = 0
        self._usual_is(settings.baseline_share)

    def _usual_is(self, share: float) -> None:
        self.usual = min(max(share, 0.005), 0.9)
        spike = spike_share(self.usual)
        self._up, self._down = log(spike / self.usual), log((1 - spike) / (1 - self.usual))

    def fleet(self, view: FleetView) -> None:
        learnt = view.barge_in_baseline
        self._usual_is(self._set.baseline_share if learnt is None else learnt)

    def agent_turn(self, turn: Turn, barge_in: Turn | None) -> None:
        step = self._down if barge_in is None else self._up
        self.score = min(max(0.0, self.score + step), self._set.critical_at)
        self._turns += 1
        if barge_in is not None:
            self._many += 1
            self._barged = [*self._barged[1 - SHOWN :], barge_in.index]
        if self.score >= self._set.warning_at:
            self._spike(turn if barge_in is None else barge_in)
        elif self.score <= self._set.clear_at:
            self.release(turn.end_ms)
        else:
            self.steady()
        if self.score == 0.0:
            self._turns = self._many = 0
            self._barged = []

    def _spike(self, proof: Turn) -> None:
        critical = self.score >= self._set.critical_at
        self.raise_at(
            proof.start_ms,
            "critical" if critical else "warning",
            f"the caller barged in on {self._many} of the agent's last {self._turns} turns; {self.usual:.0%} is usual: "
            "look at what the agent said in the turns before these",
            self.score,
            self._set.critical_at if critical else self._set.warning_at,
            tuple(self._barged),
        )
