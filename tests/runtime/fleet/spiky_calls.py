"""Whole calls of an agent as events: the caller waits for each of its turns, or breaks into it."""

from __future__ import annotations

from typing import Any

from monitor.core import events
from monitor.core.events import Event, Transition, Turn, TurnTaking


def started(call: str, agent: str | None = "support", source: str = "test") -> Event:
    return events.CallStarted(
        call=call, seq=0, at_ms=0, known_at_ms=0, source=source, started_at=None, agent_id=agent, labels={}, tracks={}
    )


def whole(
    call: str, *, turns: int = 6, barged: int = 0, agent: str | None = "support", end: bool = True
) -> list[Event]:
    """`turns` turns of the agent; the caller barges in on the first `barged` of them."""
    told = [started(call, agent)]

    def tell(kind: type[Event], at: int, **body: Any) -> None:
        told.append(kind(call=call, seq=len(told), at_ms=at, known_at_ms=at, **body))

    for number in range(turns):
        zero, index = number * 6000, 2 * number
        into = number < barged
        said = Turn(index=index, role="assistant", start_ms=zero)
        caller = Turn(index=index + 1, role="user", start_ms=zero + (1000 if into else 3000))
        tell(events.TurnStarted, zero, turn=said)
        if into:
            tell(events.TurnStarted, caller.start_ms, turn=caller)
        tell(events.TurnEnded, zero + 2000, turn=_ended(said, 2000))
        if not into:
            tell(events.TurnStarted, caller.start_ms, turn=caller)
        passing = Transition(
            from_turn=index,
            to_turn=index + 1,
            kind="user_barge_in" if into else "gap",
            gap_ms=caller.start_ms - zero - 2000,
            score=0.5,
            final=True,
        )
        tell(events.TransitionScored, caller.start_ms, transition=passing, turn_taking=TurnTaking(0.5, 1))
        tell(events.TurnEnded, caller.start_ms + 1500, turn=_ended(caller, 1500))
    if end:
        tell(events.CallEnded, turns * 6000, cause="hangup", summary={})
    return told


def _ended(turn: Turn, duration_ms: int) -> Turn:
    return Turn(index=turn.index, role=turn.role, start_ms=turn.start_ms, duration_ms=duration_ms, ended_by="silence")
