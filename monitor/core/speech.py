"""Room 3: frames of a track -> which of them hold speech.

A detector says of each frame whether it holds voice; what is under the floor of -55 dBFS, and what sounds in the first
200 ms of a track, is not believed. Both tracks side by side then pass the echo gate: a frame far under what the *other*
side has just said is that voice coming back, not speech. Energies are exact integers (sums of squares), so that no
chunking of the audio can change a decision.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np

from monitor.core.background import Background, BackgroundSettings
from monitor.core.clock import FRAME_MS
from monitor.core.framing import Block

SILENT, VOICED, UNKNOWN, ZERO = 0, 1, 2, 3
"""What is known of a frame. ZERO: nothing but zeros, which next to sound is what a lost packet looks like."""

VOICED_FRAME = b"\x01"
"""What a detector says of a single frame with a voice in it."""

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


def frame_energy(pcm: bytes) -> int:
    """The sum of squares of s16le samples. Exact: whole numbers this small are exact in floats, in any order."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)
    return int(samples.dot(samples))


class TrackFrames:
    """The frames of one track that wait for the other track: what the detector said, and how loud they were.

    `kinds` and `energy` begin at frame `base`; `energy` has ECHO_FRAMES older ones in front. An energy of -1 has not been
    worked out: most frames without a voice never need one.
    """

    def __init__(self, rate: int, settings: SpeechSettings, detector: Detector) -> None:
        self._detector = detector
        self._samples = rate * FRAME_MS // 1000
        self._size = 2 * self._samples
        self._zeros = bytes(self._size)
        self._floor = int(full_scale(rate) * 10 ** (settings.floor_dbfs / 10))
        self._warm = settings.warmup_ms // FRAME_MS
        self._reset_after = settings.reset_after_ms // FRAME_MS
        self._background = None if settings.background is None else Background(settings.background, self._floor)
        self._blank = 0
        self.base = 0
        self.kinds = bytearray()
        self.energy: list[int] = [0] * ECHO_FRAMES
        self._audio: deque[tuple[int, bytes]] = deque()  # (first frame, its samples)

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
        if count == 1:
            if voiced == VOICED_FRAME:
                energy = frame_energy(pcm)
                self.kinds.append(self._believed(energy))
                self.energy.append(energy)
            elif pcm == self._zeros:
                self.kinds.append(ZERO)
                self.energy.append(0)
            else:
                self.kinds.append(SILENT)
                self.energy.append(-1)
            return
        rows = np.frombuffer(pcm, "<i2").astype(np.float64).reshape(count, self._samples)
        energies = list(map(int, np.einsum("ij,ij->i", rows, rows).tolist()))
        self.energy += energies
        kinds = bytearray(voiced)
        for at, flag in enumerate(voiced):
            if flag:
                kinds[at] = self._believed(energies[at])
            elif not energies[at]:
                kinds[at] = ZERO
        self.kinds += kinds

    def _believed(self, energy: int) -> int:
        """The kind of a frame that the detector calls a voice."""
        background = self._background
        if background is not None:
            background.add(energy)
            if energy < background.gate:
                return SILENT
        return VOICED if energy >= self._floor else SILENT if energy else ZERO

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
        for first, pcm in reversed(self._audio):
            if first <= frame:
                offset = (frame - first) * self._size
                return pcm[offset : offset + self._size] if offset < len(pcm) else None
        return None

    def loudest(self, at: int) -> int:
        """The loudest energy of the frame `at` places behind `base` and of the ECHO_FRAMES before it."""
        energy, most = self.energy, 0
        for i in range(at, at + ECHO_FRAMES + 1):
            value = energy[i]
            if value < 0:
                pcm = self.audio(self.base - ECHO_FRAMES + i)
                value = energy[i] = frame_energy(pcm) if pcm else 0
            if value > most:
                most = value
        return most

    def drop(self, count: int) -> None:
        """The first `count` frames have been released."""
        del self.kinds[:count]
        del self.energy[:count]
        self.base += count
        audio, keep = self._audio, self.base - KEPT_FRAMES
        while audio and audio[0][0] + len(audio[0][1]) // self._size <= keep:
            audio.popleft()


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
        at = kinds.find(VOICED)
        if at < 0 or self._factor is None or other is None:
            return kinds
        out: bytearray | None = None
        while at >= 0:
            loudest = other.loudest(at)
            if loudest > self._floor and track.energy[at + ECHO_FRAMES] * self._factor < loudest:
                out = out or bytearray(kinds)
                out[at] = SILENT
            at = kinds.find(VOICED, at + 1)
        return kinds if out is None else bytes(out)
