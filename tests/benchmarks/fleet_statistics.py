"""How often spikes across calls are raised where nothing is out of the way, and how soon where something is.

    PYTHONPATH=. python tests/benchmarks/fleet_statistics.py [--scale 1]

Simulated traffic of one agent, seeded, minute by minute, through the detection of the program itself (`AgentWatch`):
ten turns in a hundred are usual, and the counts of a minute vary twice as much as Poisson's. No figures were given for
it beforehand; those here are what it is held to. At full scale more than 100,000 calls are simulated. Exit code 2 where
one misses.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from statistics import median

import numpy as np

from tests.core.fleet.traffic import minutes_of

SEED = 20_240_704
DAY = 1440
SPIKE = range(60, 120)

ORDINARY = ((100.0, 6.0, 0.15), (20.0, 20.0, 0.05), (4.0, 40.0, 0.05))
"""Agent turns a minute (ten are a barge-in a minute), days, and how many alerts a day are borne."""

RISES = (
    (100.0, 2.0, 1.0, 10),
    (100.0, 3.0, 1.0, 5),
    (40.0, 3.0, 0.98, 12),
    (20.0, 3.0, 0.98, 15),
    (20.0, 5.0, 0.98, 8),
    (4.0, 5.0, 0.95, 20),
)
"""Agent turns a minute, times as many for an hour; the share to be found, and the median minutes they may take."""
RISES_EACH = 60


def figures(scale: float = 1.0) -> Iterator[tuple[str, str, str, bool, int]]:
    """What was simulated, what was found, what is wanted, whether they agree, and how many calls it took."""
    rng = np.random.default_rng(SEED)
    for turns, days, most in ORDINARY:
        told = minutes_of(rng, turns, round(days * scale * DAY))
        rate = len(told.raised) / (days * scale)
        # Alerts of so short a time are few: three standard errors of a Poisson count are granted.
        granted = most + 3 * (most / (days * scale)) ** 0.5
        what = f"{days * scale:g} ordinary days, {turns:g} turns a minute: alerts a day"
        yield what, f"{rate:.2f}", f"<= {most:g}", rate <= granted, told.calls
    for turns, times, share, minutes in RISES:
        waits, calls, doubles, many = [], 0, 0, max(5, round(RISES_EACH * scale))
        for _ in range(many):
            told = minutes_of(rng, turns, SPIKE.stop + 30, spike=SPIKE, times=times)
            found = [minute - SPIKE.start for minute in told.raised if minute >= SPIKE.start]
            waits += found[:1]
            doubles += len(found) > 1
            calls += told.calls
        what = f"{many} rises to {times:g} times as many, {turns:g} turns a minute: found"
        error = 3 * (share * (1 - share) / many) ** 0.5
        yield what, f"{len(waits) / many:.0%}", f">= {share:.0%}", len(waits) / many >= share - error, calls
        if waits:
            middle = median(waits)
            yield "    minutes until then, median", f"{middle:g}", f"<= {minutes}", middle <= minutes, 0
        yield "    told more than once", f"{doubles / many:.0%}", "<= 20%", doubles / many <= 0.2, 0


def main() -> int:
    """Print the figures. -> the exit code."""
    parser = argparse.ArgumentParser(description="Spikes across calls: false alarms and detection.")
    parser.add_argument("--scale", type=float, default=1.0, help="so much of the traffic (1)")
    good, total = True, 0
    for what, found, wanted, agree, calls in figures(parser.parse_args().scale):
        print(f"{what:72} {found:>7}   {wanted:>8}   {'' if agree else 'MISSED'}", flush=True)
        good, total = good and agree, total + calls
    print(f"{total:,} calls")
    return 0 if good else 2


if __name__ == "__main__":
    sys.exit(main())
