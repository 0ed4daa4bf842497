"""Did a turn give way: did the other side come in on it, keep the floor, and did it then stop?"""

from __future__ import annotations

import msgspec

from monitor.core.placing import Placing
from monitor.core.stretches import LiveTurn, Side


class TimelineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a turn, a backchannel and a barge-in. Defaults as measured on composed calls.

    `max_pause_ms`: a longer pause of the speaker ends the turn. `backchannel_max_ms`: a listener's noise within the
    other party's turn is a backchannel if it is no longer. `backchannel_around_ms`: for so long before and after it the
    other party must go on speaking; noises less far apart count as one.

    `barge_in_min_overlap_ms`: for so long both must speak at once before it can be a barge-in. `barge_in_min_ms`:
    whoever comes in takes the floor by speaking for so long, or for longer than the other. `held_ms`: a turn that goes
    on for longer after the other came in has held the floor: it was not interrupted.

    `update_every_ms`: how often a turn that goes on is told. `unscored_stall_ms`: a silence that holds so much unknown
    time, because no audio came, is not scored.
    """

    max_pause_ms: int = 1000
    backchannel_max_ms: int = 1000
    backchannel_around_ms: int = 500
    barge_in_min_overlap_ms: int = 200
    barge_in_min_ms: int = 1000
    held_ms: int = 1000
    update_every_ms: int = 1000
    unscored_stall_ms: int = 1000


class GivingWay:
    """The rule for `interrupted`: the other side comes in with `barge_in_min_overlap_ms` of live speech on either side
    of that moment, keeps the floor (`barge_in_min_ms`, or longer than the turn), and the turn stops within
    `held_ms`."""

    def __init__(self, settings: TimelineSettings, sides: list[Side], placing: Placing) -> None:
        self._set = settings
        self._sides = sides
        self._placing = placing

    def found(self, turn: LiveTurn, turns: list[LiveTurn], now: int) -> bool:
        """Did `turn`, which has ended, give way to one of `turns`?"""
        overlap, keeps = self._set.barge_in_min_overlap_ms, self._set.barge_in_min_ms
        for other in turns:
            if other.side == turn.side or other.fate is True or not turn.start < other.start < turn.end:
                continue
            end = self._likely_end(other, now)
            live = any(
                s.start <= other.start - overlap and s.end >= other.start + overlap
                for s in self._sides[turn.side].stretches
            )
            together = min(end, turn.end) - other.start
            holds = end - other.start >= keeps or end > turn.end
            if live and together >= overlap and holds and turn.end - other.start < self._set.held_ms:
                return True
        return False

    def in_doubt(self, turn: LiveTurn, turns: list[LiveTurn], now: int) -> bool:
        """Whether it gave way still hangs on whether the one who came in will go on within this pause."""
        return any(
            turn.start < other.start < turn.end < other.start + self._set.held_ms
            and other.fate is not True
            and self._likely_end(other, now) <= turn.end
            and self._sides[other.side].watermark(now) <= other.end + self._set.max_pause_ms
            for other in turns
            if other.side != turn.side and not other.ended
        )

    def _likely_end(self, turn: LiveTurn, now: int) -> int:
        """The end of a turn if it goes on with whatever its side has said since and is not settled yet."""
        later = [s for s in self._placing.queue if s.side == turn.side and s.turn is None and s.start > turn.start]
        last = later[-1] if later else turn.current
        return last.end if last.closed else max(last.end, self._sides[turn.side].voiced(now))
