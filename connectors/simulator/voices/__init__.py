"""The recorded lines that the simulated agent and caller speak, read from the files beside this one.

Where the voices come from, and their licence: README.md and LICENSE in this folder.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RATE = 16000
"""Hz of every recording."""

_FRAME = RATE // 100


class UnknownRecording(LookupError):
    """There is no recording of that name. The message lists those there are."""


class Recording(NamedTuple):
    """One line: s16 mono samples at `RATE`. [`voiced_from_ms`, `voiced_to_ms`): from the first to the last 10 ms in
    which the voice is within 36 dB of its loud parts; outside it is padding."""

    name: str
    samples: NDArray[np.int16]
    voiced_from_ms: int
    voiced_to_ms: int

    @property
    def duration_ms(self) -> int:
        """Length in ms, padding included, rounded down."""
        return len(self.samples) * 1000 // RATE


def names() -> list[str]:
    """The names of all recordings, sorted."""
    return sorted(entry.name.removesuffix(".ogg") for entry in files(__name__).iterdir() if entry.name.endswith(".ogg"))


@cache
def recording(name: str) -> Recording:
    """The recording called `name`. Raises `UnknownRecording`."""
    import soundfile

    entry = files(__name__) / f"{name}.ogg"
    if not entry.is_file():
        raise UnknownRecording(f"there is no recording {name!r}; there are {', '.join(names())}")
    with entry.open("rb") as stream:
        sound, rate = soundfile.read(stream, dtype="int16")
    if rate != RATE or sound.ndim != 1:
        raise ValueError(f"{entry.name} must be {RATE} Hz mono, but has {rate} Hz and {sound.ndim} dimensions")
    start, end = _voiced(sound)
    return Recording(name, sound, start, end)


@cache
def samples(name: str, rate: int) -> NDArray[np.int16]:
    """The whole recording `name` at `rate` Hz, s16 mono. Exact and not causal: through the spectrum of the whole."""
    source = recording(name).samples
    if rate == RATE:
        return source
    length = round(len(source) * rate / RATE)
    spectrum = np.fft.rfft(source.astype(np.float64))
    # `irfft` cuts the spectrum off, or fills it up with nothing, at the new half rate.
    resampled = np.fft.irfft(spectrum, length) * (length / len(source))
    return np.clip(np.rint(resampled), -32768, 32767).astype(np.int16)


def _voiced(sound: NDArray[np.int16]) -> tuple[int, int]:
    frames = sound[: len(sound) // _FRAME * _FRAME].reshape(-1, _FRAME).astype(np.float64)
    levels = np.sqrt(np.mean(frames * frames, axis=1))
    loud = np.flatnonzero(levels > np.percentile(levels, 95) * 10 ** (-36 / 20))
    return int(loud[0]) * 10, int(loud[-1] + 1) * 10
