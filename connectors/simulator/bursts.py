"""How a response is cut into audio messages and when each of them is sent. Pure."""

from __future__ import annotations

import random
from typing import NamedTuple

from connectors.simulator.habits import Habits


class Burst(NamedTuple):
    """[`start_ms`, `end_ms`) of a response's speech, sent `due_ms` after its first message."""

    due_ms: float
    start_ms: int
    end_ms: int


def plan(length_ms: int, habits: Habits, chance: random.Random) -> list[Burst]:
    """The bursts of a response of `length_ms`, in order and without holes."""
    bursts: list[Burst] = []
    pauses = sorted(habits.pauses)
    due, start = 0.0, 0
    while start < length_ms:
        end = min(length_ms, start + chance.randint(*habits.burst_ms))
        bursts.append(Burst(due, start, end))
        due += (end - start) / habits.ratio
        while pauses and end >= pauses[0][0]:
            due += pauses.pop(0)[1]
        start = end
    return bursts
