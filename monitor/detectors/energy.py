"""A detector for tests and golden files: a frame is voice when it is louder than a fixed level. Whole numbers only, so
that it says the same on every machine; useless in noise."""

from __future__ import annotations

import numpy as np

FRAME_MS = 20


class EnergyDetector:
    """Voice is what is over -40 dBFS."""

    def __init__(self, rate: int = 8000) -> None:
        if rate not in (8000, 16000):
            raise ValueError(f"the energy detector takes 8000 or 16000 Hz, not {rate}")
        self._samples = rate * FRAME_MS // 1000
        self._over = self._samples * (32768 // 100) ** 2

    def voiced(self, pcm: bytes) -> bytes:
        """One byte, 0 or 1, for each 20 ms frame of `pcm` (s16le). Raises ValueError for anything but whole frames."""
        size = 2 * self._samples
        if not pcm or len(pcm) % size:
            raise ValueError(f"{len(pcm)} bytes are not a whole number of 20 ms frames ({size} bytes each)")
        rows = np.frombuffer(pcm, "<i2").astype(np.int64).reshape(-1, self._samples)
        return bytes(np.einsum("ij,ij->i", rows, rows) > self._over)

    def reset(self) -> None:
        """Nothing to forget."""
