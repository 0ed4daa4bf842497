"""The pieces of one track of one stream, put back into the order in which they were sent.

Time stamps say *where* a piece belongs, numbers say *why* there is a hole before it: numbers that are missing mean that
something was lost, none missing means that nothing was sent. A piece in order is never held. One that comes before its
turn waits for the missing ones, for at most 60 ms of the stream or of the clock.

Which number: `chunk` counts the pieces of a track (so every public implementation says; Twilio's page leaves it open).
Where it turns out to count the pieces of both tracks, or is absent, the message's sequence number is used.
"""

from __future__ import annotations

from bisect import insort
from collections import deque

import msgspec

from connectors.inputs import Track
from connectors.protocols.tally import Tally

WINDOW_MS = 60
JITTER_MS = 10
"""Time stamps may be so much off without there being a hole."""
FIRST_ROOM_MS = 1000
"""A stream whose first piece comes later than this did not lose what is before it: there was nothing."""
MAX_HELD = 16
MAX_RANGES = 64
RESTART_RUN = 50
"""So many old pieces in a row are not duplicates: the sender has begun to count anew."""


class Piece(msgspec.Struct):
    """`at`: ms from the stream's beginning. `ms`: its length. `received`: when it came, by the monotonic clock.
    `missing`: how many pieces were lost just before it; known once it has been put in order."""

    at: int
    ms: float
    chunk: int | None
    sequence: int | None
    payload: bytes
    received: int
    missing: int = 0


class Sequence:
    """Which message numbers of a stream have been seen. Memory is bounded: of holes, the newest 64 are known."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.shared_chunks = False
        """Whether `chunk` counts the pieces of both tracks together."""
        self._unseen: deque[tuple[int, int]] = deque(maxlen=MAX_RANGES)

    def note(self, number: int) -> None:
        """A message with this number has come."""
        last = self.last
        if last is None or number == last + 1:
            self.last = number
        elif number > last:
            self._unseen.append((last + 1, number))
            self.last = number
        else:
            for at, (first, end) in enumerate(self._unseen):
                if first <= number < end:
                    rest = [part for part in ((first, number), (number + 1, end)) if part[0] < part[1]]
                    kept = [*list(self._unseen)[:at], *rest, *list(self._unseen)[at + 1 :]]
                    self._unseen = deque(kept, maxlen=MAX_RANGES)
                    return

    def unseen(self, after: int, before: int) -> int:
        """How many numbers strictly between the two have not come."""
        return sum(max(0, min(end, before) - max(first, after + 1)) for first, end in self._unseen)


class MediaOrder:
    """One track of one stream. `duplicates`, `late` and `reordered` count pieces since they were last reset."""

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence
        self.chunk = 0
        self.number = sequence.last
        self.at = -1
        self.end = 0.0
        """Where the last piece ended, in ms from the stream's beginning."""
        self.begun = False
        self.held: list[Piece] = []
        self._lost: deque[tuple[int, int]] = deque(maxlen=MAX_RANGES)
        self._old_run = 0
        self.duplicates = self.late = self.reordered = 0

    def accept(self, at: int, ms: float, chunk: int | None, sequence: int | None) -> None:
        """The piece that follows in order has been taken."""
        self.begun = True
        self._old_run = 0
        self.at, self.end = at, at + ms
        if chunk is not None:
            self.chunk = chunk
        if sequence is not None:
            self.number = sequence

    def offer(self, piece: Piece, now_ms: int) -> list[Piece]:
        """A piece has come. -> the pieces that are now in order."""
        if self._came_before(piece):
            return []
        if self.held and piece.at < self.held[-1].at:
            self.reordered += 1
        insort(self.held, piece, key=lambda held: held.at)
        return self.due(now_ms)

    def due(self, now_ms: int) -> list[Piece]:
        """The held pieces that are in order, or have waited long enough."""
        ready = []
        while self.held:
            piece = self.held[0]
            missing = self._missing(piece)
            if missing and not self._waited(piece, now_ms):
                break
            ready.append(self._take(missing))
        return ready

    def flush(self) -> list[Piece]:
        """Everything held: the stream is over."""
        return [self._take(self._missing(self.held[0])) for _ in range(len(self.held))]

    def tell(self, tally: Tally, track: Track) -> None:
        """Hand the counts on."""
        if self.duplicates:
            tally.count("duplicate", track, "audio came twice: once was taken", self.duplicates)
        if self.late:
            tally.count("late_audio", track, "audio came after it had been given up as lost: dropped", self.late)
        if self.reordered:
            tally.count("reordered", track, "audio came out of order and was sorted", self.reordered)
        self.duplicates = self.late = self.reordered = 0

    def _take(self, missing: int) -> Piece:
        piece = self.held.pop(0)
        piece.missing = missing
        if missing and piece.chunk is not None:
            self._lost.append((piece.chunk - missing, piece.chunk))
        self.accept(piece.at, piece.ms, piece.chunk, piece.sequence)
        return piece

    def _came_before(self, piece: Piece) -> bool:
        """Count and turn away what has been taken already, or comes after its place has been given up."""
        if piece.chunk is not None:
            passed = self.begun and piece.chunk <= self.chunk
        elif piece.sequence is not None and self.number is not None:
            passed = self.begun and piece.sequence <= self.number
        else:
            passed = piece.at == self.at
        # A number that goes back while the time goes on is a counter that began anew, not an old piece.
        if passed and piece.at <= self.at:
            self._old_run += 1
            if self._old_run > RESTART_RUN:
                self._begin_anew(piece)
                return False
            if any(first <= (piece.chunk or 0) < end for first, end in self._lost):
                self.late += 1
            else:
                self.duplicates += 1
            return True
        if any(held.at == piece.at and held.chunk == piece.chunk for held in self.held):
            self.duplicates += 1
            return True
        return False

    def _begin_anew(self, piece: Piece) -> None:
        self._old_run = 0
        self._lost.clear()
        self.held.clear()
        self.chunk = (piece.chunk or 0) - 1
        self.number = None
        self.at, self.end = piece.at - 1, float(piece.at)

    def _missing(self, piece: Piece) -> int:
        """How many pieces were lost between the last one taken and this one; 0 where time stamps leave no room."""
        room = piece.at - self.end
        if room <= JITTER_MS or (not self.begun and room > FIRST_ROOM_MS):
            return 0
        if piece.chunk is not None and piece.chunk > self.chunk and not self._sequence.shared_chunks:
            missing = piece.chunk - self.chunk - 1
        elif piece.sequence is not None and self.number is not None:
            missing = self._sequence.unseen(self.number, piece.sequence)
        else:
            missing = 0
        return max(0, min(missing, round(room / max(piece.ms, 1.0))))

    def _waited(self, piece: Piece, now_ms: int) -> bool:
        newest = self.held[-1]
        heard_after = newest.at + newest.ms - piece.at
        return heard_after >= WINDOW_MS or now_ms - piece.received >= WINDOW_MS or len(self.held) > MAX_HELD
