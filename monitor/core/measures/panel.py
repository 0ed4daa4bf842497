"""All measures of one call behind the hooks of one: each hook reaches only those that listen to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Transition, Turn
from monitor.core.measures import MEASURES, Measure


class Panel:
    """The measures of a call. `tracks`: those that the call can ever have."""

    def __init__(self, tracks: Collection[str], rows: Iterable[type[Measure]] = MEASURES) -> None:
        self.measures: tuple[Measure, ...] = tuple(row(tracks) for row in rows)
        self._turn_started = self._listening("turn_started")
        self._turn_ended = self._listening("turn_ended")
        self._transition = self._listening("transition")
        self._stretch = self._listening("stretch")
        self._stalled = self._listening("stalled")
        self._advance = self._listening("advance")
        self._waiting = self._listening("waiting_ms")

    def _listening(self, hook: str) -> tuple[Callable[..., Any], ...]:
        own = (m for m in self.measures if getattr(type(m), hook) is not getattr(Measure, hook))
        return tuple(getattr(m, hook) for m in own)

    def turn_started(self, turn: Turn) -> None:
        """A turn has begun."""
        for hook in self._turn_started:
            hook(turn)

    def turn_ended(self, turn: Turn) -> None:
        """A turn has its final times."""
        for hook in self._turn_ended:
            hook(turn)

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        """A transition is final; provisional ones are not for measures."""
        for hook in self._transition:
            hook(transition, from_turn, to_turn)

    def stretch(self, track: Track, span: Span) -> None:
        """A stretch of voiced sound has closed."""
        for hook in self._stretch:
            hook(track, span)

    def stalled(self, track: Track, span: Span) -> None:
        """A stretch of a track is unknown."""
        for hook in self._stalled:
            hook(track, span)

    def advance(self, now_ms: int) -> None:
        """Media time has come to `now_ms`."""
        for hook in self._advance:
            hook(now_ms)

    def waiting_ms(self, now_ms: int) -> int | None:
        """How long the caller has been waiting for a reply by now; None if nobody waits, or it is unknown."""
        return next((ms for hook in self._waiting if (ms := hook(now_ms)) is not None), None)

    def summary(self, duration_ms: int) -> dict[str, object]:
        """What all of them found, each under its key."""
        found: dict[str, object] = {}
        for measure in self.measures:
            found |= measure.summary(duration_ms)
        return found
