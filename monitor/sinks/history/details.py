"""All that is kept of one call, as it would be told: times in seconds, the names of the contract."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from monitor.core.clock import seconds
from monitor.sinks.history.reading import Call, History


def details(history: History, call: Call) -> dict[str, Any]:
    """`summary`, `turns`, `transitions`, `verdicts`, `alerts` and `notices` of a call, each in order."""

    def rows(table: str, order: str) -> list[dict[str, Any]]:
        found = history.file.execute(f"SELECT * FROM {table} WHERE run = ? ORDER BY {order}", (call.run,))
        return [_told(row) for row in found]

    return {
        "summary": call.summary,
        "turns": rows("turns", "turn"),
        "transitions": rows("transitions", "to_turn, from_turn"),
        "verdicts": rows("verdicts", "seq"),
        "alerts": rows("alerts", "since_ms, id"),
        "notices": rows("notices", "seq"),
    }


_OWN = {"run", "text_seq", "withdrawn_seq"}
_TRUTHS = {"backchannel", "interrupted", "after_stall", "final"}
_LISTS = {"turns", "shown", "because"}
_NAMES = {
    "start_ms": "start_time",
    "duration_ms": "duration",
    "gap_ms": "gap_seconds",
    "at_ms": "at",
    "since_ms": "since",
    "until_ms": "until",
    "turn": "index",
    "shown": "window",
}


def _told(row: sqlite3.Row) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key in row.keys():  # noqa: SIM118 - a row is no mapping
        value = row[key]
        if key == "withdrawn" and row["withdrawn_seq"] < row["seq"]:
            value = None  # it was scored anew after that
        if key in _OWN:
            continue
        if key in _TRUTHS:
            value = bool(value)
        elif key in _LISTS and value is not None:
            value = json.loads(value)
        elif key.endswith("_ms") and value is not None:
            value = seconds(value)
        out[_NAMES.get(key, key)] = value
    return out
