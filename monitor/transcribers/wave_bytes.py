"""Sound as the bytes of a WAV file, and at the rate that Whisper models take. Pure."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MODEL_RATE: Final = 16000
TAPS: Final = 31


def wave_bytes(pcm: bytes, rate: int) -> bytes:
    """A WAV file (RIFF, PCM, mono) of s16le samples."""
    form = struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16)
    data = b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(pcm)) + pcm
    return b"RIFF" + struct.pack("<I", 4 + len(data)) + b"WAVE" + data


def model_samples(pcm: bytes, rate: int) -> NDArray[np.float32]:
    """s16le samples of 8000 or 16000 Hz as floats of 16000 Hz within -1..1.

    8000 Hz is doubled by a zero between each two samples and a windowed-sinc low-pass at 4 kHz (Oppenheim and Schafer,
    Discrete-Time Signal Processing, 4.6)."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)
    if rate == MODEL_RATE:
        return samples
    if rate * 2 != MODEL_RATE:
        raise ValueError(f"sound of {rate} Hz: only 8000 and 16000 Hz are used")
    spread: NDArray[Any] = np.zeros(2 * len(samples), np.float32)
    spread[::2] = samples
    places = np.arange(TAPS) - TAPS // 2
    low_pass = (np.sinc(places / 2) * np.hamming(TAPS)).astype(np.float32)
    if not len(spread):
        return spread
    return np.convolve(spread, low_pass)[TAPS // 2 : TAPS // 2 + len(spread)]
