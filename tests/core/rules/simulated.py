"""Calls as the statistics see them: agent turns one after the other, each barged in on or not, told to the rules as
shipped behind the board of alerts as shipped."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import msgspec

from monitor.core.alerts import Standing
from monitor.core.events import Turn
from monitor.core.rules import Rule
from monitor.core.rules.barge_in_count import BargeInCount
from monitor.core.rules.barge_in_spike import BargeInSpike
from monitor.core.rules.settings import BargeInCountSettings, BargeInSpikeSettings

TURN_MS = 6000
"""An agent's turn of the simulated calls; at one barge-in a minute of its speech, one turn in ten."""
BARGE_IN_AT_MS = 3000


def agent_turn(number: int, start_ms: int, duration_ms: int = TURN_MS) -> Turn:
    """The agent's turn `number`, with an even index."""
    return Turn(index=2 * number, role="assistant", start_ms=start_ms, duration_ms=duration_ms, ended_by="silence")


def barge_in_on(turn: Turn, after_ms: int = BARGE_IN_AT_MS) -> Turn:
    """The caller's turn that barges in on it."""
    return Turn(
        index=turn.index + 1, role="user", start_ms=turn.start_ms + after_ms, duration_ms=1000, ended_by="silence"
    )


def turns(barged: Iterable[bool]) -> Iterator[tuple[Turn, Turn | None]]:
    """One agent turn for each, and the barge-in on it."""
    for number, there in enumerate(barged):
        turn = agent_turn(number, number * TURN_MS)
        yield turn, barge_in_on(turn) if there else None


def raised_at(rule: Rule, barged: Iterable[bool]) -> dict[str, int]:
    """Which severities were raised, each at the how manieth turn (from 1) first."""
    standing = Standing("call", rule.name, 0)
    found: dict[str, int] = {}
    for turn, barge_in in turns(barged):
        rule.agent_turn(turn, barge_in)
        for told in standing.judge(rule, turn.end_ms, held_back=False):
            if told.kind.type == "alert.raised":
                found.setdefault(told.alert.severity, turn.index // 2 + 1)
                if told.alert.severity == "critical":
                    found.setdefault("warning", turn.index // 2 + 1)
    return found


def spike(**settings: float) -> BargeInSpike:
    """The rule as shipped."""
    return BargeInSpike(BargeInSpikeSettings(**settings), ("caller", "agent"))  # type: ignore[arg-type]


def count(**settings: float) -> BargeInCount:
    """The fixed rule, switched on."""
    return BargeInCount(msgspec.structs.replace(BargeInCountSettings(), enabled=True, **settings), ("caller", "agent"))


def normal(rng: random.Random, share: float, turns_: int) -> Iterator[bool]:
    """A call whose turns are barged in on with this chance."""
    return (rng.random() < share for _ in range(turns_))


def false_alarms(rng: random.Random, calls: int, share: float = 0.10, turns_: int = 20) -> tuple[float, float]:
    """The share of normal calls with a warning, and with a critical alert."""
    found = [raised_at(spike(), normal(rng, share, turns_)) for _ in range(calls)]
    return sum("warning" in one for one in found) / calls, sum("critical" in one for one in found) / calls


def turns_until_found(rng: random.Random, calls: int, share: float = 0.60, before: int = 0) -> tuple[int, int]:
    """Median of the turns from the rise on until a warning, and until it is critical. `before`: so many normal turns
    come before the rise; calls with a false alarm there count for nothing."""
    warned, critical = [], []
    for _ in range(calls):
        usual = list(normal(rng, 0.10, before))
        if before and raised_at(spike(), usual):
            continue
        found = raised_at(spike(), [*usual, *normal(rng, share, 60)])
        warned.append(found.get("warning", 1 << 20) - before)
        critical.append(found.get("critical", 1 << 20) - before)
    return sorted(warned)[len(warned) // 2], sorted(critical)[len(critical) // 2]


def counted_alarms(rng: random.Random, calls: int, a_minute: float, minutes: float) -> float:
    """The share of normal calls in which three barge-ins within 60 s of the agent's speech are found, where they come
    at random at so many a minute of it, in calls with so many minutes of it."""
    alarms = 0
    for _ in range(calls):
        rule, at, number, begun = count(), 0.0, 0, 0
        while True:
            at += rng.expovariate(a_minute) * 60_000
            if at >= minutes * 60_000:
                break
            turn = agent_turn(number, begun, max(1, round(at) - begun))
            rule.agent_turn(turn, barge_in_on(turn, turn.end_ms - turn.start_ms))
            number, begun = number + 1, turn.end_ms
            if rule.found is not None:
                alarms += 1
                break
    return alarms / calls
