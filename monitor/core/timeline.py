"""Room 7, told: edges of both tracks -> turns as they start, go on and end, and who holds the floor.

A turn starts when its first stretch is sure (100 ms of voice). It ends when its side has been silent for
`max_pause_ms`, or the other side has taken the floor in its silence. A turn that has ended never changes its times
again. Times are media milliseconds; whatever becomes true at a moment is told at that moment, however the audio was
cut.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from monitor.core.clock import FRAME_MS, Span
from monitor.core.edges import Edge
from monitor.core.events import EndedBy, Role, Turn
from monitor.core.giving_way import GivingWay, TimelineSettings
from monitor.core.placing import Placing
from monitor.core.speech import SpeechSettings
from monitor.core.stretches import KEPT_MS, LiveTurn, Side, Stretch, is_backchannel
from monitor.core.waking import grid_end, next_wake

ROLES: tuple[Role, Role] = ("user", "assistant")
CUT_BEFORE_MS, CUT_AFTER_MS = 400, 200
"""A turn that ends so near to a cut of the playback was ended by it (the trim takes up to 200 ms off an end)."""
MAX_REMEMBERED = 64


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
        self._giving_way = GivingWay(settings, self.sides, self.placing)
        self.turns: list[LiveTurn] = []
        self.closed: list[Stretch] = []
        """The stretches that closed in the last step."""
        self.changed = False
        """A turn began, ended or had its fate decided since the transitions last looked."""
        self.now = 0
        self.wake: int | None = None
        """The next media time at which something may have to be said although no stretch opens or closes: `_doubt`, at
        which an answer may turn, or `_due`, of the next update."""
        self._doubt: int | None = None
        self._due: int | None = None
        self._next_index = 0
        self._trim = speech.trim_max_ms
        self._moved = False
        self._latest_end = 0
        self._cuts: list[int] = []
        self._stalls: list[Span] = []
        self._told: list[Told] = []

    def cut(self, at: int) -> None:
        """The provider cut the agent's playback at `at`, and something was left unheard."""
        self._cuts = [*self._cuts[-MAX_REMEMBERED:], at]

    def stalled(self, span: Span) -> None:
        """What a track held in `span` is unknown. Stalls that touch are one, whatever their tracks."""
        apart = [stall for stall in self._stalls if stall.end < span.start or span.end < stall.start]
        touching = [span, *(stall for stall in self._stalls if stall not in apart)]
        whole = Span(min(stall.start for stall in touching), max(stall.end for stall in touching))
        self._stalls = [*apart[-MAX_REMEMBERED:], whole]

    def step(self, now: int, edges: list[tuple[int, Edge]]) -> list[Told]:
        """Media time `now`, with the edges known at it as (side, edge), the caller's first. -> what is to be said."""
        self.now = now
        self.closed = []
        opened = False
        for number, edge in edges:
            stretch = self.sides[number].edge(edge)
            if stretch is None:
                continue
            if stretch.closed:
                self.closed.append(stretch)
            else:
                self.placing.add(stretch)
                opened = True
        self._told = []
        if opened or self.closed or (self._doubt is not None and now >= self._doubt):
            self._look(now)
            if opened:
                self._forget(now)
        elif self._due is not None and now >= self._due:
            self._update(now)
        return self._told

    def _look(self, now: int) -> None:
        self._moved = False
        for side in self.sides:
            side.advance(now)
        self._decide(now)
        self._end(now)
        if self._moved:
            self._doubt = now + FRAME_MS  # one answer leads to the next
        else:
            going_on = [turn for turn in self.turns if not turn.ended]
            self._doubt = next_wake(now, self.sides, self.placing, going_on, self._set, self._trim)
        self._update(now)

    def mark_end(self) -> None:
        """The call ends now: what is still open is open for that reason. Comes before the tracks' last edges."""
        for side in self.sides:
            if side.open is not None:
                side.open.at_end = True

    def finish(self, now: int) -> list[Told]:
        """Nothing more will come, so everything can be decided. Comes after the tracks' last edges."""
        self.now = now
        for side in self.sides:
            side.over = True
        self._told = []
        self._look(now)
        return self._told

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
                self._moved = self._moved or group.fate is not None
            if not self.placing.settle(self.sides, now):
                return
            self.changed = self._moved = True

    def _announce(self, stretch: Stretch) -> LiveTurn:
        silence = Span(self._silent_since(), stretch.start)
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

    def _silent_since(self) -> int:
        """The latest end of any turn, up to now."""
        going_on = (turn for turn in self.turns if not turn.ended)
        ends = (t.end if t.current.closed else self.sides[t.side].voiced(self.now) for t in going_on)
        return max([self._latest_end, *ends])

    def _end(self, now: int) -> None:
        for turn in self.turns:
            if (
                not turn.ended
                and turn.current.closed
                and self._is_over(turn, now)
                and not self._giving_way.in_doubt(turn, self.turns, now)
            ):
                turn.ended = self.changed = self._moved = True
                self._latest_end = max(self._latest_end, turn.end)
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
        turn.yielded = turn.yielded or (turn.fate is False and self._giving_way.found(turn, self.turns, self.now))
        told = self.snapshot(turn, turn.end - turn.start)
        return msgspec.structs.replace(told, ended_by=why, sure=turn.sure)

    def _update(self, now: int) -> None:
        every = self._set.update_every_ms
        going_on = [turn for turn in self.turns if not turn.ended]
        for turn in going_on:
            late = now - turn.told_until
            if late < every:
                continue
            turn.told_until += late // every * every
            if not turn.current.closed:
                voiced = self.sides[turn.side].voiced(now)
                self._told.append(Told("updated", self.snapshot(turn, max(0, voiced - turn.start))))
        self._due = min((grid_end(turn.told_until + every) for turn in going_on), default=None)
        self.wake = min((at for at in (self._due, self._doubt) if at is not None), default=None)

    def _forget(self, now: int) -> None:
        oldest = min([now - KEPT_MS, *(s.group.start - 2000 for s in self.placing.queue)])
        for side in self.sides:
            side.forget(oldest)
