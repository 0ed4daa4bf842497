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


def tone_frame(before: bytes | None, frame: bytes | None, energy: int) -> ToneFrame:
    """Looks at one frame (s16le) and the one before it; None for audio that was never sent. Any rate of 40 ms windows
    with whole 25 Hz bins will do."""
    if frame is None or not energy:
        return ToneFrame(energy, False, False)
    pcm = (before if before is not None else bytes(len(frame))) + frame
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)
    power = np.abs(np.fft.rfft(samples * _window(len(samples)))) ** 2
    power[:2] = 0.0
    total = float(power.sum())
    if total <= 0.0:
        return ToneFrame(energy, False, False)
    first = int(power.argmax())
    low, high = max(0, first - 2), first + 3
    held = float(power[low:high].sum())
    power[low:high] = 0.0
    second = int(power.argmax())
    held += float(power[max(0, second - 2) : second + 3].sum())
    tonal = held > TONAL_POWER * total
    pair = sorted((first * BIN_HZ, second * BIN_HZ))
    keypad = tonal and _near(pair[0], KEYPAD_LOW) and _near(pair[1], KEYPAD_HIGH)
    return ToneFrame(energy, tonal, keypad, tonal and _near(first * BIN_HZ, NETWORK_TONES))


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
