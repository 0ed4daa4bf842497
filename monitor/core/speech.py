"""Room 3: frames of a track -> which of them hold speech.

A detector says of each frame whether it holds voice; what is under the floor of -55 dBFS, and what sounds in the first
200 ms of a track, is not believed. Both tracks side by side then pass the echo gate: a frame far under what the *other*
side has just said is that voice coming back, not speech. Energies are exact integers (sums of squares), so that no
chunking of the audio can change a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import compress, repeat
from typing import Protocol

import msgspec
import numpy as np

from monitor.core.background import Background, BackgroundSettings
from monitor.core.clock import FRAME_MS
from monitor.core.framing import Block

SILENT, VOICED, UNKNOWN, ZERO = 0, 1, 2, 3
"""What is known of a frame. ZERO: nothing but zeros, which next to sound is what a lost packet looks like."""

ECHO_FRAMES = 12
"""The echo gate looks back this many frames of the other track, and at the current one: 260 ms."""


class Detector(Protocol):
    """Says of each 20 ms frame whether it holds voice. Stateful: one for each track, frames in order."""

    def voiced(self, pcm: bytes) -> bytes:
        """One byte, 0 or 1, for each frame of `pcm` (s16le, a whole number of 20 ms frames)."""
        ...

    def reset(self) -> None:
        """Forget everything heard, as after a long hole in the audio."""
        ...


NewDetector = Callable[[int], Detector]
"""Makes a detector for a track of the given sample rate."""


class SpeechSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How speech is told from everything else. Defaults as measured on composed calls.

    `detector_mode`: how strict the WebRTC detector is, from 0 (most is speech) to 3. `floor_dbfs`: a 20 ms frame under
    this level is never speech. `warmup_ms`: what sounds at the very beginning of a track is not believed for so long.
    `echo_gate_db`: a frame so far under what the other side has just said is that voice coming back; None: no gate.

    `open_ms`: so much voice opens a stretch of speech, back-dated to its first voiced frame. `close_ms`: so long
    without voice closes it. `min_stretch_ms`: a shorter stretch is no speech. `trim_db`: at the ends of a stretch, what
    is so far under its loudest part is cut off. `trim_max_ms`: no more than so long is cut off at either end.

    `lost_max_ms`: a run of nothing but zeros counts as lost audio for so long, then as silence. `reset_after_ms`: after
    a longer hole the detector begins anew. `stall_after_ms`: a track that is so far behind the call's clock has
    stalled, and the call goes on without it.
    """

    detector_mode: int = 2
    floor_dbfs: float = -55.0
    warmup_ms: int = 200
    echo_gate_db: float | None = 18.0
    background: BackgroundSettings | None = BackgroundSettings()
    open_ms: int = 60
    close_ms: int = 200
    min_stretch_ms: int = 100
    trim_db: float = 33.0
    trim_max_ms: int = 200
    lost_max_ms: int = 300
    reset_after_ms: int = 500
    stall_after_ms: int = 1000


def full_scale(rate: int) -> float:
    """The energy (sum of squares) of a 20 ms frame at 0 dBFS."""
    return rate * FRAME_MS / 1000 * 32768.0**2


@cache
def silence(size: int) -> bytes:
    """`size` bytes of nothing but zeros."""
    return bytes(size)


def frame_energies(pcm: bytes, samples: int) -> list[int]:
    """For each frame of `samples` s16le samples its sum of squares. Exact: whole numbers this small are exact in
    floats, in whatever order they are added."""
    frames = np.frombuffer(pcm, "<i2").astype(np.float64)
    if len(frames) == samples:
        return [int(frames.dot(frames))]
    rows = frames.reshape(-1, 1, samples)
    energies: list[int] = (rows @ rows.transpose(0, 2, 1)).ravel().astype(np.int64).tolist()
    return energies


class TrackFrames:
    """The frames of one track that wait for the other track: what the detector said, and how loud they were.

    `kinds` and `energy` begin at frame `base`; `energy` has ECHO_FRAMES older ones in front. An energy of -1 has not
    been worked out: most frames without a voice never need one.
    """

    def __init__(self, rate: int, settings: SpeechSettings, detector: Detector) -> None:
        self._detector = detector
        self._samples = rate * FRAME_MS // 1000
        self._size = 2 * self._samples
        self._floor = int(full_scale(rate) * 10 ** (settings.floor_dbfs / 10))
        self._warm = settings.warmup_ms // FRAME_MS
        self._reset_after = settings.reset_after_ms // FRAME_MS
        self._background = None if settings.background is None else Background(settings.background, self._floor)
        self._blank = 0
        self.base = 0
        self.kinds = bytearray()
        self.energy: list[int] = [0] * ECHO_FRAMES
        self._audio: list[tuple[int, bytes]] = []  # (first frame, the samples from there on)

    @property
    def horizon(self) -> int:
        """The first frame that has not come yet."""
        return self.base + len(self.kinds)

    def hear(self, block: Block) -> None:
        """Take the next frames of the track; they must follow the ones before without a hole."""
        first, count, pcm, _ = block
        if pcm is None:
            self._blanks(block)
            return
        if self._blank:
            if self._blank > self._reset_after:
                self._detector.reset()
            self._blank = 0
        voiced = self._detector.voiced(pcm)
        self._audio.append((first, pcm))
        if self._warm:
            silent = min(self._warm, count)
            self._warm -= silent
            voiced = bytes(silent) + voiced[silent:]
        if VOICED in voiced:
            energies = frame_energies(pcm, self._samples)
            self.kinds += self._believed(voiced, energies)
            self.energy += energies
        else:
            size, zeros = self._size, silence(self._size)
            self.kinds += bytes([ZERO if pcm[i : i + size] == zeros else SILENT for i in range(0, len(pcm), size)])
            self.energy += [-1] * count

    def _believed(self, voiced: bytes, energies: list[int]) -> bytearray:
        """What is known of frames, after what the detector has said of them."""
        kinds = bytearray(voiced)
        if 0 in energies:
            kinds = bytearray(flag or (SILENT if level else ZERO) for flag, level in zip(voiced, energies, strict=True))
        heard = list(compress(energies, voiced))
        gates = repeat(0) if self._background is None else self._background.gates(heard)
        for at, energy, gate in zip(compress(range(len(voiced)), voiced), heard, gates, strict=False):
            if energy < gate or energy < self._floor:
                kinds[at] = SILENT if energy or gate else ZERO
        return kinds

    def _blanks(self, block: Block) -> None:
        """Frames in which nothing was sent. The detector hears a little of the silence; none of what is unknown."""
        if not block.unknown and self._blank < self._reset_after:
            heard = min(block.frames, self._reset_after - self._blank)
            self._detector.voiced(bytes(2 * self._samples * heard))
        if block.unknown:
            self._blank += block.frames
        else:
            self._warm = max(0, self._warm - block.frames)
        self.kinds += bytes([UNKNOWN if block.unknown else ZERO]) * block.frames
        self.energy += [0] * block.frames

    def audio(self, frame: int) -> bytes | None:
        """The samples of a frame that is not released yet, or is still needed; None where none were sent."""
        for first, pcm in reversed(self._audio):
            if first <= frame:
                offset = (frame - first) * self._size
                return pcm[offset : offset + self._size] if offset < len(pcm) else None
        return None

    def loudest(self, at: int, until: int) -> int:
        """The loudest energy of the frames `at` to `until` behind `base`, and of the ECHO_FRAMES before them."""
        last = until + ECHO_FRAMES
        levels = self.energy[at:last]
        while -1 in levels:
            self._work_out(self.base + at - ECHO_FRAMES + levels.index(-1))
            levels = self.energy[at:last]
        return max(levels)

    def _work_out(self, frame: int) -> None:
        """The energies of a frame and of its neighbours that came with it."""
        start, pcm = next(piece for piece in reversed(self._audio) if piece[0] <= frame)
        at = start - self.base + ECHO_FRAMES
        energies = frame_energies(pcm, self._samples)[max(0, -at) :]
        at = max(0, at)
        self.energy[at : at + len(energies)] = energies

    def drop(self, count: int, needed: int) -> None:
        """The first `count` frames have been released. Audio is kept from frame `needed` on, and of the ECHO_FRAMES."""
        del self.kinds[:count]
        del self.energy[:count]
        self.base += count
        audio, keep = self._audio, min(needed, self.base - ECHO_FRAMES)
        while audio and audio[0][0] + len(audio[0][1]) // self._size <= keep:
            del audio[0]


class EchoGate:
    """Takes out of a track's frames what is only the other track's voice coming back.

    A frame is not speech where its energy is more than `gate_db` under the loudest of the other track's frames in the
    260 ms up to it, if that one is over the floor. Causal: it needs both tracks up to the same frame.
    """

    def __init__(self, gate_db: float | None, floor_dbfs: float, rate: int) -> None:
        self._factor = None if gate_db is None else 10 ** (gate_db / 10)
        self._floor = full_scale(rate) * 10 ** (floor_dbfs / 10)

    def speech(self, track: TrackFrames, other: TrackFrames | None, count: int) -> bytes:
        """The kinds of the track's next `count` frames, echo taken out."""
        kinds = bytes(track.kinds[:count])
        first = kinds.find(VOICED)
        if first < 0 or self._factor is None or other is None:
            return kinds
        until = kinds.rfind(VOICED) + 1
        loudest = other.loudest(first, until)
        if loudest <= self._floor:
            return kinds
        levels, factor = track.energy[ECHO_FRAMES : ECHO_FRAMES + until], self._factor
        faint = [at for at in range(first, until) if kinds[at] == VOICED and levels[at] * factor < loudest]
        if not faint:
            return kinds
        out = bytearray(kinds)
        for at in faint:
            loudest = other.loudest(at, at + 1)
            if loudest > self._floor and levels[at] * factor < loudest:
                out[at] = SILENT
        return bytes(out)
