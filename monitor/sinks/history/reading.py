"""Calls as the history has them, for `turnwatch calls` and whoever else looks. Reading disturbs nobody who writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from monitor.core.clock import seconds
from monitor.sinks.history.schema import connect_to_read, version_of
from monitor.sinks.history.seen import Seen
from monitor.sinks.history.writers import QUIET_CALL_MS, alive, now

State = Literal["ended", "running", "unfinished"]

_COLUMNS = """
    run, site, call, started_at, begun_at, ended_at, touched_at, writer, source, agent_id, labels, tracks, playout,
    reached_ms, score, transitions, relevancy, judged, cause, summary, seen,
    (SELECT count(*) FROM turns t WHERE t.run = c.run AND role = 'user' AND NOT backchannel) AS user_turns,
    (SELECT count(*) FROM turns t WHERE t.run = c.run AND role = 'assistant' AND NOT backchannel) AS agent_turns,
    (SELECT count(*) FROM alerts a WHERE a.run = c.run AND severity = 'critical') AS critical,
    (SELECT count(*) FROM alerts a WHERE a.run = c.run AND severity = 'warning') AS warning,
    (SELECT count(*) FROM alerts a WHERE a.run = c.run AND severity = 'info') AS info,
    (SELECT count(*) FROM alerts a WHERE a.run = c.run AND until_ms IS NULL) AS open_alerts
"""


class Call(msgspec.Struct, frozen=True):
    """One run of a call. `state`: `running` while its program watches it, `unfinished` if that was killed or lost the
    call's end. `begun_at`: ms since 1970; when it was first told of, where the source does not know. `length_ms`: so
    far, unless it has ended. `summary`: as in `call.ended`, empty before. `alerts`: how many by severity, `open_alerts`
    those not cleared. `missing`: events that did not come to the history."""

    run: int
    site: str
    call: str
    state: State
    started_at: str | None
    begun_at: int
    source: str | None
    agent_id: str | None
    labels: dict[str, str]
    length_ms: int
    user_turns: int
    agent_turns: int
    score: float | None
    transitions: int
    relevancy: float | None
    judged: int | None
    alerts: dict[str, int]
    open_alerts: int
    cause: str | None
    summary: dict[str, Any]
    missing: int

    def figure(self, group: str, key: str) -> Any:
        """A figure of the summary; None if it is not there."""
        found = self.summary.get(group)
        return found.get(key) if isinstance(found, dict) else None

    def as_dict(self) -> dict[str, Any]:
        """For a line of JSON: points in time as RFC 3339, lengths in seconds."""
        return {
            "call": self.call,
            "site": self.site,
            "state": self.state,
            "begun_at": rfc3339(self.begun_at),
            "started_at": self.started_at,
            "source": self.source,
            "agent_id": self.agent_id,
            "labels": self.labels,
            "duration": seconds(self.length_ms),
            "turns": {"user": self.user_turns, "assistant": self.agent_turns},
            "turn_taking": {"score": self.score, "transitions": self.transitions},
            "response_time": {key: self.figure("response_time", key) for key in ("p50", "p95")},
            "barge_in": {key: self.figure("barge_in", key) for key in ("user", "agent")},
            "relevancy": {"score": self.relevancy, "judged": self.judged},
            "alerts": {**self.alerts, "open": self.open_alerts},
            "cause": self.cause,
            "missing_events": self.missing,
        }


class History:
    """A history, open to be read. Raises FileNotFoundError, SinkError, sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        self.file = connect_to_read(path)
        self.file.row_factory = sqlite3.Row
        self._blank = version_of(self.file, path) == 0  # made, and nothing written to it

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def calls(
        self,
        *,
        agent: str | None = None,
        since_at: int | None = None,
        limit: int | None = None,
        alerts: bool = False,
        call: str | None = None,
    ) -> Iterator[Call]:
        """The newest first. `since_at`: ms since 1970. `alerts`: only those that had any. `call`: only the runs of this
        one. What holds nothing but alerts across calls is no call."""
        wanted = ["NOT (fleet AND source IS NULL)"]
        values: list[Any] = []
        for condition, value in (("agent_id = ?", agent), ("begun_at >= ?", since_at), ("call = ?", call)):
            if value is not None:
                wanted.append(condition)
                values.append(value)
        if alerts:
            wanted.append("EXISTS (SELECT 1 FROM alerts a WHERE a.run = c.run)")
        yield from self._read(
            f"SELECT {_COLUMNS} FROM calls c WHERE {' AND '.join(wanted)} ORDER BY begun_at DESC, run DESC LIMIT ?",
            [*values, -1 if limit is None else limit],
        )

    def names(self, beginning: str, limit: int) -> list[str]:
        """Ids of calls that begin so, the newest first."""
        if self._blank:
            return []
        found = self.file.execute(
            "SELECT call FROM calls WHERE substr(call, 1, ?) = ? GROUP BY call ORDER BY max(begun_at) DESC LIMIT ?",
            (len(beginning), beginning, limit),
        )
        return [name for (name,) in found]

    def _read(self, query: str, values: list[Any]) -> Iterator[Call]:
        if self._blank:
            return
        living = alive(self.file)
        for row in self.file.execute(query, values):
            yield _call(row, living)


def _call(row: sqlite3.Row, living: set[int]) -> Call:
    state: State = "unfinished"
    if row["ended_at"] is not None:
        state = "ended"
    elif row["writer"] in living and row["touched_at"] >= now() - QUIET_CALL_MS:
        state = "running"
    summary = json.loads(row["summary"] or "{}")
    length = round(1000 * summary.get("duration", 0)) or row["reached_ms"]
    same = ("run", "site", "call", "started_at", "begun_at", "source", "agent_id", "user_turns", "agent_turns")
    more = ("score", "transitions", "relevancy", "judged", "open_alerts", "cause")
    return Call(
        **{key: row[key] for key in (*same, *more)},
        state=state,
        labels=json.loads(row["labels"] or "{}"),
        length_ms=length,
        alerts={key: row[key] for key in ("critical", "warning", "info")},
        summary=summary,
        missing=Seen(row["seen"]).missing,
    )


def rfc3339(at: int) -> str:
    """Ms since 1970 as RFC 3339 UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
