"""How often barge-in spikes are raised on normal calls, and how soon on calls that have one.

    PYTHONPATH=. python tests/benchmarks/spike_statistics.py

Simulated calls, seeded, played to the rules of the program; beside them the figures that were found when the rules were
chosen, and the obvious rule that they were chosen over. Exit code 2 if a figure is further off than its error allows.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator

from tests.core.rules.simulated import counted_alarms, false_alarms, turns_until_found

SEED = 20_240_704
CALLS = 100_000
RISES = 20_000
COUNTED = 40_000
MINUTES = 3.9
"""How much the agent speaks in a call of the obvious rule's figures. They were given without it; this length is the one
that fits both, so that only one of the two is a test."""


def within(found: float, wanted: float, calls: int, rounding: float) -> bool:
    """Whether a share of so many calls agrees with a figure that is rounded to twice `rounding`, at four standard
    errors."""
    return abs(found - wanted) <= rounding + 4 * math.sqrt(wanted * (1 - wanted) / calls)


def figures(scale: float = 1.0) -> Iterator[tuple[str, str, str, bool]]:
    """What was simulated, what was found, what is wanted, and whether they agree; `scale` of the calls."""
    rng = random.Random(SEED)
    calls, rises, counted = (round(many * scale) for many in (CALLS, RISES, COUNTED))
    warned, critical = false_alarms(rng, calls)
    what = f"{calls:,} normal calls of 20 turns"
    yield f"{what}: warning", f"{warned:.2%}", "2.2%", within(warned, 0.022, calls, 0.0005)
    yield f"{what}: critical", f"{critical:.2%}", "0.6%", within(critical, 0.006, calls, 0.0005)
    for before in (0, 10):
        soon, sooner = turns_until_found(rng, rises, before=before)
        what = f"{rises:,} rises to 60% after {before} normal turns"
        agree = (soon, sooner) == (6, 8) if before == 0 else soon <= 6 and sooner <= 8
        yield f"{what}: median turns", f"{soon}, {sooner}", "6, 8" if before == 0 else "at most 6, 8", agree
    for a_minute, wanted in ((1.0, 0.43), (0.5, 0.10)):
        found = counted_alarms(rng, counted, a_minute, MINUTES)
        what = f"{counted:,} normal calls, {a_minute:g} a minute, 3 in 60 s"
        yield what, f"{found:.1%}", f"{wanted:.0%}", within(found, wanted, counted, 0.005)


def main() -> int:
    """Print the figures. -> the exit code."""
    good = True
    for what, found, wanted, agree in figures():
        print(f"{what:58} {found:>8}   {wanted:>12}   {'' if agree else 'DIFFERS'}")
        good = good and agree
    return 0 if good else 2


if __name__ == "__main__":
    sys.exit(main())
