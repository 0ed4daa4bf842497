"""The tone guard: is what the detector calls voice a keypad, ringback, busy or dial tone?

Each 20 ms a Hann window of 40 ms gives a power spectrum. A frame is *tonal* when its two strongest peaks (each +-2 bins
of 25 Hz) hold more than 95 % of the power, and a *keypad* frame when these peaks are one of the keypad's pairs
(ITU-T Q.23). A stretch counts as a tone when, of its frames within 25 dB of its loudest,

- more than 0.6 are tonal and more than 0.8 of those are keypad frames, or
- it lasts 0.45 s or more, more than 0.88 are tonal, and the tonal ones are as loud as each other: all but the edges
  within 3 dB.

Clear voices with two strong harmonics reach 0.81, and for half a second at their beginning 0.95; but no voice keeps its
level. Single frames never decide.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.core.clock import FRAME_MS

BIN_HZ = 25.0
TONAL_POWER = 0.95
ACTIVE_RANGE = 10**-2.5
"""Frames within 25 dB of the loudest count."""

STEADY_RANGE = 10**0.3
NETWORK_SHARE = 0.75
LONG_TONE_MS = 450
LONG_TONE_SHARE = 0.88
KEYPAD_SHARE, KEYPAD_OF_TONAL = 0.6, 0.8
KEYPAD_LOW = (697, 770, 852, 941)
KEYPAD_HIGH = (1209, 1336, 1477, 1633)
KEYPAD_TOLERANCE_HZ = 30
NETWORK_TONES = (350, 400, 425, 440, 450, 480, 620, 950, 1100, 1400, 1800, 2100, *KEYPAD_LOW, *KEYPAD_HIGH)
"""Dial, ringing, busy and information tones in use (ITU-T E.180), fax tones (T.30), and the keypad's."""

MAX_FRAMES = 150
"""What is judged at most: the last three seconds."""


class ToneFrame(NamedTuple):
    """What the guard keeps of one frame. `energy`: its sum of squares. `network`: its strongest peak is where a
    telephone network puts its tones."""

    energy: int
    tonal: bool
    keypad: bool
    network: bool = False


@lru_cache(maxsize=4)
def _window(samples: int) -> NDArray[np.float64]:
    return np.hanning(samples)


def _near(hz: float, table: tuple[int, ...]) -> bool:
    return any(abs(hz - tone) <= KEYPAD_TOLERANCE_HZ for tone in table)


def tone_frames(audio: list[bytes | None], energies: list[int]) -> list[ToneFrame]:
    """Looks at frames that follow each other. `audio`: s16le samples of each, with the frame before them in front, None
    where none were sent; `energies`: their sums of squares, 0 for those that do not count. Any rate that makes whole
    25 Hz bins of 40 ms windows will do."""
    size = max((len(pcm) for pcm in audio if pcm is not None), default=0)
    if not size:
        return [ToneFrame(energy, False, False) for energy in energies]
    rows = (
        np.frombuffer(b"".join(pcm or bytes(size) for pcm in audio), "<i2").astype(np.float64).reshape(len(audio), -1)
    )
    windows = np.concatenate((rows[:-1], rows[1:]), axis=1)
    power = np.abs(np.fft.rfft(windows * _window(windows.shape[1]))) ** 2
    power[:, :2] = 0.0
    total = power.sum(axis=1).tolist()
    peaks = zip(_take_peaks(power), _take_peaks(power), strict=True)
    seen = zip(energies, audio[1:], total, peaks, strict=True)
    return [_judged(energy, *two, power=whole if pcm else 0.0) for energy, pcm, whole, two in seen]


def _take_peaks(power: NDArray[np.float64]) -> list[tuple[float, float]]:
    """The strongest peak of each row: (Hz, the power of its bin and two on either side), which is taken out."""
    peaks = []
    for row, strongest in zip(power, power.argmax(axis=1).tolist(), strict=True):
        around = row[max(0, strongest - 2) : strongest + 3]
        peaks.append((strongest * BIN_HZ, sum(around.tolist())))
        around[:] = 0.0
    return peaks


def _judged(energy: int, first: tuple[float, float], second: tuple[float, float], power: float) -> ToneFrame:
    tonal = bool(energy) and first[1] + second[1] > TONAL_POWER * power > 0.0
    if not tonal:
        return ToneFrame(energy, False, False)
    low, high = sorted((first[0], second[0]))
    return ToneFrame(energy, True, _near(low, KEYPAD_LOW) and _near(high, KEYPAD_HIGH), _near(first[0], NETWORK_TONES))


def _steady(frames: list[ToneFrame]) -> bool:
    """As loud as each other, but for the fifth of them that are the edges of keys and cadences."""
    ranked = sorted(f.energy for f in frames)
    edges = -(-len(ranked) // 5)
    return len(ranked) > edges and ranked[-1] <= ranked[edges] * STEADY_RANGE


class ToneGuard:
    """Judges one stretch as its frames come in."""

    def __init__(self) -> None:
        self._frames: list[ToneFrame] = []

    def add(self, frame: ToneFrame) -> None:
        """The stretch's next frame."""
        self._frames.append(frame)
        if len(self._frames) > MAX_FRAMES:
            del self._frames[0]

    def _active(self) -> list[ToneFrame]:
        loudest = max((f.energy for f in self._frames), default=0)
        return [f for f in self._frames if f.energy >= loudest * ACTIVE_RANGE and f.energy]

    def sounds_like_voice(self, enough: int = 3) -> bool:
        """A voice shows within 100 ms: its level moves, or `enough` active frames are no tone and they are not just the
        edges of one. A long stretch that is no tone by the rules is a voice too."""
        active = self._active()
        tonal = [f for f in active if f.tonal]
        plain = len(active) - len(tonal)
        network = sum(f.network for f in tonal)
        if len(tonal) >= enough and (network < NETWORK_SHARE * len(tonal) or not _steady(tonal)):
            return True
        keypad = sum(f.keypad for f in tonal)
        if keypad >= enough and keypad > KEYPAD_OF_TONAL * len(tonal):
            return False
        if plain >= enough and len(tonal) <= LONG_TONE_SHARE * len(active):
            return True
        return len(self._frames) * FRAME_MS >= LONG_TONE_MS and not self.is_tone()

    def is_tone(self) -> bool:
        """The stretch as it stands is a tone by one of the two rules."""
        active = self._active()
        tonal = [f for f in active if f.tonal]
        keypad = sum(f.keypad for f in tonal)
        if len(tonal) > KEYPAD_SHARE * len(active) and keypad > KEYPAD_OF_TONAL * len(tonal):
            return True
        long = len(self._frames) * FRAME_MS >= LONG_TONE_MS
        return long and len(tonal) > LONG_TONE_SHARE * len(active) and _steady(tonal)

    def recent_voice(self, window: int = 5, enough: int = 3) -> int | None:
        """After a tone: how many frames ago a voice began, if `enough` of the last `window` frames are no tone."""
        recent = self._frames[-window:]
        plain = [i for i, f in enumerate(recent) if f.energy and not f.tonal]
        return len(recent) - plain[0] if len(plain) >= enough else None
