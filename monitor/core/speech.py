"""Room 3: frames of a track -> which of them hold speech.

A detector says of each frame whether it holds voice; what is under the floor of -55 dBFS, and what sounds in the first
200 ms of a track, is not believed. Both tracks side by side then pass the echo gate: a frame far under what the *other*
side has just said is that voice coming back, not speech. Energies are exact integers (sums of squares), so that no
chunking of the audio can change a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal, Protocol

import msgspec
import numpy as np

from monitor.core.clock import FRAME_MS
from monitor.core.line.settings import LineSettings

SILENT, VOICED, UNKNOWN, ZERO, DOUBTED = 0, 1, 2, 3, 4
"""What is known of a frame. ZERO: nothing but zeros, which next to sound is what a lost packet looks like. DOUBTED: a
voice to the first detector, none to the second."""

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


class SecondDetector(Detector, Protocol):
    """A detector that may be asked for many tracks at once, and is told early what it will be asked about."""

    def offer(self, pcm: bytes) -> None:
        """Whole frames that `voiced` will be asked about next, after what was offered before."""
        ...


NewDetector = Callable[[int], Detector]
"""Makes a detector for a track of the given sample rate."""

NewSecond = Callable[[int], SecondDetector]


class SpeechSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How speech is told from everything else. Defaults as measured on composed calls.

    `detector`: `auto` asks Silero as well on a line where WebRTC cannot be believed; `silero` asks it on every line;
    `webrtc` on none. `detector_mode`: how strict the WebRTC detector is, from 0 (most is speech) to 3. `floor_dbfs`: a
    20 ms frame under this level is never speech. `warmup_ms`: what sounds at the very beginning of a track is not
    believed for so long. `echo_gate_db`: a frame so far under what the other side has just said is that voice coming
    back; None: no gate.

    `open_ms`: so much voice opens a stretch of speech, back-dated to its first voiced frame. `close_ms`: so long
    without voice closes it. `min_stretch_ms`: a shorter stretch is no speech. `trim_db`: at the ends of a stretch, what
    is so far under its loudest part is cut off. `trim_max_ms`: no more than so long is cut off at either end.

    `lost_max_ms`: a run of nothing but zeros counts as lost audio for so long, then as silence. `reset_after_ms`: after
    a longer hole the detector begins anew. `stall_after_ms`: a track that is so far behind the call's clock has
    stalled, and the call goes on without it. `line`: how a track's noise is found; None: no gate, no second detector.
    `tail_ms_per_db`, `tail_max_ms`: a voice dies away under the noise; its end is told so much later for each dB that
    the noise lies over the level of `trim_db`.
    """

    detector: Literal["auto", "webrtc", "silero"] = "auto"
    detector_mode: int = 2
    floor_dbfs: float = -55.0
    warmup_ms: int = 200
    echo_gate_db: float | None = 18.0
    line: LineSettings | None = LineSettings()
    open_ms: int = 60
    close_ms: int = 200
    min_stretch_ms: int = 100
    trim_db: float = 33.0
    trim_max_ms: int = 200
    tail_ms_per_db: float = 4.0
    tail_max_ms: int = 120
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
