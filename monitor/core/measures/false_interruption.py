"""False interruption: the agent stopped, and the caller said nothing more for two seconds."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Turn
from monitor.core.measures import Measure
from monitor.core.measures.stalls import Stalls

QUIET_MS = 2000
TAIL_MS = 200
"""The sound that made the agent stop may run on this long behind it, which is as well as ends are known; a caller who
talks longer has said more."""

_KEPT = 64
"""An agent's turn is known to be over a second or two late; the caller made no more stretches of sound by then."""


class FalseInterruption(Measure):
    """`interrupted`: agent turns that were interrupted or cut, as far as it is known what the caller did then. `count`:
    those of them after which the caller was silent for 2 s, counted from where the agent stopped or, if the caller's
    sound ran on behind that for less than 0.2 s, from its end. The agent's own next words change nothing.
    """

    key = "false_interruptions"

    def __init__(self, tracks: Collection[str]) -> None:
        super().__init__(tracks)
        self._caller: list[Span] = []
        self._stops: list[Span] = []  # from where the agent stopped to where the caller's quiet begins
        self._stalls = Stalls()
        self._interrupted = 0
        self._count = 0

    def turn_ended(self, turn: Turn) -> None:
        if turn.role != "assistant" or turn.backchannel or not (turn.interrupted or turn.ended_by == "interruption"):
            return
        self._stops.append(Span(turn.end_ms, turn.end_ms))
        for sound in self._caller:  # what the caller said since is known already
            self._hear(sound)

    def stretch(self, track: Track, span: Span) -> None:
        if track != "caller":
            return
        self._caller.append(span)
        del self._caller[:-_KEPT]
        self._hear(span)

    def stalled(self, track: Track, span: Span) -> None:
        if track == "caller":
            self._stalls.add(track, span)

    def _hear(self, sound: Span) -> None:
        self._stops = [open_ for stop in self._stops if (open_ := self._heard(stop, sound)) is not None]

    def _heard(self, stop: Span, sound: Span) -> Span | None:
        """What is left to find out about a stop once the caller's next sound is known; None when it is decided."""
        if sound.end <= stop.start:
            return stop
        if sound.start <= stop.start and sound.end - stop.start < TAIL_MS:
            return Span(stop.start, sound.end)
        self._decide(stop, max(sound.start, stop.start))
        return None

    def _decide(self, stop: Span, next_sound: int) -> None:
        if self._stalls.touch(stop.start, min(next_sound, stop.end + QUIET_MS), "caller"):
            return
        self._interrupted += 1
        self._count += next_sound - stop.end >= QUIET_MS

    def figures(self, duration_ms: int) -> dict[str, int | None]:
        for stop in self._stops:
            if duration_ms - stop.end >= QUIET_MS:  # else the call was over before it could be told
                self._decide(stop, duration_ms)
        self._stops.clear()
        if not self.both:
            return {"count": None, "interrupted": None}
        return {"count": self._count, "interrupted": self._interrupted}
