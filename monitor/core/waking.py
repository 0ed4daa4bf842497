"""When something may have to be said although no stretch opens or closes.

Between two such edges only two numbers of a side move, both as fast as time or not at all: its watermark (nothing that
is not known yet begins before it) and how far its open stretch is voiced. Every rule compares them with places that
stand still, so the next moment worth a look is the nearest of these places. Where a candidate or a lull holds a number
back, the places it would have passed by now stay near: it may catch up at any moment. A place too many costs a look,
one too few tells something late.
"""

from __future__ import annotations

from monitor.core.clock import FRAME_MS
from monitor.core.giving_way import TimelineSettings
from monitor.core.placing import Placing
from monitor.core.stretches import LEAD_MS, LiveTurn, Side


def grid_end(at: int) -> int:
    """The first media time from `at` on that lies on the grid of frames, in ms."""
    return -(-at // FRAME_MS) * FRAME_MS


def next_wake(
    now: int, sides: list[Side], placing: Placing, turns: list[LiveTurn], settings: TimelineSettings, trim_ms: int
) -> int | None:
    """The first media time (ms, on the grid of frames) behind `now` at which an answer may turn; None if only the
    opening or closing of a stretch can turn one. `turns`: those that have not ended."""
    marks: tuple[list[int], list[int]] = ([], [])  # what each side's watermark is compared with
    voices: tuple[list[int], list[int]] = ([], [])  # what the voice of its open stretch is compared with
    resume = settings.max_pause_ms
    for stretch in placing.queue:
        marks[1 - stretch.side].append(stretch.start)
    for group in placing.open_groups():
        own, other = group.side, 1 - group.side
        if sides[own].open is None:
            marks[own].append(sides[own].closes_at)
        marks[other].append(group.start - LEAD_MS)
        marks[other].extend(stretch.end + resume for stretch in sides[other].stretches)
        voices[own].append(group.start + settings.backchannel_max_ms + trim_ms)
        voices[other].append(group.start - settings.backchannel_around_ms + trim_ms)
        voices[other].append(group.end + LEAD_MS + trim_ms)
    for turn in turns:
        own, other = turn.side, 1 - turn.side
        marks[own].append(turn.end + resume)
        if not turn.current.closed:
            continue
        voices[other].append(turn.end)
        follower = placing.base[other]
        if follower is not None:
            marks[own].append(follower.start)
    places: list[int] = []
    for side in sides:
        mark = side.watermark(now)
        places += [place for place in marks[side.number] if place >= mark]
        if side.open is not None:
            voiced = side.voiced(now)
            places += [place for place in voices[side.number] if place >= voiced]
    return max(now + FRAME_MS, grid_end(min(places))) if places else None
