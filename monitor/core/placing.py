"""Room 7: which stretch begins a turn, continues one, or is a listener's noise.

The rule, over both sides in order of start: a stretch continues its side's last turn if it begins within `max_pause_ms`
of that turn's end, unless the other side took the floor in between (its last turn began in that pause). Backchannels
take no part. Whether a group is a backchannel is often known only later; until then every answer still possible is
followed, and what is the same in all of them is told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from monitor.core.stretches import Group, LiveTurn, Side, Stretch

MAX_OPEN_FATES = 4
"""So many groups are followed both ways; the ones behind them wait."""

Last = list[tuple[int, int] | None]
"""For each side its last turn, as (start, end) in ms."""


class Placing:
    """Puts stretches into turns. `base` is the last turn of each side that is settled; `queue` what is not."""

    def __init__(self, max_pause_ms: int, announce: Callable[[Stretch], LiveTurn]) -> None:
        self._max_pause = max_pause_ms
        self._announce = announce
        self.queue: list[Stretch] = []
        self.base: list[LiveTurn | None] = [None, None]

    def add(self, stretch: Stretch) -> None:
        """A stretch that has just opened."""
        at = len(self.queue)
        while at and (self.queue[at - 1].start, self.queue[at - 1].side) > (stretch.start, stretch.side):
            at -= 1
        self.queue.insert(at, stretch)

    def waiting(self, side: int) -> Stretch | None:
        """The first stretch of a side that is not settled."""
        return next((s for s in self.queue if s.side == side), None)

    def open_groups(self) -> Iterator[Group]:
        """The groups whose fate is open, in order."""
        seen: list[Group] = []
        for stretch in self.queue:
            if stretch.group.fate is None and stretch.group not in seen:
                seen.append(stretch.group)
        return iter(seen)

    def settle(self, sides: list[Side], now: int) -> bool:
        """Announce and settle whatever is certain. -> whether anything was."""
        changed = self._place(self._reachable(sides, now))
        while self.queue and self.queue[0].placed and self.queue[0].group.fate is not None:
            self._settle(self.queue.pop(0))
            changed = True
        return changed

    def _reachable(self, sides: list[Side], now: int) -> list[Stretch]:
        """The stretches before which nothing can appear any more. At equal starts the caller comes first."""
        count = 0
        for stretch in self.queue:
            mark = sides[1 - stretch.side].watermark(now)
            if mark < stretch.start or (mark == stretch.start and stretch.side == 1):
                break
            count += 1
        return self.queue[:count]

    def _place(self, reachable: list[Stretch]) -> bool:
        if all(s.placed for s in reachable):
            return False
        groups: list[Group] = []
        for at, stretch in enumerate(reachable):
            if stretch.group.fate is None and stretch.group not in groups:
                if len(groups) == MAX_OPEN_FATES:
                    reachable = reachable[:at]
                    break
                groups.append(stretch.group)
        worlds = [self._follow(reachable, groups, fates) for fates in product((False, True), repeat=len(groups))]
        changed = False
        for at, stretch in enumerate(reachable):
            begins = worlds[0][at]
            if any(world[at] != begins for world in worlds):
                break
            if stretch.placed:
                continue
            stretch.placed = changed = True
            if begins:
                stretch.turn = self._announce(stretch)
                if stretch is stretch.group.stretches[0]:
                    stretch.group.turn = stretch.turn
        return changed

    def _follow(self, reachable: list[Stretch], groups: list[Group], fates: tuple[bool, ...]) -> list[bool]:
        """What the rule says if the open groups have these fates: does each stretch begin a turn of its own?"""
        last: Last = [None if turn is None else (turn.start, turn.end) for turn in self.base]
        begins = []
        for stretch in reachable:
            fate = stretch.group.fate
            if fate is None:
                fate = fates[groups.index(stretch.group)]
            if fate:
                begins.append(stretch is stretch.group.stretches[0])
                continue
            own, other = last[stretch.side], last[1 - stretch.side]
            if own is not None and self._continues(own, other, stretch.start):
                last[stretch.side] = (own[0], max(own[1], stretch.end))
                begins.append(False)
            else:
                last[stretch.side] = (stretch.start, stretch.end)
                begins.append(True)
        return begins

    def _continues(self, own: tuple[int, int], other: tuple[int, int] | None, start: int) -> bool:
        taken = other is not None and own[1] <= other[0] < start
        return start - own[1] <= self._max_pause and not taken

    def _settle(self, stretch: Stretch) -> None:
        group, turn = stretch.group, stretch.turn
        if group.fate:
            if group.turn is not None:
                group.turn.fate = True
                group.turn.current = group.stretches[-1]
            return
        own = self.base[stretch.side]
        if turn is None:
            if own is not None:
                own.current = stretch
            return
        turn.fate = False
        turn.current = stretch
        self.base[stretch.side] = turn
