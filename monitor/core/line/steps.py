"""Levels on a scale of whole numbers: four steps for each doubling of a frame's energy, 0.6 to 0.9 dB each.

Whole numbers, so that the same frames give the same answers on every machine and in any batches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEPS = 4
BINS = STEPS * 42


def level_steps(energies: list[int]) -> NDArray[np.int64]:
    """Each frame's energy (sum of squares) on the scale of steps; 0 for an energy of less than 4."""
    mantissa, exponent = np.frexp(np.array(energies, np.float64))
    steps = STEPS * exponent + (mantissa * 8).astype(np.int64) - 4
    steps[exponent < 3] = 0
    return steps


def energy_of(step: int) -> int:
    """The least energy that lies on this step."""
    return ((4 + step % STEPS) << (step // STEPS)) >> 3


def quantile(counts: NDArray[np.int64], total: int, share: float) -> int:
    """The step that `share` of the `total` counted frames do not exceed."""
    return int(np.searchsorted(counts.cumsum(), share * total))
