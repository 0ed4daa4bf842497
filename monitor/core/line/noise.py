"""The steady noise of a line: a heap of levels that stay where they are.

Eight frames (160 ms) whose levels lie within a few steps are steady. A voice is steady now and then, at this level and
at that; noise always, at one. So a heap that holds most of the steady levels, well under the loud ones, is noise: white
or line noise from its first third of a second on, comfort noise by its pauses, however long the talk between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.core.line.settings import LineSettings
from monitor.core.line.steps import BINS, energy_of

STEADY_FRAMES = 8
STEADY_SHARE = 0.5
"""Noise is steady when so much of what is quieter than speech is."""

VALLEY = 2
"""A heap holds so many times what lies right above it: else it is the lower end of the voice."""


class SteadyNoise:
    """Counts steady levels. `gate`: frames under this energy are noise; 0 while there is none to speak of. `steady`:
    whether most of what lies under speech is that noise. `level`: the middle of the heap, as a step."""

    def __init__(self, settings: LineSettings, floor: int) -> None:
        self._set = settings
        self._floor = floor
        self._counts = np.zeros(BINS, np.int64)
        self._tail = np.zeros(STEADY_FRAMES - 1, np.int64)
        self.gate = self.level = 0
        self.steady = False

    def hear(self, steps: NDArray[np.int64]) -> int:
        """The next frames' steps. -> how many of them are steady."""
        run = np.concatenate((self._tail, steps))
        self._tail = run[1 - STEADY_FRAMES :]
        high = low = run
        for reach in (1, 2, 4):  # the highest and the lowest of 2, 4, 8 frames
            high = np.maximum(high[:-reach], high[reach:])
            low = np.minimum(low[:-reach], low[reach:])
        steady = steps[(high - low <= self._set.steady_steps) & (steps >= self._floor)]
        if len(steady):
            self._counts += np.bincount(steady, minlength=BINS)
        return len(steady)

    def quiet(self) -> None:
        """The next frames are under the floor."""
        self._tail[:] = 0

    def halve(self) -> None:
        """What is past counts half."""
        self._counts >>= 1

    def look(self, top: int, all_counts: NDArray[np.int64]) -> None:
        """Is there noise under the step `top`? `all_counts`: of every frame's step."""
        settings, floor = self._set, self._floor
        self.gate, self.steady = 0, False
        width = settings.width_steps
        counts = self._counts[floor : top + width]
        count = int(counts[:-width].sum())
        if count < settings.min_frames or len(counts) < 2 * width:
            return
        sums = np.concatenate(([0], counts.cumsum()))
        heaps = sums[width:] - sums[:-width]
        at = int(heaps[:-width].argmax())
        heap = int(heaps[at])
        if heap < max(settings.min_frames, settings.min_share * count) or heap < VALLEY * int(heaps[at + width]):
            return
        self.level = floor + at + width // 2
        self.gate = energy_of(min(floor + at + width + settings.margin_steps, top))
        self.steady = count >= STEADY_SHARE * int(all_counts[floor:top].sum())
