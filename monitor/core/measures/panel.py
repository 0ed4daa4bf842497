"""All measures of one call behind the hooks of one: each hook reaches only those that listen to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Transition, Turn
from monitor.core.measures import MEASURES, Measure

M = TypeVar("M", bound=Measure)


class Panel:
    """The measures of a call. `tracks`: those that the call can ever have."""

    __slots__ = (
        "_advance",
        "_stalled",
        "_stretch",
        "_transition",
        "_turn_ended",
        "_turn_started",
        "_waiting",
        "measures",
    )

    def __init__(self, tracks: Collection[str], rows: Iterable[type[Measure]] = MEASURES) -> None:
        self.measures: tuple[Measure, ...] = tuple(row(tracks) for row in rows)
        self._turn_started = listening(self.measures, Measure, "turn_started")
        self._turn_ended = listening(self.measures, Measure, "turn_ended")
        self._transition = listening(self.measures, Measure, "transition")
        self._stretch = listening(self.measures, Measure, "stretch")
        self._stalled = listening(self.measures, Measure, "stalled")
        self._advance = listening(self.measures, Measure, "advance")
        self._waiting = listening(self.measures, Measure, "waiting_ms")

    def measure(self, kind: type[M]) -> M:
        """The measure of this class. Raises `LookupError` where the panel has none."""
        for measure in self.measures:
            if isinstance(measure, kind):
                return measure
        raise LookupError(f"no {kind.__name__} is measured on this call")

    def turn_started(self, turn: Turn) -> None:
        """A turn has begun."""
        for measure in self._turn_started:
            measure.turn_started(turn)

    def turn_ended(self, turn: Turn) -> None:
        """A turn has its final times."""
        for measure in self._turn_ended:
            measure.turn_ended(turn)

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        """A transition is final; provisional ones are not for measures."""
        for measure in self._transition:
            measure.transition(transition, from_turn, to_turn)

    def stretch(self, track: Track, span: Span) -> None:
        """A stretch of voiced sound has closed."""
        for measure in self._stretch:
            measure.stretch(track, span)

    def stalled(self, track: Track, span: Span) -> None:
        """A stretch of a track is unknown."""
        for measure in self._stalled:
            measure.stalled(track, span)

    def advance(self, now_ms: int) -> None:
        """Media time has come to `now_ms`."""
        for measure in self._advance:
            measure.advance(now_ms)

    def waiting_ms(self, now_ms: int) -> int | None:
        """How long the caller has been waiting for a reply by now; None if nobody waits, or it is unknown."""
        return next((ms for measure in self._waiting if (ms := measure.waiting_ms(now_ms)) is not None), None)

    def summary(self, duration_ms: int) -> dict[str, object]:
        """What all of them found, each under its key."""
        found: dict[str, object] = {}
        for measure in self.measures:
            found |= measure.summary(duration_ms)
        return found


Listener = TypeVar("Listener")


def listening(all_: Iterable[Listener], base: type[Any], hook: str) -> tuple[Listener, ...]:
    """Those whose class has a hook of its own instead of its `base`'s empty one."""
    return tuple(one for one in all_ if getattr(type(one), hook) is not getattr(base, hook))
