"""One event -> the rows that it changes. An event may come late, behind later ones of its call: a row is changed only
by what is newer than it."""

from __future__ import annotations

import json
import sqlite3
from functools import lru_cache
from typing import Any

import msgspec

from monitor.core import events
from monitor.core.encode import clean_text
from monitor.sinks.history import baselines
from monitor.sinks.history.following import Whole
from monitor.sinks.history.runs import Run, described, moment
from monitor.sinks.history.schema import OF_A_RUN
from monitor.sinks.history.writers import now

_BIGGEST = (1 << 63) - 1


def plain(value: Any) -> Any:
    """As SQLite can hold it: valid text, a number of 64 bits; a list or a mapping as JSON."""
    if isinstance(value, str):
        return value if value.isascii() else clean_text(value)
    if isinstance(value, int):
        return value if -_BIGGEST < value < _BIGGEST else max(-_BIGGEST, min(_BIGGEST, int(value)))
    if isinstance(value, dict | list | tuple):
        try:
            return msgspec.json.encode(value).decode()
        except UnicodeEncodeError:
            return clean_text(json.dumps(value, ensure_ascii=False))
    return value


@lru_cache(maxsize=256)
def _upserting(table: str, key: tuple[str, ...], rest: tuple[str, ...], order: str) -> str:
    changes = ", ".join(f"{name} = excluded.{name}" for name in rest)
    columns = (*key, *rest)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes} WHERE excluded.{order} > {table}.{order}"
    )


def _upsert(file: sqlite3.Connection, table: str, key: dict[str, Any], rest: dict[str, Any], order: str) -> None:
    """Insert, or change where the row's column `order` is older."""
    values = [plain(value) for value in (*key.values(), *rest.values())]
    file.execute(_upserting(table, tuple(key), tuple(rest), order), values)


def _insert(file: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    """Insert, unless it is there."""
    file.execute(
        f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        [plain(value) for value in row.values()],
    )


def write(file: sqlite3.Connection, run: Run, event: events.Event, whole: Whole | None) -> None:
    """Write an event that is new. `whole`: with a call's last one, what there is to say of it."""
    row = run.number
    rest: dict[str, Any]
    run.columns["reached_ms"] = max(run.columns.get("reached_ms", 0), event.known_at_ms)
    match event:
        case events.CallStarted():
            run.columns |= described(event)
        case events.TurnStarted() | events.TurnUpdated() | events.TurnEnded():
            _turn(file, row, event)
        case events.TurnText():
            _text(file, row, event.turn.index, event.turn.role, event.text, event.seq)
        case events.TransitionScored(transition=one):
            own = ("kind", "gap_ms", "score", "final", "sure")
            rest = {**{key: getattr(one, key) for key in own}, "seq": event.seq}
            _transition(file, run, (one.from_turn, one.to_turn), event, rest)
        case events.TransitionWithdrawn():
            rest = {"withdrawn": event.reason, "withdrawn_seq": event.seq}
            _transition(file, run, (event.from_turn, event.to_turn), event, rest)
        case events.RelevancyJudged() | events.RelevancyScored():
            _verdict(file, run, event)
        case events.AlertRaised(alert=alert) | events.AlertCleared(alert=alert):
            rest = msgspec.structs.asdict(alert)
            _upsert(file, "alerts", {"run": row, "id": rest.pop("id")}, rest | {"seq": event.seq}, "seq")
            if alert.scope == "fleet" and run.started is None:
                run.columns["fleet"] = 1
        case events.Notice():
            rest = {"kind": event.kind, "track": event.track, "count": event.count, "message": event.message}
            _insert(file, "notices", {"run": row, "seq": event.seq, "at_ms": event.at_ms, **rest})
        case events.CallEnded():
            _ended(file, run, event, whole)


_TurnEvent = events.TurnStarted | events.TurnUpdated | events.TurnEnded


def _turn(file: sqlite3.Connection, row: int, event: _TurnEvent) -> None:
    turn = event.turn
    rest = {
        "role": turn.role,
        "start_ms": turn.start_ms,
        "duration_ms": turn.duration_ms,
        "ended_by": turn.ended_by,
        "backchannel": turn.backchannel,
        "interrupted": turn.interrupted,
        "after_stall": turn.after_stall,
        "sure": turn.sure,
        "seq": event.seq,
    }
    _upsert(file, "turns", {"run": row, "turn": turn.index}, rest, "seq")
    if turn.text is not None and isinstance(event, events.TurnEnded):
        _text(file, row, turn.index, turn.role, turn.text, event.seq)


def _text(file: sqlite3.Connection, row: int, turn: int, role: str, text: str, seq: int) -> None:
    _upsert(file, "turns", {"run": row, "turn": turn}, {"role": role, "text": text, "text_seq": seq}, "text_seq")


def _transition(
    file: sqlite3.Connection,
    run: Run,
    turns: tuple[int, int],
    event: events.TransitionScored | events.TransitionWithdrawn,
    rest: dict[str, Any],
) -> None:
    key = {"run": run.number, "from_turn": turns[0], "to_turn": turns[1]}
    _upsert(file, "transitions", key, rest, "withdrawn_seq" if "withdrawn" in rest else "seq")
    if event.seq == run.seen.last:
        run.columns |= {"score": event.turn_taking.score, "transitions": event.turn_taking.transitions}


def _verdict(file: sqlite3.Connection, run: Run, event: events.RelevancyJudged | events.RelevancyScored) -> None:
    own: dict[str, Any]
    if isinstance(event, events.RelevancyJudged):
        own = {"turns": (event.turn.index,), "verdict": event.verdict, "shown": event.window}
    else:
        own = {"turns": event.turns, "score": event.score, "confidence": event.confidence}
    whole = {"reason": event.reason, "batch": event.batch, "judge": event.judge}
    _insert(file, "verdicts", {"run": run.number, "seq": event.seq, "at_ms": event.at_ms, **own, **whole})
    if event.seq == run.seen.last:
        run.columns |= {"relevancy": event.relevancy.score, "judged": event.relevancy.judged}


def _ended(file: sqlite3.Connection, run: Run, event: events.CallEnded, whole: Whole | None) -> None:
    started = moment(run.started.started_at) if run.started else None
    ended = now() if started is None else started + event.at_ms
    run.columns |= {"ended_at": ended, "cause": event.cause, "summary": event.summary}
    taking = event.summary.get("turn_taking")
    if isinstance(taking, dict):
        run.columns |= {"score": taking.get("score"), "transitions": taking.get("transitions") or 0}
    if whole is None:
        return
    if whole.agent_id:
        known = baselines.Baselines(file)
        known.record_if_new(clean_text(whole.agent_id), run.call, ended, whole.turns, whole.barge_ins)
    if whole.digest is not None:
        run.columns["digest"] = whole.digest
        _join_if_same(file, run, whole.digest)


def _join_if_same(file: sqlite3.Connection, run: Run, digest: bytes) -> None:
    """A recording that was watched before, with the very same events: this run was that one once more."""
    same = file.execute(
        "SELECT run FROM calls WHERE call = ? AND site = ? AND started_at IS NULL AND digest = ? AND run != ?",
        (run.call, run.site, digest, run.number),
    ).fetchone()
    if same is not None:
        forget(file, [same[0]])


def forget(file: sqlite3.Connection, runs: list[int]) -> None:
    """Delete all that is kept of these runs."""
    marks = ", ".join("?" * len(runs))
    for table in OF_A_RUN:
        file.execute(f"DELETE FROM {table} WHERE run IN ({marks})", runs)


def finish(file: sqlite3.Connection, run: Run) -> None:
    """The end of a transaction: what it changed of the run's own row."""
    columns = {**run.columns, "seen": str(run.seen), "touched_at": now()}
    reached = columns.pop("reached_ms", 0)
    assigned = "".join(f"{name} = ?, " for name in columns)
    file.execute(
        f"UPDATE calls SET {assigned} reached_ms = max(reached_ms, ?) WHERE run = ?",
        [plain(value) for value in (*columns.values(), reached, run.number)],
    )
