"""Do two channels hold two speakers, or twice the same signal?

A mono recording saved as stereo would be scored as one long overlap. Channels are compared in frames of 20 ms: a frame
counts if either channel is louder than -55 dBFS, and it differs if the difference of the two holds more than 5 % of
their energy. Cross-talk and side tone differ, since they are weaker than their source; a recording that was only
copied, compressed or slightly mis-levelled does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LOUD = 60.0**2
_DIFFERENCE = 0.05
_LEAST_MS = 200
_SHARE = 0.05
_FRAME_MS = 20

Samples = NDArray[np.int16]


class SameSignal:
    """Compares two channels of `rate` Hz as they come. Both are given the same number of samples at a time."""

    def __init__(self, rate: int) -> None:
        self._frame = max(1, rate * _FRAME_MS // 1000)
        self._held: tuple[Samples, Samples] = (np.zeros(0, np.int16), np.zeros(0, np.int16))
        self.differing_ms = 0
        self.same_ms = 0

    def add(self, left: Samples, right: Samples) -> None:
        """The next samples of both channels."""
        left, right = np.concatenate((self._held[0], left)), np.concatenate((self._held[1], right))
        whole = len(left) - len(left) % self._frame
        self._held = (left[whole:], right[whole:])
        if not whole:
            return
        a = left[:whole].reshape(-1, self._frame).astype(np.float32)
        energy_a = np.einsum("ij,ij->i", a, a)
        if np.array_equal(left[:whole], right[:whole]):
            self.same_ms += _FRAME_MS * int(np.count_nonzero(energy_a > _LOUD * self._frame))
            return
        b = right[:whole].reshape(-1, self._frame).astype(np.float32)
        energy_b = np.einsum("ij,ij->i", b, b)
        a -= b
        apart = np.einsum("ij,ij->i", a, a) > _DIFFERENCE * (energy_a + energy_b)
        loud = np.maximum(energy_a, energy_b) > _LOUD * self._frame
        self.differing_ms += _FRAME_MS * int(np.count_nonzero(loud & apart))
        self.same_ms += _FRAME_MS * int(np.count_nonzero(loud & ~apart))

    @property
    def two_speakers(self) -> bool:
        """Enough has been heard to know that the channels are two."""
        return self.differing_ms >= _LEAST_MS and self._differs

    @property
    def same(self) -> bool:
        """What has been heard so far is one signal, and it is enough to say so."""
        return self.same_ms >= _LEAST_MS and not self._differs

    @property
    def _differs(self) -> bool:
        return self.differing_ms >= _SHARE * (self.differing_ms + self.same_ms)
