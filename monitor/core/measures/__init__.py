"""What operators ask of a call. One small class a file, one row in `MEASURES`.

A measure listens to the hooks that it needs; they are called in the order in which things become known, and every time
is in ms of the call. What it found goes into the summary of `call.ended`, in seconds, under its own key; a figure that
nothing supports is None. To add one, write a file and a row:

    class LongestTurn(Measure):
        key = "longest_turn"

        def __init__(self, tracks: Collection[str]) -> None:
            super().__init__(tracks)
            self._longest = 0

        def turn_ended(self, turn: Turn) -> None:
            self._longest = max(self._longest, turn.duration_ms or 0)

        def figures(self, duration_ms: int) -> object:
            return {"seconds": seconds(self._longest) if self._longest else None}

A hole in the feed is unknown, not silence: a measure leaves out what touches a stall of a second or more (`stalls`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Transition, Turn


class Measure:
    """One thing measured on a call. `key`: its place in the summary. `tracks`: the tracks that the call can ever have;
    one that is missing there is absent, which is different from silent."""

    key: ClassVar[str] = ""

    def __init__(self, tracks: Collection[str]) -> None:
        self.tracks = frozenset(tracks)
        self.both = {"caller", "agent"} <= self.tracks

    def turn_started(self, turn: Turn) -> None:
        """A turn has begun; its duration is not known yet."""

    def turn_ended(self, turn: Turn) -> None:
        """A turn has its final times, and it is known whether it is a backchannel and whether it was interrupted."""

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        """A transition is final. `to_turn` may still be going on."""

    def stretch(self, track: Track, span: Span) -> None:
        """A stretch of voiced sound has closed: in order on its track, in any order across tracks."""

    def stalled(self, track: Track, span: Span) -> None:
        """What was on `track` in `span` is unknown; long ones may come in pieces that touch."""

    def advance(self, now_ms: int) -> None:
        """Media time has come to `now_ms`."""

    def waiting_ms(self, now_ms: int) -> int | None:
        """How long the caller has been waiting for a reply by now, for the measure that knows."""
        return None

    def figures(self, duration_ms: int) -> object:
        """What was found on a call of `duration_ms`, as plain JSON data."""
        return None

    def summary(self, duration_ms: int) -> dict[str, object]:
        """The part of the call's summary that is this measure's."""
        return {self.key: self.figures(duration_ms)}


from monitor.core.measures.barge_in import BargeIn  # noqa: E402  the rows need Measure, so they come after it
from monitor.core.measures.dead_air import DeadAir  # noqa: E402
from monitor.core.measures.false_interruption import FalseInterruption  # noqa: E402
from monitor.core.measures.one_way_audio import OneWayAudio  # noqa: E402
from monitor.core.measures.response_time import ResponseTime  # noqa: E402
from monitor.core.measures.talk import Talk  # noqa: E402
from monitor.core.measures.unanswered import Unanswered  # noqa: E402

MEASURES: tuple[type[Measure], ...] = (
    Talk,
    ResponseTime,
    BargeIn,
    FalseInterruption,
    DeadAir,
    Unanswered,
    OneWayAudio,
)
"""Every measure of a call, in the order of the summary."""
