"""One-way audio: a track without any speech for thirty seconds while the other talks."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import TRACKS, Track
from monitor.core.clock import Span
from monitor.core.events import ROLE_OF_TRACK, Turn
from monitor.core.measures import Measure
from monitor.core.measures.stalls import Stalls
from monitor.core.measures.talk_into import Reached, TalkInto

ONE_WAY_MS = 30_000

_RECENT = 8
"""A turn is known to be over a second or two late; the other side has ended no more turns than this by then."""


class _Hole:
    """A silence of one track, and what the other has said in it, as far as is known."""

    __slots__ = ("end", "start", "talk")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = 1 << 60
        self.talk = TalkInto()

    def part(self, turn: Turn) -> Span:
        """What lies behind the beginning of the silence, of a turn of the other track; it may be empty."""
        return Span(max(turn.start_ms, self.start), turn.end_ms)

    def hear(self, turn: Turn) -> None:
        """A turn of the other track, wherever it lies."""
        self.talk.add(self.part(turn))

    @property
    def one_way(self) -> bool:
        return self.talk.reached(ONE_WAY_MS, self.end) is not None


class _Side:
    """One track: its open turns, its newest that have ended, its silence (None while it talks), and the long silences
    that are over while a turn of the other that reaches into them still goes on."""

    __slots__ = ("count", "hole", "known_to", "open", "recent", "undecided")

    def __init__(self) -> None:
        self.open: dict[int, Turn] = {}
        self.recent: list[Turn] = []
        self.hole: _Hole | None = _Hole(0)
        self.undecided: list[_Hole] = []
        self.known_to = 0
        self.count = 0

    def fall_silent(self, other: _Side) -> None:
        """From the end of its last turn, or of what was unknown behind it."""
        self.hole = _Hole(self.known_to)
        for turn in other.recent:
            self.hole.hear(turn)

    def silence_over(self, at: int) -> None:
        """Until `at`. Whether the other talked through it is asked by `decide`."""
        if self.hole is not None and at - self.hole.start >= ONE_WAY_MS:
            self.hole.end = at
            self.undecided.append(self.hole)
        self.hole = None

    def decide(self, other: _Side) -> None:
        """Count what can be: silences into which no turn of the other reaches that still goes on."""
        earliest = min((turn.start_ms for turn in other.open.values()), default=1 << 60)
        self.count += sum(hole.one_way for hole in self.undecided if hole.end <= earliest)
        self.undecided = [hole for hole in self.undecided if hole.end > earliest]


class OneWayAudio(Measure):
    """For each track, by its name: how often it had no speech while the other talked for 30 s or more. Talk begins with
    the first of the other's words in that silence; its pauses count as well, up to 4 s each, and 10 s of it are speech.
    A hold is therefore no talk, nor are a few hellos into a dead line: see `unanswered` and `dead_air`. A long stall of
    the silent track is unknown: it ends a silence, and another may begin behind it.
    """

    key = "one_way_audio"

    def __init__(self, tracks: Collection[str]) -> None:
        super().__init__(tracks)
        self._caller, self._agent = _Side(), _Side()
        self._stalls = Stalls()

    def _sides(self, role: str) -> tuple[_Side, _Side]:
        return (self._caller, self._agent) if role == "user" else (self._agent, self._caller)

    def turn_started(self, turn: Turn) -> None:
        own, other = self._sides(turn.role)
        own.silence_over(turn.start_ms)
        own.open[turn.index] = turn
        own.decide(other)

    def turn_ended(self, turn: Turn) -> None:
        own, other = self._sides(turn.role)
        own.open.pop(turn.index, None)
        own.recent = [*own.recent[1 - _RECENT :], turn]
        for hole in (*other.undecided, other.hole):
            if hole is not None:
                hole.hear(turn)
        other.decide(own)
        own.known_to = max(own.known_to, turn.end_ms)
        if not own.open:
            own.fall_silent(other)

    def talked_into(self, track: str, limit: int, until: int, going_on: Turn | None = None) -> Reached | None:
        """When, by `until`, the other had talked for `limit` ms into the silence in which `track` is now; None while it
        talks, or the other has not. `going_on`: a turn of the other's, as long as it has lasted so far."""
        own, other = self._sides(ROLE_OF_TRACK[track])
        if own.hole is None:
            return None
        more = () if going_on is None or going_on.index not in other.open else (own.hole.part(going_on),)
        return own.hole.talk.reached(limit, until, more)

    def stalled(self, track: Track, span: Span) -> None:
        own, other = self._sides(ROLE_OF_TRACK[track])
        stall = self._stalls.add(track, span)
        if stall is None or stall.end <= own.known_to:
            return
        own.known_to = stall.end
        if own.hole is not None:
            own.silence_over(stall.start)
            own.decide(other)
            own.fall_silent(other)

    def figures(self, duration_ms: int) -> dict[str, int | None]:
        if not self.both:
            return dict.fromkeys(TRACKS)
        sides = (("caller", self._caller), ("agent", self._agent))
        return {track: side.count + bool(side.hole and side.hole.one_way) for track, side in sides}
