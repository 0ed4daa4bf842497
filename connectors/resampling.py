"""Lowering a sample rate: the same samples for any chunking, never late by more than the filter's half length.

The filter is a Kaiser-windowed sinc in the manner of Crochiere and Rabiner's polyphase structure: output `n` is the
input around the position `n·M/L`, weighed by a symmetric window of ±2.5 ms (at 8 kHz). Because the window is centred,
its lag is compensated: output 0 lies exactly on input 0. An output leaves as soon as the last input of its window has
come, so nothing waits for more than those 2.5 ms.

The weights are whole numbers held in floats. Products of them with 16-bit samples stay far below 2^53, so every sum
is exact whatever order a BLAS adds in: the output is the same bytes on every machine and for every chunking.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, gcd

import numpy as np
from numpy.typing import NDArray

_SCALE = 1 << 20
_HALF_LENGTH = 20.0
"""Half of the window in output samples: 2.5 ms at 8 kHz."""
_CUTOFF = 0.4625
"""Middle of the transition band as a part of the output rate: 3.7 kHz at 8 kHz."""
_KAISER_BETA = 4.6
"""About 50 dB of attenuation; the transition is then ±300 Hz at 8 kHz: flat to 3.4 kHz, closed at 4 kHz."""
_BLOCK = 40
"""At least so many outputs are computed by one matrix product where that many are at hand."""
_PORTION = 1 << 16
"""So many inputs are worked on at a time: a whole recording in one call costs no more memory than that."""
_MAX_WEIGHTS = 1 << 20

Block = NDArray[np.float64]


_MAX_PRODUCT = 200_000
"""Multiplications made at once: a product this small stays on one thread, which is quicker than sharing it out."""


class UnusualRate(ValueError):
    """The two rates have no small common measure, so the filter would need too many phases."""


@lru_cache(maxsize=8)
def _weights(rate: int, target: int) -> tuple[int, int, int, Block]:
    """For one conversion: `(step_in, step_out, half, matrix)`. `step_in` inputs make `step_out` outputs; column `n` of
    the matrix holds the weights of output `n` of a block over the inputs from `half` before the block's beginning."""
    shared = gcd(rate, target)
    phases, stride = target // shared, rate // shared
    repeats = -(-_BLOCK // phases)
    step_in, step_out = repeats * stride, repeats * phases
    half = ceil(_HALF_LENGTH * rate / target)
    rows = step_in + 2 * half
    if rows * step_out > _MAX_WEIGHTS:
        raise UnusualRate(f"{rate} Hz and {target} Hz have no small common measure")
    offsets = np.arange(rows)[:, None] - half - np.arange(step_out)[None, :] * stride / phases
    width = _HALF_LENGTH * rate / target
    window = np.i0(_KAISER_BETA * np.sqrt(np.clip(1 - (offsets / width) ** 2, 0, None))) * (np.abs(offsets) <= width)
    shape = np.sinc(2 * _CUTOFF * target / rate * offsets) * window
    matrix = np.rint(shape / shape.sum(axis=0) * _SCALE)
    # Each column sums to exactly one, so that a constant input gives a constant output in every phase.
    matrix[np.argmax(matrix, axis=0), np.arange(step_out)] += _SCALE - matrix.sum(axis=0)
    return step_in, step_out, half, matrix


class Downsampler:
    """One stream of samples from `rate` down to `target` (Hz, `target` < `rate`). Raises `UnusualRate`."""

    def __init__(self, rate: int, target: int) -> None:
        self._step_in, self._step_out, self._half, self._matrix = _weights(rate, target)
        shared = gcd(rate, target)
        self._up, self._down = target // shared, rate // shared
        self._begin()

    def _begin(self) -> None:
        # What lies before the first sample is taken as silence; `_first` is the absolute index of `_held[0]`.
        self._held: Block = np.zeros(self._half)
        self._first = -self._half
        self._came = 0
        self._made = 0

    def feed(self, samples: NDArray[np.int16]) -> NDArray[np.int16]:
        """The outputs that `samples` complete."""
        pieces = []
        for begin in range(0, len(samples), _PORTION):
            portion = samples[begin : begin + _PORTION]
            self._came += len(portion)
            self._held = np.concatenate((self._held, portion))
            # The last input of output n is floor(n·M/L) + half.
            pieces.append(self._make(-(-(self._came - self._half) * self._up // self._down)))
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.zeros(0, dtype="<i2")

    def finish(self) -> NDArray[np.int16]:
        """The outputs that still waited for their window, computed as if silence followed; then begins anew. All
        outputs of a stream of N inputs are ceil(N·target/rate)."""
        self._held = np.concatenate((self._held, np.zeros(self._half)))
        rest = self._make(-(-self._came * self._up // self._down))
        self._begin()
        return rest

    def _make(self, until: int) -> NDArray[np.int16]:
        """The outputs [made, until)."""
        pieces: list[Block] = []
        while self._made < until:
            # A block may begin at any output that lies on an input, that is at every multiple of L.
            base, begin = self._made - self._made % self._up, self._made % self._up
            at = base // self._up * self._down - self._half - self._first
            held = (len(self._held) - at - len(self._matrix)) // self._step_in + 1
            whole = min((until - base) // self._step_out, held, max(1, _MAX_PRODUCT // self._matrix.size))
            if begin == 0 and whole > 0:
                windows = self._windows(at, whole)
                pieces.append((windows @ self._matrix).ravel())
                self._made += whole * self._step_out
                continue
            end = min(until - base, self._step_out)
            low = begin * self._down // self._up
            high = (end - 1) * self._down // self._up + 2 * self._half + 1
            pieces.append(self._held[at + low : at + high] @ self._matrix[low:high, begin:end])
            self._made = base + end
        self._forget()
        if not pieces:
            return np.zeros(0, dtype="<i2")
        exact = np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
        return np.clip(np.floor(exact / _SCALE + 0.5), -32768, 32767).astype("<i2")

    def _windows(self, at: int, blocks: int) -> Block:
        """The inputs of `blocks` whole blocks from place `at` of what is held, a row each. Rows overlap in memory, so
        they are copied: BLAS takes only rows that do not."""
        size = self._held.itemsize
        rows: Block = np.ndarray(
            (blocks, len(self._matrix)), np.float64, self._held, at * size, (self._step_in * size, size)
        )
        return rows.copy()

    def _forget(self) -> None:
        """Drop the inputs that no later output needs."""
        spent = self._made // self._up * self._down - self._half - self._first
        if spent > 0:
            self._held = self._held[spent:].copy()
            self._first += spent
