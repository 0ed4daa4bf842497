"""What one update of the running score costs in a short call and in a long one: it should be the same.

    python -m tests.benchmarks.score_update

One update is one transition as a live call tells it: a guess, then what is final, the score after each, and the plain
score beside it. The two lengths take turns in one run, so that a noisy machine hits both alike; medians are compared.
"""

from __future__ import annotations

import random
import statistics
import time
from itertools import pairwise

from monitor.core.events import Turn
from monitor.core.naturalness import TurnTakingNaturalness
from monitor.core.turn_taking import PlainScore, RunningScore, transition_kind

SHORT, LONG = 100, 10_000
BLOCK = 100
ROUNDS = 300


def call(turns: int) -> list[Turn]:
    """A call of so many turns, one party after the other, with gaps and overlaps."""
    chance = random.Random(1)
    out: list[Turn] = []
    at = 0
    for index in range(turns):
        duration = chance.randrange(300, 6000)
        out.append(
            Turn(index=index, role="user" if index % 2 else "assistant", start_ms=at, duration_ms=duration, text=None)
        )
        at += max(20, duration + chance.randrange(-800, 2500))
    return out


def updates(turns: list[Turn], running: RunningScore, plain: PlainScore) -> float:
    """Everything that the score does for the transitions between `turns`. -> µs for one of them."""
    begun = time.perf_counter()
    for before, after in pairwise(turns):
        gap = after.start_ms - before.end_ms
        for told, final in ((gap + 40, False), (gap, True)):
            kind = transition_kind(before.role, after.role, told)
            running.set(before.index, after.index, kind, told, final, to_role=after.role)
            _ = running.turn_taking
        plain.ended(before)
    return (time.perf_counter() - begun) / (len(turns) - 1) * 1e6


def main() -> None:
    turns = call(LONG + ROUNDS * BLOCK + 1)
    long = RunningScore(), PlainScore()
    updates(turns[: LONG + 1], *long)
    at_short, at_long = [], []
    for place in range(LONG, LONG + ROUNDS * BLOCK, BLOCK):
        short = RunningScore(), PlainScore()  # it grows while it is measured, so it is begun anew each time
        updates(turns[: SHORT + 1], *short)
        at_short.append(updates(turns[SHORT : SHORT + BLOCK + 1], *short))
        at_long.append(updates(turns[place : place + BLOCK + 1], *long))
    one, other = statistics.median(at_short), statistics.median(at_long)
    begun = time.perf_counter()
    TurnTakingNaturalness().measure(turns[:LONG])
    batch = (time.perf_counter() - begun) * 1e6
    print(f"an update at {SHORT} turns     {one:6.2f} µs")
    print(f"an update at {LONG} turns   {other:6.2f} µs   ratio {other / one:.2f} (goal: at most 1.5)")
    print(f"the batch metric over {LONG} turns, once: {batch / 1000:.0f} ms, as much as {batch / other:.0f} updates")


if __name__ == "__main__":
    main()
