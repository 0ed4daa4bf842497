"""One track of a call while its pieces are put in their places.

The position is counted in samples, so that the rounding of time stamps never shifts audio: a piece that begins within
40 ms of the audio before it continues it. Later, there is a hole: unknown as far as pieces were lost, silence
otherwise. Earlier, the part that is covered already is dropped. Audio after anything else than audio lies exactly where
its time stamp says.
"""

from __future__ import annotations

from connectors.inputs import Audio, Input, Stall, Track

RATE = 8000
PER_MS = RATE // 1000
APPEND_MS = 40
SILENCE_PIECE_MS = 20
ABSENT_MS = 250
ABSENT_KEEP_MS = 60
"""A track so far behind the other is absent; it then follows at the shorter distance."""


class MediaTrack:
    """`position`: samples heard so far, silence and the unknown included. `heard`: whether any audio ever came.
    `unknown`: whether the hole before the next audio is unknown whatever the numbers say (the stream was away)."""

    def __init__(self, name: Track) -> None:
        self.name = name
        self.position = 0
        self.heard = False
        self.unknown = False
        self._joined = False
        """Whether audio is the last thing on the track."""
        self.patience_ms = ABSENT_MS
        """How far the other track may be ahead before this one has to follow."""
        self.told_never = False
        """Whether it has been told that the track never came."""
        self.told_missing = False
        """Whether it has been told that the track is not coming any more."""
        self.lost = 0
        """Pieces that were lost, since last reset."""
        self._hole_unknown_ms = 0.0
        """How much of the hole that is being filled has been called unknown already."""

    @property
    def position_ms(self) -> int:
        """The position in ms, rounded down."""
        return self.position // PER_MS

    @property
    def unknown_ms(self) -> float:
        """How much of what has passed since the last audio is unknown."""
        return self._hole_unknown_ms

    def append(self, pcm: bytes, out: list[Input]) -> None:
        """Audio that goes on where the track is: the case that nearly every piece is."""
        out.append(Audio(self.name, self.position // PER_MS, pcm))
        self.position += len(pcm) // 2
        self._hole_unknown_ms = 0.0
        self.patience_ms = ABSENT_MS
        self.heard = self._joined = True
        self.unknown = self.told_missing = False

    def interrupt(self) -> None:
        """The audio breaks off here; until it comes again nothing is known."""
        self.unknown = True
        self._joined = False

    def continues(self, at_ms: int) -> bool:
        """Whether a piece at this time goes on where the track is."""
        return self._joined and -APPEND_MS <= at_ms - self.position // PER_MS <= APPEND_MS

    def open_hole(self, at_ms: int, missing: int, piece_ms: float, out: list[Input]) -> None:
        """Fill what lies between the track and a piece that follows at `at_ms`; `missing` pieces of `piece_ms` were
        lost in between. What is left of the hole is silence and needs no input: the audio's place says it."""
        room = at_ms - self.position_ms
        if room <= 0:
            self.unknown = False
            return
        if missing:
            self.lost += missing
        if self.unknown:
            self.stall(at_ms, out)
        elif missing:
            lost_ms = min(room, max(0, round(missing * piece_ms - self._hole_unknown_ms)))
            # Two roundings apart from the whole hole is the whole hole.
            self.stall(at_ms if room - lost_ms <= APPEND_MS else self.position_ms + lost_ms, out)
        elif room <= APPEND_MS:
            # So near, a hole has to be said: it would be taken as no hole.
            if not self._joined:
                self.silence(at_ms, out)
            return
        self.position = max(self.position, at_ms * PER_MS)

    def covered(self, at_ms: int) -> int:
        """How many bytes of a piece that begins at `at_ms` lie before the position; 0 if it may be appended."""
        early = self.position - at_ms * PER_MS
        return 2 * early if early > (APPEND_MS * PER_MS if self._joined else 0) else 0

    def stall(self, until_ms: int, out: list[Input]) -> None:
        """From the position to `until_ms` is unknown."""
        start = self.position_ms
        if until_ms > start:
            out.append(Stall(self.name, start, until_ms))
            self._hole_unknown_ms += until_ms - start
            self.position = until_ms * PER_MS
            self._joined = False

    def stall_lost(self, until_ms: int, lost_ms: float, out: list[Input]) -> None:
        """As far as `lost_ms` of the present hole go, what comes before `until_ms` is unknown."""
        self.stall(min(until_ms, self.position_ms + round(max(0.0, lost_ms - self._hole_unknown_ms))), out)

    def silence(self, until_ms: int, out: list[Input]) -> None:
        """From the position to `until_ms` nothing was sent. One short piece at the end says it; the core fills in."""
        room = until_ms * PER_MS - self.position
        if room <= 0:
            return
        if room > 5 * SILENCE_PIECE_MS * PER_MS:
            self.position = (until_ms - SILENCE_PIECE_MS) * PER_MS
            room = SILENCE_PIECE_MS * PER_MS
        out.append(Audio(self.name, self.position // PER_MS, bytes(2 * room)))
        self.position += room
        self._joined = False
