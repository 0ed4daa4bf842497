"""Screens for tests: what a console sink shows of events, on a pipe or on a terminal of any size."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from monitor.core import events
from monitor.core.call import Status
from monitor.core.events import Event, Transition, Turn, TurnTaking
from monitor.sinks.console import ConsoleSink


class Screen(io.StringIO):
    """A stream that says what it is: with `terminal`, one that somebody looks at."""

    def __init__(self, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding
        self._written = asyncio.Event()

    def write(self, text: str, /) -> int:
        """Take text."""
        self._written.set()
        return super().write(text)

    async def until(self, text: str) -> None:
        """Return once `text` stands there."""
        while text not in self.getvalue():
            self._written.clear()
            await self._written.wait()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As of a real output."""
        return self._encoding

    def isatty(self) -> bool:
        """Whether somebody looks at it."""
        return self._terminal

    @property
    def lines(self) -> list[str]:
        """What stands there, colours taken away."""
        return bare(self.getvalue()).splitlines()


def bare(text: str) -> str:
    """`text` without colour codes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def terminal_of(monkeypatch: pytest.MonkeyPatch, width: int, **environment: str) -> Screen:
    """A terminal of `width` cells with 256 colours, unless `environment` says otherwise."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": str(width), **environment}.items():
        monkeypatch.setenv(name, value)
    return Screen(terminal=True)


def show(told: Iterable[Event], screen: Screen | None = None, **how: Any) -> list[str]:
    """The lines that a console sink writes for `told`."""
    screen = screen or Screen()

    async def run() -> None:
        sink = ConsoleSink(screen, **how)
        await sink.open()
        for event in told:
            await sink.deliver(event)
        await sink.close()

    asyncio.run(run())
    return screen.lines


class Script:
    """Writes the events of a call, in order, with few words."""

    def __init__(self, call: str = "call-1") -> None:
        self.call = call
        self.told: list[Event] = []

    def add(self, kind: Callable[..., Event], at_ms: int, /, **fields: Any) -> Script:
        """Any event."""
        self.told.append(kind(call=self.call, seq=len(self.told), at_ms=at_ms, known_at_ms=at_ms, **fields))
        return self

    def started(self, **fields: Any) -> Script:
        """The call begins."""
        form = {"encoding": "mulaw", "sample_rate": 8000}
        given = {
            "source": "twilio",
            "started_at": None,
            "agent_id": "ada",
            "labels": {},
            "tracks": {"caller": form, "agent": form},
        }
        return self.add(events.CallStarted, 0, **{**given, **fields})

    def begins(self, index: int, role: str, start: int) -> Script:
        """A turn begins."""
        return self.add(events.TurnStarted, start, turn=Turn(index=index, role=role, start_ms=start))  # type: ignore[arg-type]

    def ends(self, index: int, role: str, start: int, end: int, text: str | None = None, **fields: Any) -> Script:
        """A turn ends."""
        given = {"ended_by": "silence", **fields}
        turn = Turn(index=index, role=role, start_ms=start, duration_ms=end - start, text=text, **given)  # type: ignore[arg-type]
        return self.add(events.TurnEnded, end, turn=turn)

    def passes(
        self, a: int, b: int, kind: str, at: int, gap: int, score: float, running: float, final: bool = True
    ) -> Script:
        """The floor passes from turn `a` to turn `b`."""
        passing = Transition(from_turn=a, to_turn=b, kind=kind, gap_ms=gap, score=score, final=final)  # type: ignore[arg-type]
        return self.add(events.TransitionScored, at, transition=passing, turn_taking=TurnTaking(running, b))

    def withdraws(self, a: int, b: int, at: int, reason: str = "backchannel") -> Script:
        """A transition is taken back."""
        fields = {"from_turn": a, "to_turn": b, "reason": reason, "turn_taking": TurnTaking(0.5, 1)}
        return self.add(events.TransitionWithdrawn, at, **fields)

    def notices(self, at: int, kind: str, message: str, track: str | None = None, count: int = 1) -> Script:
        """Something about the feed."""
        return self.add(events.Notice, at, kind=kind, track=track, count=count, message=message)

    def alerts(self, at: int, rule: str = "dead_air", severity: str = "warning", **fields: Any) -> Script:
        """An alert is raised."""
        return self.add(events.AlertRaised, at, alert=self.alert(rule, severity, **{"since_ms": at, **fields}))

    def clears(self, at: int, rule: str = "dead_air", severity: str = "warning", **fields: Any) -> Script:
        """An alert is over."""
        return self.add(events.AlertCleared, at, alert=self.alert(rule, severity, **{"until_ms": at, **fields}))

    def alert(self, rule: str, severity: str, **fields: Any) -> events.Alert:
        """An alert of this call."""
        given = {
            "id": f"{self.call}/{rule}/1",
            "scope": "call",
            "message": f"there is {rule}",
            "value": 5.0,
            "threshold": 4.0,
            "because": (1, 2),
            "since_ms": 0,
            **fields,
        }
        return events.Alert(rule=rule, severity=severity, **given)  # type: ignore[arg-type]

    def judged(self, at: int, index: int, verdict: str = "yes", reason: str | None = None) -> Script:
        """An assistant turn has its verdict."""
        turn = Turn(index=index, role="assistant", start_ms=0)
        score = events.Relevancy(1.0, 1, 1, 0, 1)
        fields = {"window": (index,), "batch": 0, "judge": "a judge", "relevancy": score}
        return self.add(events.RelevancyJudged, at, turn=turn, verdict=verdict, reason=reason, **fields)

    def hangs_up(self, at: int, cause: str = "hangup", **summary: Any) -> Script:
        """The call is over."""
        return self.add(events.CallEnded, at, cause=cause, summary={"duration": at / 1000, **summary})


SUMMARY: dict[str, Any] = {
    "turns": {"user": 3, "assistant": 2},
    "talk": {"user": 6.0, "assistant": 8.25, "overlap": 0.5, "silence": 4.0, "unknown": 0.0},
    "turn_taking": {
        "score": 0.8125,
        "score_with_consistency": 0.8,
        "transitions": 4,
        "kinds": {"gap": 3, "user_barge_in": 1, "agent_overlap": 0},
        "success": True,
        "reason": "…",
    },
    "response_time": {"count": 2, "p50": 0.62, "p95": 0.9, "max": 0.91, "mean": 0.7, "spread": 0.1},
    "barge_in": {"user": 1, "agent": 0, "backchannels": 1, "yield_p50": 0.5, "recovery_p50": None},
    "false_interruptions": {"count": 1, "interrupted": 1},
    "dead_air": {"count": 2, "total": 9.5},
    "unanswered": {"count": 0, "longest": None},
    "relevancy": None,
    "alerts": {},
    "notices": {"gap": 2},
}


def whole_call(call: str = "call-1") -> Sequence[Event]:
    """A short call in which everything happens once."""
    return (
        Script(call)
        .started(labels={"team": "east"})
        .begins(0, "assistant", 400)
        .ends(0, "assistant", 400, 3300, "Hello, this is Ada.")
        .begins(1, "user", 4120)
        .passes(0, 1, "gap", 4120, 820, 0.72, 0.72, final=False)
        .passes(0, 1, "gap", 4120, 820, 0.72, 0.72)
        .begins(2, "assistant", 7000)
        .passes(1, 2, "agent_overlap", 7000, -100, 0.85, 0.78, final=False)
        .ends(1, "user", 4120, 7400, "I'd like to change my booking.", interrupted=True)
        .passes(1, 2, "agent_overlap", 7000, -400, 0.51, 0.62)
        .begins(3, "user", 8000)
        .passes(2, 3, "user_barge_in", 8000, -100, 0.95, 0.73, final=False)
        .ends(3, "user", 8000, 8500, "mm-hm", backchannel=True)
        .withdraws(2, 3, 8000)
        .begins(4, "user", 11000)
        .passes(2, 4, "user_barge_in", 11000, -100, 0.95, 0.73, final=False)
        .ends(2, "assistant", 7000, 11600, ended_by="interruption", interrupted=True)
        .passes(2, 4, "user_barge_in", 11000, -600, 0.74, 0.66)
        .notices(12000, "gap", "no agent audio has been coming since 11.900 s", "agent")
        .notices(12500, "bad_payload", "pieces that cannot be used", None, 3)
        .ends(4, "user", 11000, 14000, ended_by="call_end")
        .hangs_up(14000, **SUMMARY)
        .told
    )


ERASE = "\r\x1b[2K"
"""What the status line begins with: what stood there goes."""


def state(
    call: str = "call-1",
    now_ms: int = 0,
    speaking: tuple[str, ...] = (),
    waiting_ms: int | None = None,
    score: float | None = None,
    transitions: int = 0,
    ended: bool = False,
) -> Status:
    """How a call stands."""
    return Status(call, now_ms, speaking, waiting_ms, score, transitions, ended)
