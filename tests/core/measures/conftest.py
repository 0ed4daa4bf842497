"""Plays the turns of a call to a measure, in the order in which a live call would tell them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from monitor.core.clock import Span
from monitor.core.events import Transition, Turn
from monitor.core.measures import Measure
from monitor.core.turn_taking import transition_kind, transition_score

BOTH = ("caller", "agent")
TRACK = {"user": "caller", "assistant": "agent"}
TOLD, CLOSED, OVER = 120, 200, 1000
"""A turn is told 120 ms after its start, a stretch 200 ms and a turn 1 s after its end."""


class Said:
    """One turn of a scripted call, in seconds, each turn one stretch of sound unless `sounds` says otherwise."""

    def __init__(self, role: str, start: float, end: float, sounds: Sequence[tuple[float, float]] = (), **more: Any):
        self.role, self.start, self.end = role, round(start * 1000), round(end * 1000)
        self.sounds = [(round(a * 1000), round(b * 1000)) for a, b in (sounds or [(start, end)])]
        self.more = {"ended_by": "silence"} | more


def user(start: float, end: float, **more: Any) -> Said:
    return Said("user", start, end, **more)


def agent(start: float, end: float, **more: Any) -> Said:
    return Said("assistant", start, end, **more)


def script(said: Iterable[Said], stalls: Iterable[tuple[str, float, float]] = ()) -> list[tuple[int, int, str, tuple]]:
    """The hooks to call, as (when, rank, hook, arguments) in order."""
    turns = [
        (
            s,
            Turn(
                index=i,
                role=s.role,
                start_ms=s.start,
                duration_ms=s.end - s.start,
                **({"ended_by": "silence"} | s.more),
            ),
        )
        for i, s in enumerate(sorted(said, key=lambda s: (s.start, s.role == "assistant")))
    ]
    hooks: list[tuple[int, int, str, tuple]] = []
    for s, turn in turns:
        begun = Turn(index=turn.index, role=turn.role, start_ms=turn.start_ms, after_stall=turn.after_stall)
        hooks.append((turn.start_ms + TOLD, 0, "turn_started", (begun,)))
        hooks.append((turn.end_ms + OVER, 1, "turn_ended", (turn,)))
        for start, end in s.sounds:
            hooks.append((end + CLOSED, 3, "stretch", (TRACK[turn.role], Span(start, end))))
    for before, after in pairwise([turn for _, turn in turns if not turn.backchannel]):
        if before.role == after.role or after.after_stall:
            continue
        gap = after.start_ms - before.end_ms
        kind = transition_kind(before.role, after.role, gap)
        scored = Transition(
            from_turn=before.index,
            to_turn=after.index,
            kind=kind,
            gap_ms=gap,
            score=transition_score(kind, gap / 1000),
            final=True,
        )
        hooks.append((max(before.end_ms + OVER, after.start_ms + TOLD), 2, "transition", (scored, before, after)))
    for track, start, end in stalls:
        hooks.append((round(end * 1000), 4, "stalled", (track, Span(round(start * 1000), round(end * 1000)))))
    return sorted(hooks, key=lambda hook: hook[:2])


Play = Callable[..., Any]


@pytest.fixture
def play() -> Play:
    """play(measure class, turns, stalls=…, until=seconds, tracks=…) -> its figures on a call that long."""

    def played(row: type[Measure], *said: Said, stalls=(), until: float, tracks=BOTH) -> Any:
        measure = row(tracks)
        for _, _, hook, arguments in script(said, stalls):
            getattr(measure, hook)(*arguments)
        summary = measure.summary(round(until * 1000))
        assert list(summary) == [row.key]
        assert summary == measure.summary(round(until * 1000)), "asking twice changes the answer"
        return summary[row.key]

    return played


@pytest.fixture
def say():
    """The two parties of a scripted call."""
    return user, agent


@pytest.fixture
def waits() -> Play:
    """waits(measure class, turns, at=seconds) -> the milliseconds that the caller has waited by then."""

    def asked(row: type[Measure], *said: Said, at: float, stalls=(), tracks=BOTH) -> Any:
        measure = row(tracks)
        for when, _, hook, arguments in script(said, stalls):
            if when <= at * 1000:
                getattr(measure, hook)(*arguments)
        return measure.waiting_ms(round(at * 1000))

    return asked
