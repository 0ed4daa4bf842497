"""Room 2: any chunks of a track -> one absolute grid of 20 ms frames.

Where a piece lies in time comes from its `at`; where it goes on from the piece before (within 40 ms) samples stay
continuous, so that the rounding of time stamps never shifts audio. A hole is silence, unless a stall says that it is
unknown. What lies before the track's position is late: dropped and counted.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from monitor.core.clock import FRAME_MS

SNAP_MS = 40
"""A piece that begins this near to the track's position continues it."""

MAX_JUMP_MS = 600_000
"""A hole longer than this is a damaged time stamp, not a silence: the piece is dropped and counted."""


class Block(NamedTuple):
    """`frames` whole frames from frame `first`. `pcm` is their audio, or None where nothing was sent; `unknown` says
    of a
    block without audio that it is a stall, not silence."""

    first: int
    frames: int
    pcm: bytes | None
    unknown: bool = False


class Framer:
    """Frames one track. Give it pieces, stalls and silence in order; take the whole frames that they complete.

    Memory: less than one frame of audio, plus what has been given since the last `take`.
    """

    def __init__(self, rate: int) -> None:
        """`rate`: samples a second of every piece of the track."""
        self.rate = rate
        self._per_ms = rate // 1000
        self._size = 2 * FRAME_MS * self._per_ms
        self._next = 0  # the frame that `_part` belongs to
        self._part = bytearray()  # the samples of that frame so far, without gaps
        self._lost = 0  # how many bytes of `_part` are unknown
        self._ready: deque[Block] = deque()
        self.late_ms = 0
        """How much audio came for a time that had passed already, since `told` last took it."""
        self.jumps = 0
        """How many pieces were dropped for an impossible time stamp."""

    @property
    def position(self) -> int:
        """The track's position: everything before it is framed or in the unfinished frame. In ms, rounded down."""
        return self._next * FRAME_MS + len(self._part) // (2 * self._per_ms)

    def frame(self, at: int, pcm: bytes) -> Block | None:
        """The short way for a piece that is exactly the next frame; None where it is not, and nothing has been done."""
        first = self._next
        if len(pcm) != self._size or self._part or self._ready or not -SNAP_MS <= at - first * FRAME_MS <= SNAP_MS:
            return None
        self._next = first + 1
        return Block(first, 1, pcm)

    def audio(self, at: int, pcm: bytes) -> None:
        """A piece of the track: s16le samples from `at` ms on."""
        if not pcm:
            return
        ahead = at - self.position
        if ahead > SNAP_MS:
            if ahead > MAX_JUMP_MS:
                self.jumps += 1
                return
            self.blank(at, unknown=False)
        elif ahead < -SNAP_MS:
            skip = -ahead * 2 * self._per_ms
            self.late_ms += min(-ahead, len(pcm) // (2 * self._per_ms))
            pcm = pcm[skip:]
        self._append(pcm)

    def blank(self, until: int, *, unknown: bool) -> None:
        """From the track's position to `until` ms nothing was sent: silence, or unknown."""
        missing = (until - self.position) * 2 * self._per_ms
        if missing <= 0:
            return
        if self._part or missing < self._size:
            head = min(missing, self._size - len(self._part))
            if unknown:
                self._lost += head
            self._append(bytes(head))
            missing -= head
        whole = missing // self._size
        if whole:
            self._ready.append(Block(self._next, whole, None, unknown))
            self._next += whole
        rest = missing - whole * self._size
        if rest:
            if unknown:
                self._lost += rest
            self._append(bytes(rest))

    def _append(self, pcm: bytes) -> None:
        size, part = self._size, self._part
        if part:
            head = pcm[: size - len(part)]
            part += head
            pcm = pcm[len(head) :]
            if len(part) < size:
                return
            if self._lost * 2 > size:
                self._ready.append(Block(self._next, 1, None, True))
            else:
                self._ready.append(Block(self._next, 1, bytes(part)))
            self._next += 1
            self._lost = 0
            part.clear()
        whole = len(pcm) // size
        if whole:
            cut = whole * size
            self._ready.append(Block(self._next, whole, pcm if cut == len(pcm) else pcm[:cut]))
            self._next += whole
            pcm = pcm[cut:]
        part += pcm

    def finish(self) -> None:
        """The track is over: what is left of an unfinished frame is filled with silence, if it is half a frame or
        more."""
        if len(self._part) * 2 >= self._size:
            self._append(bytes(self._size - len(self._part)))
        self._part.clear()

    def take(self) -> deque[Block]:
        """The whole frames completed since the last call, in order and without holes."""
        ready, self._ready = self._ready, deque()
        return ready
