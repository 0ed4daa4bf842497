"""Room 3: frames of a track -> which of them hold speech.

A detector says of each frame whether it holds voice; what is under the floor of -55 dBFS, and what sounds in the first
200 ms of a track, is not believed. Both tracks side by side then pass the echo gate: a frame far under what the *other*
side has just said is that voice coming back, not speech. Energies are exact integers (sums of squares), so that no
chunking of the audio can change a decision.
"""

from __future__ import annotations

from collections.abc import Callable
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

KEPT_FRAMES = 32
"""Frames of audio kept behind the released ones, for the tone guard's look back to where a stretch began."""


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
    """How speech is told from everything else. Defaults as measured on composed calls."""

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


class TrackFrames:
    """The frames of one track that wait for the other track: what the detector said, and how loud they were.

    `kinds` and `energy` begin at frame `base`; `energy` has ECHO_FRAMES older ones in front.
    """

    def __init__(self, rate: int, settings: SpeechSettings, detector: Detector) -> None:
        self._detector = detector
        self._samples = rate * FRAME_MS // 1000
        self._floor = int(full_scale(rate) * 10 ** (settings.floor_dbfs / 10))
        self._warm = settings.warmup_ms // FRAME_MS
        self._reset_after = settings.reset_after_ms // FRAME_MS
        self._background = None if settings.background is None else Background(settings.background, self._floor)
        self._blank = 0
        self.base = 0
        self.kinds = bytearray()
        self.energy: list[int] = [0] * ECHO_FRAMES
        self._audio: list[tuple[int, bytes]] = []  # (first frame, its samples): for the tone guard

    @property
    def horizon(self) -> int:
        """The first frame that has not come yet."""
        return self.base + len(self.kinds)

    def hear(self, block: Block) -> None:
        """Take the next frames of the track; they must follow the ones before without a hole."""
        if block.pcm is None:
            self._blanks(block)
            return
        if self._blank > self._reset_after:
            self._detector.reset()
        self._blank = 0
        pcm, count = block.pcm, block.frames
        voiced = self._detector.voiced(pcm)
        if count == 1:
            wide = np.frombuffer(pcm, "<i2").astype(np.int64)
            energies = [int(wide.dot(wide))]
        else:
            rows = np.frombuffer(pcm, "<i2").astype(np.int64).reshape(count, self._samples)
            energies = np.einsum("ij,ij->i", rows, rows).tolist()
        floor, kinds, background = self._floor, self.kinds, self._background
        for flag, energy in zip(voiced, energies, strict=True):
            if self._warm:
                self._warm -= 1
                flag = 0
            if flag and background is not None:
                background.add(energy)
                if energy < background.gate:
                    flag = 0
            if flag and energy < floor:
                flag = 0
            kinds.append(VOICED if flag else SILENT if energy else ZERO)
        self.energy += energies
        self._audio.append((block.first, pcm))

    def _blanks(self, block: Block) -> None:
        """Frames in which nothing was sent. The detector hears a little of the silence; none of what is unknown."""
        if not block.unknown and self._blank < self._reset_after:
            heard = min(block.frames, self._reset_after - self._blank)
            self._detector.voiced(bytes(2 * self._samples * heard))
        if block.unknown:
            self._blank += block.frames
        self.kinds += bytes([UNKNOWN if block.unknown else ZERO]) * block.frames
        self.energy += [0] * block.frames

    def audio(self, frame: int) -> bytes | None:
        """The samples of a frame that is not released yet, or of one of the last KEPT_FRAMES; None where none were
        sent."""
        size = 2 * self._samples
        for first, pcm in reversed(self._audio):
            if first <= frame:
                offset = (frame - first) * size
                return pcm[offset : offset + size] if offset < len(pcm) else None
        return None

    def drop(self, count: int) -> None:
        """The first `count` frames have been released."""
        del self.kinds[:count]
        del self.energy[:count]
        self.base += count
        keep, size = self.base - KEPT_FRAMES, 2 * self._samples
        while self._audio and self._audio[0][0] + len(self._audio[0][1]) // size <= keep:
            del self._audio[0]


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
        if self._factor is None or other is None or VOICED not in kinds:
            return kinds
        own, theirs = track.energy, other.energy
        if max(theirs[: count + ECHO_FRAMES]) <= self._floor:
            return kinds
        out = bytearray(kinds)
        at = kinds.find(VOICED)
        while at >= 0:
            loudest = max(theirs[at : at + ECHO_FRAMES + 1])
            if loudest > self._floor and own[at + ECHO_FRAMES] * self._factor < loudest:
                out[at] = SILENT
            at = kinds.find(VOICED, at + 1)
        return bytes(out)
