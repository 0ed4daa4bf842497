"""What was usual for each agent: its turns and the barge-ins on them, by finished call.

    with closing(connect(path, busy_ms=500)) as file:
        turns, barge_ins, calls = Baselines(file).counts("agent-7")

They are kept apart from the calls, as long as `history.keep_days` says but however large the file is. A call counts
once for an agent, under its id: the later word on it holds. `Baselines` commits each change by itself, unless a
transaction is under way.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

LAST_CALLS = 2000
"""So many calls of an agent are looked at."""
_HOUR_MS = 3_600_000
_MONDAY_H = 72
"""1970 began on a Thursday: its hour 0 was hour 72 of the week, Monday's first being 0, in UTC."""


class Counts(NamedTuple):
    """Agent turns, barge-ins on them, and the calls that had them."""

    turns: int
    barge_ins: int
    calls: int


class Baselines:
    """The baselines in a history's file (see `schema.connect`). Raises sqlite3.Error."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def record(self, agent_id: str, call: str, ended_at: int, agent_turns: int, barge_ins: int) -> None:
        """A call is over: `agent_turns` without backchannels, `barge_ins` confirmed ones of the caller. `ended_at`: ms
        since 1970. A call without agent turns says nothing, and is left out."""
        if agent_turns < 1:
            return
        self._file.execute(
            "INSERT INTO baselines VALUES (?, ?, ?, ?, ?) ON CONFLICT (agent_id, call) DO UPDATE SET "
            "ended_at = excluded.ended_at, turns = excluded.turns, barge_ins = excluded.barge_ins",
            (agent_id, call, ended_at, agent_turns, max(0, barge_ins)),
        )

    def record_if_new(self, agent_id: str, call: str, ended_at: int, agent_turns: int, barge_ins: int) -> None:
        """The same, unless there is a word on that call already."""
        if agent_turns > 0:
            self._file.execute(
                "INSERT OR IGNORE INTO baselines VALUES (?, ?, ?, ?, ?)",
                (agent_id, call, ended_at, agent_turns, max(0, barge_ins)),
            )

    def counts(self, agent_id: str, calls: int = LAST_CALLS) -> Counts:
        """Over the last so many calls of an agent."""
        return self._sum("SELECT turns, barge_ins FROM baselines WHERE agent_id = ?", (agent_id,), calls)

    def fleet_counts(self, calls: int = 10 * LAST_CALLS) -> Counts:
        """Over the last so many calls of all agents."""
        return self._sum("SELECT turns, barge_ins FROM baselines", (), calls)

    def _sum(self, rows: str, values: tuple[Any, ...], calls: int) -> Counts:
        found = self._file.execute(
            f"SELECT coalesce(sum(turns), 0), coalesce(sum(barge_ins), 0), count(*) "
            f"FROM ({rows} ORDER BY ended_at DESC LIMIT ?)",
            (*values, calls),
        )
        return Counts(*found.fetchone())

    def by_hour_of_week(self, agent_id: str, calls: int = LAST_CALLS) -> dict[int, Counts]:
        """Over the last so many calls, by the hour of the week in which they ended: 0 (Monday 00–01, UTC) to 167. Hours
        without calls are left out."""
        found = self._file.execute(
            f"SELECT (ended_at / {_HOUR_MS} + {_MONDAY_H}) % 168 AS hour, sum(turns), sum(barge_ins), count(*) FROM "
            "(SELECT ended_at, turns, barge_ins FROM baselines WHERE agent_id = ? ORDER BY ended_at DESC LIMIT ?) "
            "GROUP BY hour ORDER BY hour",
            (agent_id, calls),
        )
        return {hour: Counts(*counts) for hour, *counts in found}

    def agents(self, limit: int = 10_000) -> list[str]:
        """The agents that have any, those with the latest calls first."""
        found = self._file.execute(
            "SELECT agent_id FROM baselines GROUP BY agent_id ORDER BY max(ended_at) DESC LIMIT ?", (limit,)
        )
        return [agent for (agent,) in found]

    def state(self, name: str) -> bytes | None:
        """What somebody keeps here under a name; None if there is nothing."""
        found = self._file.execute("SELECT value FROM states WHERE name = ?", (name,)).fetchone()
        return None if found is None else bytes(found[0])

    def set_state(self, name: str, value: bytes | None) -> None:
        """Keep it, in place of what was there; None: keep nothing."""
        if value is None:
            self._file.execute("DELETE FROM states WHERE name = ?", (name,))
        else:
            self._file.execute(
                "INSERT INTO states VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )
