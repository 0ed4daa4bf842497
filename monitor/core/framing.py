"""Room 2: any chunks of a track -> one absolute grid of 20 ms frames.

Where a piece lies in time comes from its `at`; where it goes on from the piece before (within 40 ms) samples stay
continuous, so that the rounding of time stamps never shifts audio. A hole is silence, unless a stall says that it is
unknown. What lies before the track's position is late: dropped and counted.
"""

from __future__ import annotations

from typing import NamedTuple

from monitor.core.clock import FRAME_MS

SNAP_MS = 40
"""A piece that begins this near to the track's position continues it."""

MAX_JUMP_MS = 600_000
"""A hole longer than this is a damaged time stamp, not a silence: the piece is dropped and counted."""


class Block(NamedTuple):
    """`frames` whole frames from frame `first`. `pcm` is their audio, or None where nothing was sent; `unknown` says of
    a block without audio that it is a stall, not silence."""

    first: int
    frames: int
    pcm: bytes | None
    unknown: bool = False


class Framer:
    """Frames one track. Give it pieces, stalls and silence in order; take the whole frames that they complete.

    Memory: less than one frame of audio, plus what has been given since the last `take`.
    """

    __slots__ = ("_audio", "_from", "_lost", "_part", "_per_ms", "_ready", "_size", "jumps", "late_ms", "next", "rate")

    def __init__(self, rate: int) -> None:
        """`rate`: samples a second of every piece of the track."""
        self.rate = rate
        self.next = 0
        """The frame that is not whole yet: all before it are."""
        self.late_ms = 0
        """How much audio came for a time that had passed already, since `told` last took it."""
        self.jumps = 0
        """How many pieces were dropped for an impossible time stamp."""
        self._per_ms = rate // 1000
        self._size = 2 * FRAME_MS * self._per_ms
        self._part = bytearray()  # the samples of frame `next` so far, without gaps
        self._lost = 0  # how many bytes of `_part` are unknown
        self._audio: list[bytes] = []  # the audio of the frames `_from` to `next`, not taken yet
        self._from = 0
        self._ready: list[Block] = []  # what lies before `_from`, not taken yet

    @property
    def position(self) -> int:
        """The track's position: everything before it is framed or in the unfinished frame. In ms, rounded down."""
        return self.next * FRAME_MS + len(self._part) // (2 * self._per_ms)

    def follows(self, at: int, pcm: bytes) -> bool:
        """The short way for a piece that is exactly the next frame. -> whether it was; if not, nothing has been
        done."""
        if len(pcm) != self._size or self._part or not -SNAP_MS <= at - self.next * FRAME_MS <= SNAP_MS:
            return False
        self._audio.append(pcm)
        self.next += 1
        return True

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
        whole, rest = divmod(missing, self._size)
        if whole:
            self._without_audio(whole, unknown)
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
                self._without_audio(1, unknown=True)
            else:
                self._audio.append(bytes(part))
                self.next += 1
            self._lost = 0
            part.clear()
        whole = len(pcm) // size
        if whole:
            cut = whole * size
            self._audio.append(pcm if cut == len(pcm) else pcm[:cut])
            self.next += whole
            pcm = pcm[cut:]
        part += pcm

    def _without_audio(self, frames: int, unknown: bool) -> None:
        self._seal()
        self._ready.append(Block(self.next, frames, None, unknown))
        self.next = self._from = self.next + frames

    def _seal(self) -> None:
        """The audio that has not been taken yet is one block now."""
        if self._audio:
            self._ready.append(Block(self._from, self.next - self._from, b"".join(self._audio)))
            self._audio = []
            self._from = self.next

    def finish(self) -> None:
        """The track is over: what is left of an unfinished frame is filled with silence, if it is half a frame or
        more."""
        if len(self._part) * 2 >= self._size:
            self._append(bytes(self._size - len(self._part)))
        self._part.clear()

    def take(self) -> list[Block]:
        """The whole frames completed since the last call, in order and without holes. Audio that touches is one
        block."""
        self._seal()
        ready, self._ready = self._ready, []
        return ready
