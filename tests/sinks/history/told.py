"""Calls as they are told, and what a history has of them afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from monitor.core import events
from monitor.core.events import Alert, Event, Relevancy, Transition, Turn, TurnTaking
from monitor.sinks.history.details import details
from monitor.sinks.history.reading import Call, History
from monitor.sinks.history.settings import HistorySettings
from monitor.sinks.history.sink import HistorySink

NOON = "2026-01-31T12:00:00.000Z"
LIMIT_S = 30


class Script:
    """Writes down the events of one call, each with the next number."""

    def __init__(self, call: str = "call", started_at: str | None = NOON, agent: str | None = "bot") -> None:
        self.call, self.at, self.told = call, 0, list[Event]()
        self.say(
            events.CallStarted,
            source="test",
            started_at=started_at,
            agent_id=agent,
            labels={"line": "7"},
            tracks={"caller": {}, "agent": {}},
        )

    def say(self, kind: type[Event], /, **fields: Any) -> None:
        self.told.append(kind(call=self.call, seq=len(self.told), at_ms=self.at, known_at_ms=self.at, **fields))

    def turn(self, index: int, role: events.Role, ms: int, text: str | None = "well") -> None:
        start = self.at
        self.say(events.TurnStarted, turn=Turn(index=index, role=role, start_ms=start))
        self.at += ms
        self.say(events.TurnUpdated, turn=Turn(index=index, role=role, start_ms=start, duration_ms=ms // 2))
        done = Turn(index=index, role=role, start_ms=start, duration_ms=ms, ended_by="silence", text=text)
        self.say(events.TurnEnded, turn=done)

    def passing(self, from_turn: int, score: float = 0.5, *, final: bool = True) -> None:
        passed = Transition(
            from_turn=from_turn, to_turn=from_turn + 1, kind="gap", gap_ms=300, score=score, final=final
        )
        self.say(events.TransitionScored, transition=passed, turn_taking=TurnTaking(score, from_turn + 1))

    def verdict(self, turn: int, verdict: events.Verdict = "yes") -> None:
        self.say(
            events.RelevancyJudged,
            turn=Turn(index=turn, role="assistant", start_ms=0),
            verdict=verdict,
            reason="because",
            window=(0, turn),
            batch=1,
            judge="a model",
            relevancy=Relevancy(1.0, 1, 1, 0, 1),
        )

    def alert(self, number: int = 1, severity: events.Severity = "warning", *, cleared: bool = False) -> None:
        alert = Alert(
            id=f"{self.call}/dead_air/{number}",
            rule="dead_air",
            severity=severity,
            scope="call",
            message="silence",
            value=5.0,
            threshold=4.0,
            because=(0, 1),
            since_ms=100,
            until_ms=self.at if cleared else None,
        )
        self.say(events.AlertCleared if cleared else events.AlertRaised, alert=alert)

    def notice(self) -> None:
        self.say(events.Notice, kind="gap", track="agent", count=1, message="a gap")

    def end(self, **more: Any) -> list[Event]:
        summary = {
            "duration": self.at / 1000,
            "turn_taking": {"score": 0.75, "transitions": 3},
            "response_time": {"count": 2, "p50": 0.3, "p95": 0.9},
            "barge_in": {"user": 2, "agent": 0},
            **more,
        }
        self.say(events.CallEnded, cause="hangup", summary=summary)
        return self.told


def a_call(call: str = "call", started_at: str | None = NOON, agent: str | None = "bot", turns: int = 4) -> list[Event]:
    """A whole call in which everything happens."""
    script = Script(call, started_at, agent)
    for index in range(turns):
        role: events.Role = "assistant" if index % 2 == 0 else "user"
        script.turn(index, role, 1000, f"turn {index} of {call}")
        if index:
            script.passing(index - 1)
    script.verdict(0)
    script.alert()
    script.alert(severity="critical")
    script.notice()
    script.alert(severity="critical", cleared=True)
    return script.end()


def sink(path: Path, **settings: Any) -> HistorySink:
    return HistorySink(path, HistorySettings(file=str(path), **settings))


async def keep(path: Path, told: Iterable[Event], **settings: Any) -> HistorySink:
    """Give them to a sink from its beginning to its end."""
    history = sink(path, **settings)
    await history.open()
    for event in told:
        await history.deliver(event)
    await history.close()
    return history


def calls(path: Path, **wanted: Any) -> list[Call]:
    with History(path) as history:
        return list(history.calls(**wanted))


def known(path: Path, call: str = "call") -> dict[str, Any]:
    """All that is kept of a call that has one run."""
    with History(path) as history:
        (one,) = history.calls(call=call)
        return {**one.as_dict(), **details(history, one)}


async def until(true: Callable[[], object]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end, "it never came true"
        await asyncio.sleep(0.005)
