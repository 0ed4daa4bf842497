"""Room 7, told: edges of both tracks -> turns as they start, go on and end, and who holds the floor.

A turn starts when its first stretch is sure (100 ms of voice). It ends when its side has been silent for
`max_pause_ms`,
or the other side has taken the floor in its silence. A turn that has ended never changes its times again. Times are
media
milliseconds; whatever becomes true at a moment is told at that moment, however the audio was cut.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from monitor.core.clock import FRAME_MS, Span
from monitor.core.events import EndedBy, Role, Turn
from monitor.core.placing import Placing
from monitor.core.segments import Edge
from monitor.core.speech import SpeechSettings
from monitor.core.stretches import KEPT_MS, LiveTurn, Side, Stretch, is_backchannel

ROLES: tuple[Role, Role] = ("user", "assistant")
CUT_BEFORE_MS, CUT_AFTER_MS = 400, 200
"""A turn that ends so near to a cut of the playback was ended by it (the trim takes up to 200 ms off an end)."""
MAX_REMEMBERED = 64


class TimelineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a turn, a backchannel and a barge-in. Defaults as measured on composed calls."""

    max_pause_ms: int = 1000
    backchannel_max_ms: int = 1000
    backchannel_around_ms: int = 500
    barge_in_min_overlap_ms: int = 200
    barge_in_min_ms: int = 1000
    held_ms: int = 1000
    update_every_ms: int = 1000
    unscored_stall_ms: int = 1000


class Told(NamedTuple):
    """What the timeline says: `what` is `started`, `updated` or `ended`."""

    what: str
    turn: Turn


class Timeline:
    """Both sides' turns. Feed it edges in order of `known`; read `turns` for the ones that transitions may still
    need."""

    def __init__(self, settings: TimelineSettings, speech: SpeechSettings) -> None:
        self._set = settings
        self.sides = [Side(n, settings.backchannel_around_ms, speech.trim_max_ms) for n in (0, 1)]
        self.placing = Placing(settings.max_pause_ms, self._announce)
        self.turns: list[LiveTurn] = []
        self.closed: list[Stretch] = []
        """The stretches that closed in the last step."""
        self.changed = False
        """A turn began, ended or had its fate decided since the transitions last looked."""
        self.now = 0
        self.wake: int | None = None
        """The next media time at which something may have to be said although no edge comes; None: only an edge will."""
        self._next_index = 0
        self._latest_end = 0
        self._cuts: list[int] = []
        self._stalls: list[Span] = []
        self._told: list[Told] = []

    def cut(self, at: int) -> None:
        """The provider cut the agent's playback at `at`, and something was left unheard."""
        self._cuts = [*self._cuts[-MAX_REMEMBERED:], at]

    def stalled(self, span: Span) -> None:
        """What a track held in `span` is unknown."""
        self._stalls = [*self._stalls[-MAX_REMEMBERED:], span]

    def _next_wake(self) -> int | None:
        if self.placing.queue or any(t.current.closed and not t.ended for t in self.turns):
            return self.now + FRAME_MS
        due = [t.told_until + self._set.update_every_ms for t in self.turns if not t.ended]
        return max(self.now + FRAME_MS, min(due)) if due else None

    @property
    def settled(self) -> bool:
        """Nothing waits to be decided: until a stretch opens or closes there are only updates to tell."""
        return not self.placing.queue and all(turn.ended or not turn.current.closed for turn in self.turns)

    def step(self, now: int, edges: list[tuple[int, Edge]]) -> list[Told]:
        """Media time `now`, with the edges known at it as (side, edge), the caller's first. -> what is to be said."""
        self.now = now
        self._told = []
        self.closed = []
        for number, edge in edges:
            stretch = self.sides[number].edge(edge)
            if stretch is not None and stretch.closed:
                self.closed.append(stretch)
            elif stretch is not None:
                self.placing.add(stretch)
        for side in self.sides:
            side.advance(now)
        self._decide(now)
        self._end(now)
        self._update(now)
        if edges:
            self._forget(now)
        self.wake = self._next_wake()
        return self._told

    def mark_end(self) -> None:
        """The call ends now: what is still open is open for that reason. Comes before the tracks' last edges."""
        for side in self.sides:
            if side.open is not None:
                side.open.at_end = True

    def finish(self, now: int) -> list[Told]:
        """Nothing more will come, so everything can be decided. Comes after the tracks' last edges."""
        for side in self.sides:
            side.over = True
        return self.step(now, [])

    def _decide(self, now: int) -> None:
        settings = self._set
        while True:
            for group in self.placing.open_groups():
                group.fate = is_backchannel(
                    group,
                    self.sides[1 - group.side],
                    now,
                    settings.backchannel_max_ms,
                    settings.backchannel_around_ms,
                    settings.max_pause_ms,
                )
            if not self.placing.settle(self.sides, now):
                return
            self.changed = True

    def _announce(self, stretch: Stretch) -> LiveTurn:
        silence = Span(self._latest_end, stretch.start)
        unknown = sum(silence.overlap(stall) for stall in self._stalls)
        turn = LiveTurn(self._next_index, stretch, unknown >= self._set.unscored_stall_ms)
        self._next_index += 1
        self._latest_end = max(self._latest_end, stretch.start)
        self.turns.append(turn)
        self._told.append(Told("started", self.snapshot(turn, duration=None)))
        return turn

    def snapshot(self, turn: LiveTurn, duration: int | None) -> Turn:
        """The turn as the events show it."""
        return Turn(
            index=turn.index,
            role=ROLES[turn.side],
            start_ms=turn.start,
            duration_ms=duration,
            backchannel=turn.fate is True,
            interrupted=turn.yielded,
            after_stall=turn.after_stall,
        )

    def _end(self, now: int) -> None:
        for turn in self.turns:
            if turn.current.closed:
                self._latest_end = max(self._latest_end, turn.end)
            elif not turn.ended:
                self._latest_end = max(self._latest_end, self.sides[turn.side].voiced(now))
            if not turn.ended and turn.current.closed and self._is_over(turn, now) and not self._in_doubt(turn, now):
                turn.ended = self.changed = True
                self._told.append(Told("ended", self._ended(turn)))

    def _is_over(self, turn: LiveTurn, now: int) -> bool:
        if turn.fate is None:
            return False
        if turn.fate:
            return turn.current.group.closed
        if self.placing.base[turn.side] is not turn:
            return True
        latest = turn.end + self._set.max_pause_ms
        waiting = self.placing.waiting(turn.side)
        if waiting is not None:
            return waiting.start > latest
        mark = self.sides[turn.side].watermark(now)
        other = self.placing.base[1 - turn.side]
        return mark > latest or (other is not None and turn.end <= other.start < mark)

    def _ended(self, turn: LiveTurn) -> Turn:
        last = turn.current
        why: EndedBy = "silence"
        if turn.side == 1 and any(-CUT_BEFORE_MS <= turn.end - cut <= CUT_AFTER_MS for cut in self._cuts):
            why = "interruption"
            turn.yielded = True
        elif last.at_end:
            why = "call_end"
        elif last.stall:
            why = "stall"
        turn.yielded = turn.yielded or (turn.fate is False and self._gave_way(turn))
        told = self.snapshot(turn, turn.end - turn.start)
        return msgspec.structs.replace(told, ended_by=why)

    def _gave_way(self, turn: LiveTurn) -> bool:
        """Did the other side come in on it, with 200 ms of live speech on either side of that moment, keep the floor,
        and did this turn then stop within a second?"""
        overlap, keeps = self._set.barge_in_min_overlap_ms, self._set.barge_in_min_ms
        for other in self.turns:
            if other.side == turn.side or other.fate is True or not turn.start < other.start < turn.end:
                continue
            end = self._likely_end(other)
            live = any(
                s.start <= other.start - overlap and s.end >= other.start + overlap
                for s in self.sides[turn.side].stretches
            )
            together = min(end, turn.end) - other.start
            holds = end - other.start >= keeps or end > turn.end
            if live and together >= overlap and holds and turn.end - other.start < self._set.held_ms:
                return True
        return False

    def _in_doubt(self, turn: LiveTurn, now: int) -> bool:
        """Whether it gave way still hangs on whether the one who came in will go on within this pause."""
        return any(
            turn.start < other.start < turn.end < other.start + self._set.held_ms
            and other.fate is not True
            and self._likely_end(other) <= turn.end
            and self.sides[other.side].watermark(now) <= other.end + self._set.max_pause_ms
            for other in self.turns
            if other.side != turn.side and not other.ended
        )

    def _likely_end(self, turn: LiveTurn) -> int:
        """The end of a turn if it goes on with whatever its side has said since and is not settled yet."""
        later = [s for s in self.placing.queue if s.side == turn.side and s.turn is None and s.start > turn.start]
        last = later[-1] if later else turn.current
        return last.end if last.closed else max(last.end, self.sides[turn.side].voiced(self.now))

    def _update(self, now: int) -> None:
        every = self._set.update_every_ms
        for turn in self.turns:
            if turn.ended or now < turn.told_until + every:
                continue
            turn.told_until += (now - turn.told_until) // every * every
            if not turn.current.closed:
                voiced = self.sides[turn.side].voiced(now)
                self._told.append(Told("updated", self.snapshot(turn, max(0, voiced - turn.start))))

    def _forget(self, now: int) -> None:
        oldest = min([now - KEPT_MS, *(s.group.start - 2000 for s in self.placing.queue)])
        for side in self.sides:
            side.forget(oldest)
