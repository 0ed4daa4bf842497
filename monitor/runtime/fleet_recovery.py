"""Finished calls of the history that no baseline rests on: those that waited to be learnt when a program was killed.

What ended while an alert across its agent's calls was open, or in the long window before, stays out: it is under
suspicion, and must not make itself usual.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import Any

from monitor.core import events
from monitor.core.events import Event, Transition, Turn, TurnTaking
from monitor.core.fleet.alerts import SOURCE, UNNAMED, zero_s
from monitor.core.fleet.call_counts import CallCounts
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Learnt

MOST_CALLS = 2000
"""So many calls are looked at, the last ones."""

_LOST = f"""
    SELECT run, call, agent_id, ended_at FROM calls AS c
    WHERE ended_at IS NOT NULL AND cause IS NOT 'failed' AND source IS NOT NULL AND source <> '{SOURCE}' AND NOT fleet
    AND NOT EXISTS (SELECT 1 FROM baselines b WHERE b.agent_id = coalesce(c.agent_id, '{UNNAMED}') AND b.call = c.call)
    ORDER BY ended_at DESC LIMIT {MOST_CALLS}
"""
_TURNS = """
    SELECT turn, role, start_ms, duration_ms, ended_by, backchannel, interrupted, after_stall FROM turns
    WHERE run = ? AND start_ms IS NOT NULL AND duration_ms IS NOT NULL ORDER BY start_ms
"""
_TRANSITIONS = """
    SELECT from_turn, to_turn, kind, gap_ms, score FROM transitions
    WHERE run = ? AND final AND kind IS NOT NULL AND NOT (withdrawn IS NOT NULL AND withdrawn_seq >= seq)
"""


def recovered(file: sqlite3.Connection, settings: FleetSettings) -> list[Learnt]:
    """What they teach, the oldest first. Raises sqlite3.Error."""
    suspected = _suspected(file, settings)
    out = []
    for run, call, agent_id, ended_at in file.execute(_LOST).fetchall():
        agent = agent_id or UNNAMED
        if any(begin <= ended_at <= end for begin, end in suspected[agent]):
            continue
        turns, barge_ins = _counted(file, run)
        if turns:
            out.append(Learnt(agent, call, turns, barge_ins, ended_at / 1000, 0))
    return out[::-1]


def _suspected(file: sqlite3.Connection, settings: FleetSettings) -> dict[str, list[tuple[float, float]]]:
    """For each agent, from when to when its calls are: ms of the epoch."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    before_ms = settings.long_steps * settings.step_s * 1000
    longest_ms = settings.freeze_max_h * 3_600_000
    rows = "SELECT call, since_ms, until_ms FROM alerts JOIN calls USING (run) WHERE scope = 'fleet'"
    for call, since_ms, until_ms in file.execute(rows):
        zero = zero_s(call)
        if zero is not None:
            agent = call.removeprefix(f"{SOURCE}:").rpartition("@")[0]
            since = zero * 1000 + since_ms
            until = since + longest_ms if until_ms is None else zero * 1000 + until_ms
            found[agent].append(
                (since - before_ms, min(until, since + longest_ms) + 1000)
            )  # a name tells whole seconds
    return found


def _counted(file: sqlite3.Connection, run: int) -> tuple[int, int]:
    """The agent's turns and the barge-ins on them, as they are counted from the call's events."""
    told: list[tuple[int, int, Event]] = []
    turns: dict[int, Turn] = {}
    for index, role, start_ms, duration_ms, ended_by, backchannel, interrupted, after_stall in file.execute(
        _TURNS, (run,)
    ):
        turn = Turn(
            index=index,
            role=role,
            start_ms=start_ms,
            duration_ms=duration_ms,
            ended_by=ended_by,
            backchannel=bool(backchannel),
            interrupted=bool(interrupted),
            after_stall=bool(after_stall),
        )
        turns[index] = turn
        begun = Turn(index=index, role=role, start_ms=start_ms, after_stall=bool(after_stall))
        told.append((start_ms, 1, events.TurnStarted(**_at(start_ms), turn=begun)))
        told.append((start_ms + duration_ms, 0, events.TurnEnded(**_at(start_ms + duration_ms), turn=turn)))
    for from_turn, to_turn, kind, gap_ms, score in file.execute(_TRANSITIONS, (run,)):
        if from_turn in turns and to_turn in turns:
            at = max(turns[to_turn].start_ms, turns[from_turn].start_ms + (turns[from_turn].duration_ms or 0))
            passing = Transition(
                from_turn=from_turn, to_turn=to_turn, kind=kind, gap_ms=gap_ms, score=score or 0.0, final=True
            )
            scored = events.TransitionScored(**_at(at), transition=passing, turn_taking=TurnTaking(0.0, 1))
            told.append((at, 2, scored))
    counts = CallCounts()
    for _, _, event in sorted(told, key=lambda one: one[:2]):
        counts.take(event)
    counts.take(events.CallEnded(**_at(0), cause="hangup", summary={}))
    return counts.turns, counts.barge_ins


def _at(at_ms: int) -> dict[str, Any]:
    return {"call": "", "seq": 0, "at_ms": at_ms, "known_at_ms": at_ms}
