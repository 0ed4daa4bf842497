"""Room 6: edges of a track -> its stretches, and the groups that a backchannel is judged by.

A *stretch* is speech of one side with silences under 200 ms (in the literature an inter-pausal unit). A *group* is
stretches of one side less than `backchannel_around_ms` apart: a listener's noise is one group, and the whole group
shares one fate.

Every question about the other side has three answers, yes, no and not yet: what is still going on is known by bounds.
A stretch that goes on has been voiced to `voiced` at least, less what the trim may still take off its end.
"""

from __future__ import annotations

from monitor.core.edges import CLOSE, FALL, LULL, OPEN, RESUME, RISE, Edge

FAR = 1 << 60
"""Later than any media time: the watermark of a track that has ended."""

KEPT_MS = 12_000
"""Stretches older than this decide nothing any more, unless a group still waits for them."""


LEAD_MS = 200
"""A backchannel comes when the other has been speaking for so long, and the other speaks on for so long."""


class Stretch:
    """Speech of one side. `end`: its last voice; while it is open (`closed` false) the least it can be."""

    __slots__ = ("at_end", "closed", "end", "group", "placed", "side", "stall", "start", "sure", "turn")

    def __init__(self, side: int, start: int, group: Group) -> None:
        self.side = side
        self.start = start
        self.end = start
        self.closed = False
        self.stall = False
        self.sure = 1.0
        self.at_end = False  # it went on when the call ended
        self.group = group
        self.placed = False  # it is decided whether it begins a turn
        self.turn: LiveTurn | None = None  # the turn it begins, if it begins one


class LiveTurn:
    """A turn that has been announced. `fate`: as its group's; `current`: its last stretch so far."""

    __slots__ = ("after_stall", "current", "ended", "fate", "first", "index", "side", "start", "told_until", "yielded")

    def __init__(self, index: int, stretch: Stretch, after_stall: bool) -> None:
        self.index = index
        self.side = stretch.side
        self.start = stretch.start
        self.first = self.current = stretch
        self.fate: bool | None = None
        self.ended = False
        self.after_stall = after_stall
        self.told_until = stretch.start
        self.yielded = False

    @property
    def sure(self) -> float:
        """How sure its start and its end are by now, 0 to 1."""
        return min(self.first.sure, self.current.sure)

    @property
    def end(self) -> int:
        """The end of its last stretch; the least it can be while that goes on."""
        return self.current.end


class Group:
    """Neighbouring stretches of one side. `fate`: None while it is open whether it is a backchannel (True) or belongs
    to a turn (False)."""

    __slots__ = ("closed", "fate", "side", "stretches", "turn")

    def __init__(self, side: int) -> None:
        self.side = side
        self.stretches: list[Stretch] = []
        self.closed = False
        self.fate: bool | None = None
        self.turn: LiveTurn | None = None  # the turn that its first stretch was announced as

    @property
    def start(self) -> int:
        """Where the group's first stretch begins, in ms."""
        return self.stretches[0].start

    @property
    def end(self) -> int:
        """The end of its last stretch so far, in ms."""
        return self.stretches[-1].end


class Side:
    """One track's speech as far as it is known."""

    def __init__(self, number: int, join_ms: int, trim_ms: int) -> None:
        self.number = number
        self._join = join_ms
        self._trim = trim_ms
        self.stretches: list[Stretch] = []
        self.open: Stretch | None = None
        self.candidate: int | None = None
        self.group: Group | None = None
        self.lull: int | None = None  # where the voice of the open stretch paused, or None while it goes on
        self.over = False

    def watermark(self, now: int) -> int:
        """No stretch of this side that is not known yet will begin before this media time."""
        if self.over:
            return FAR
        return now if self.candidate is None else self.candidate

    def voiced(self, now: int) -> int:
        """Up to when the open stretch has been voiced, hangover included; `now` if none is open."""
        return now if self.lull is None else self.lull

    def edge(self, edge: Edge) -> Stretch | None:
        """Take an edge. -> the stretch that it opened or closed."""
        if edge.kind == RISE:
            self.candidate = edge.at
        elif edge.kind == FALL:
            self.candidate = None
        elif edge.kind == LULL:
            self.lull = edge.at
        elif edge.kind == RESUME:
            self.lull = None
        elif edge.kind == OPEN:
            return self._opened(edge)
        elif edge.kind == CLOSE and self.open is not None:
            stretch, self.open = self.open, None
            stretch.end = max(edge.at, stretch.start)
            stretch.closed, stretch.stall = True, edge.stall
            stretch.sure = min(stretch.sure, edge.sure)
            self.lull = None
            return stretch
        return None

    def _opened(self, edge: Edge) -> Stretch:
        start = edge.at
        self.candidate = None
        self.lull = None
        if self.group is None or start - self.group.end >= self._join:
            if self.group is not None:
                self.group.closed = True
            self.group = Group(self.number)
        stretch = Stretch(self.number, start, self.group)
        stretch.sure = edge.sure
        self.group.stretches.append(stretch)
        self.open = stretch
        self.stretches.append(stretch)
        return stretch

    def advance(self, now: int) -> None:
        """Media time has come to `now`: the open stretch has lasted, a silent group may have closed."""
        if self.open is not None:
            self.open.end = max(self.open.end, self.voiced(now) - self._trim, self.open.start)
        elif self.group is not None and self.watermark(now) >= self.closes_at:
            self.group.closed = True

    @property
    def closes_at(self) -> int:
        """Its last group is over when nothing has begun before this media time."""
        return -FAR if self.group is None else self.group.end + self._join

    def forget(self, before: int) -> None:
        """Drop closed stretches that ended before `before`, except the last."""
        while len(self.stretches) > 1 and self.stretches[0].closed and self.stretches[0].end < before:
            stretch = self.stretches.pop(0)
            kept = stretch.group.stretches
            if len(kept) > 1 and stretch.group.fate is False:
                kept.remove(stretch)


def is_backchannel(group: Group, other: Side, now: int, longest_ms: int, around_ms: int, resume_ms: int) -> bool | None:
    """Is `group` a listener's noise inside the other's talk? None: not known yet.

    A backchannel lasts at most `longest_ms`; the other spoke within `around_ms` before it (and began 200 ms before it),
    and speaks on 200 ms beyond it, or again within `resume_ms` of its own last sound.
    """
    start, end = group.start, group.end
    if end - start > longest_ms:
        return False
    mark = other.watermark(now)
    before = [s for s in other.stretches if s.start < start - LEAD_MS]
    sure = [s for s in before if s.end > start - around_ms]
    if not sure:
        waiting = any(not s.closed for s in before) or mark < start - LEAD_MS
        return None if waiting else False
    if not group.closed or not group.stretches[-1].closed:
        return None
    floor = max(s.end for s in sure)  # the least it can be, while one of them goes on
    if any(s.end > end + LEAD_MS and s.start < floor + resume_ms for s in other.stretches):
        return True
    going_on = any(not s.closed for s in other.stretches)
    return None if going_on or mark < floor + resume_ms else False
