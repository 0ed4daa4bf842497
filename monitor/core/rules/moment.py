"""How both tracks stand at a media time, for rules that speak while something goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from monitor.core.timeline import Timeline


class Moment(NamedTuple):
    """`now`, ms. `sure`: no sound that is not known yet begins before it. `placed`: no turn that has not been announced
    begins before it. `talking`: since when somebody has been speaking without a break, None while nobody is."""

    now: int
    sure: int
    placed: int
    talking: int | None = None


def moment_of(timeline: Timeline, now: int) -> Moment:
    """The moment `now`, up to which everything has been heard."""
    sides = timeline.sides
    sure = min(now, *(side.watermark(now) for side in sides))
    placed = min([sure, *(stretch.start for stretch in timeline.placing.queue if not stretch.placed)])
    talking = min((side.open.start for side in sides if side.open is not None), default=None)
    return Moment(now, sure, placed, talking)
