"""Talk shares: who spoke for how long, both at once, neither, and the longest turn of each."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import TRACKS, Track
from monitor.core.clock import Span, seconds
from monitor.core.events import Role, Turn
from monitor.core.measures import Measure

_SETTLE_AT = 64
"""So many stretches are gathered before the oldest are added up."""

_LATE_MS = 60_000
"""A stretch is told at most so long after its start, or else so long after the end of the turn that it lies in."""

_CALLER, _AGENT, _STALL = 0, 1, 2


class Talk(Measure):
    """In seconds: `user`, `assistant` (speech, without the pauses inside turns, with backchannels), `overlap` (both at
    once), `silence` (neither), `unknown` (no speech known, and a track stalled): user + assistant − overlap + silence +
    unknown is the call's duration. `shares`: each party's part of all talk, in 0..1. `longest_monologue`: the longest
    turn of each, its pauses included. What an absent track would be needed for is None.

    Stretches close out of order across tracks, so they are gathered and added up once nothing older can come.
    """

    key = "talk"

    def __init__(self, tracks: Collection[str]) -> None:
        super().__init__(tracks)
        self._spoken: dict[Track, int] = dict.fromkeys(TRACKS, 0)
        self._longest: dict[Role, int] = {"user": 0, "assistant": 0}
        self._turns: dict[int, Turn] = {}  # those that may still have stretches to tell
        self._gathered: list[tuple[int, int, int]] = []  # (start, end, lane)
        self._settle_at = _SETTLE_AT
        self._settled = 0
        self._overlap = 0
        self._unknown = 0
        self._speech = 0

    def turn_started(self, turn: Turn) -> None:
        self._turns[turn.index] = turn

    def turn_ended(self, turn: Turn) -> None:
        self._turns[turn.index] = turn
        self._longest[turn.role] = max(self._longest[turn.role], turn.duration_ms or 0)

    def stretch(self, track: Track, span: Span) -> None:
        self._spoken[track] += span.duration
        self._gather(span, TRACKS.index(track))

    def stalled(self, track: Track, span: Span) -> None:
        self._gather(span, _STALL)

    def _gather(self, span: Span, lane: int) -> None:
        self._gathered.append((span.start, span.end, lane))
        if len(self._gathered) >= self._settle_at:
            until = span.end - _LATE_MS
            self._turns = {i: t for i, t in self._turns.items() if t.duration_ms is None or t.end_ms > until}
            self._settle(min(until, min((t.start_ms for t in self._turns.values()), default=until)))
            self._settle_at = len(self._gathered) + _SETTLE_AT

    def _settle(self, until: int) -> None:
        """Add up what lies before `until`, and keep the rest."""
        if until <= self._settled:
            return
        edges: list[tuple[int, int, int]] = []
        for start, end, lane in self._gathered:
            if start < until and end > self._settled:
                edges += [(max(start, self._settled), lane, 1), (min(end, until), lane, -1)]
        edges.sort()
        on = [0, 0, 0]
        before = self._settled
        for at, lane, step in edges:
            length, before = at - before, at
            if on[_CALLER] and on[_AGENT]:
                self._overlap += length
            if on[_CALLER] or on[_AGENT]:
                self._speech += length
            elif on[_STALL]:
                self._unknown += length
            on[lane] += step
        self._gathered = [piece for piece in self._gathered if piece[1] > until]
        self._settled = until

    def figures(self, duration_ms: int) -> dict[str, object]:
        self._settle(max(duration_ms, max((end for _, end, _ in self._gathered), default=0)))
        user, assistant = self._spoken["caller"], self._spoken["agent"]
        talk = user + assistant
        there = {"user": "caller" in self.tracks, "assistant": "agent" in self.tracks}

        def told(ms: int, known: bool) -> float | None:
            return seconds(ms) if known else None

        return {
            "user": told(user, there["user"]),
            "assistant": told(assistant, there["assistant"]),
            "overlap": told(self._overlap, self.both),
            "silence": told(max(0, duration_ms - self._speech - self._unknown), self.both),
            "unknown": told(self._unknown, True),
            "shares": {
                "user": user / talk if self.both and talk else None,
                "assistant": assistant / talk if self.both and talk else None,
            },
            "longest_monologue": {role: told(ms, there[role] and ms > 0) for role, ms in self._longest.items()},
        }
