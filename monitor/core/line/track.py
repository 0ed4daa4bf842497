"""The line of one track: its noise, and whether a detector can be believed on it.

Frames are looked at on a grid, ten at a time at first and fifty later, so that an answer depends on nothing but
the audio. The past counts half after twenty seconds.
"""

from __future__ import annotations

import numpy as np

from monitor.core.clock import FRAME_MS
from monitor.core.line.noise import SteadyNoise
from monitor.core.line.settings import LineSettings
from monitor.core.line.steps import BINS, energy_of, level_steps, quantile

LOOK_FIRST, FIRST_LOOKS = 10, 20
LOOK = 50
HALVE_AT = 1000

EARLY_FRAMES = 40
"""A line that is never quiet in its first frames, and not steady, is doubted before anybody has spoken."""
EARLY_UNQUIET, EARLY_UNSTEADY = 20, 10

UNSTEADY_SHARE, UNSTEADY_MARGIN = 0.1, 6
"""The noise of a line that is never quiet: the level of its quietest tenth, and so many steps more."""

GATE_UNDER_LOUD = 12


class Line:
    """What is known of a track's line by now. `gate`: frames under this energy are noise. `doubtful`: the detector
    cannot be believed."""

    def __init__(self, settings: LineSettings, floor: int, full: float) -> None:
        """`floor`: energies under it are no concern; `full`: the energy of a frame at 0 dBFS."""
        self._set = settings
        self._quiet = floor
        self._floor, self._first = level_steps([floor, int(full * 10 ** (settings.first_dbfs / 10))]).tolist()
        self.noise = SteadyNoise(settings, self._floor)
        self._counts = np.zeros(BINS, np.int64)
        self._total = 0
        self._pending: list[int] = []
        self._looks = 0
        self._undipped = self._unquiet = self._unsteady = 0
        self._hold = 0
        self.loud = 0
        self.gate = 0
        self.doubtful = False
        self.left = LOOK_FIRST
        """So many frames until it looks again."""

    def hear(self, energies: list[int]) -> bool:
        """The next frames, `left` of them at most. -> whether it has looked."""
        self._pending += energies
        self.left -= len(energies)
        if self.left:
            return False
        if max(self._pending) < self._quiet:
            self._nothing()
        else:
            self._look()
        self._looks += 1
        self.left = LOOK_FIRST if self._looks < FIRST_LOOKS else LOOK
        self._pending.clear()
        return True

    def _nothing(self) -> None:
        """Not a frame was over the floor."""
        count = len(self._pending)
        self._counts[0] += count
        self._total += count
        self._undipped = self._unquiet = self._unsteady = 0
        self.noise.quiet()
        self._hold = min(self._hold, self._set.music_hold_ms // FRAME_MS)  # it was no babble, or it is over
        self._judge(count)

    def _look(self) -> None:
        steps = level_steps(self._pending)
        count = len(steps)
        steady = self.noise.hear(steps)
        self._counts += np.bincount(steps, minlength=BINS)
        self._total += count
        if self._total >= HALVE_AT:
            self._counts >>= 1
            self._total = int(self._counts.sum())
            self.noise.halve()
        over = self._counts[self._floor :].cumsum()
        self.loud = self._floor + int(np.searchsorted(over, 0.95 * int(over[-1])))
        spoken = self.loud > self._first
        self.noise.look(self.loud - self._set.under_loud_steps if spoken else self._first, self._counts)
        levels: list[int] = steps.tolist()
        self._undipped = self._without(levels, max(self._floor, self.loud - self._set.dip_steps), self._undipped)
        self._unquiet = self._without(levels, self._floor, self._unquiet)
        self._unsteady = 0 if 2 * steady > count else self._unsteady + count
        self._judge(count)

    def _judge(self, count: int) -> None:
        settings, noise = self._set, self.noise
        spoken = self.loud > self._first
        if not noise.steady:
            if self._unquiet * FRAME_MS >= settings.no_quiet_ms or (
                self._total <= EARLY_FRAMES
                and self._unquiet >= EARLY_UNQUIET
                and self._unsteady >= EARLY_UNSTEADY
                and not spoken
            ):
                self._hold = settings.hold_ms // FRAME_MS + count
            elif self._undipped * FRAME_MS >= settings.no_dip_ms:
                self._hold = max(self._hold, settings.music_hold_ms // FRAME_MS + count)
        self._hold = max(0, self._hold - count)
        self.doubtful = self._hold > 0
        self.gate = noise.gate
        if self.doubtful and not self.gate:
            level = quantile(self._counts, self._total, UNSTEADY_SHARE)
            if level > self._floor:
                step = level + UNSTEADY_MARGIN
                self.gate = energy_of(min(step, self.loud - GATE_UNDER_LOUD) if spoken else step)

    @property
    def unquiet(self) -> bool:
        """It has not been quiet for a second, by now."""
        return self._unquiet * FRAME_MS >= 1000

    @property
    def undipped(self) -> bool:
        """For longer than a voice goes on without a dip there has been none, by now."""
        return self._undipped * FRAME_MS >= self._set.no_dip_ms

    @property
    def quiet_share(self) -> float:
        """How much of the time it is under the floor."""
        return int(self._counts[: self._floor].sum()) / max(1, self._total)

    @staticmethod
    def _without(steps: list[int], low: int, before: int) -> int:
        """For how many frames by now no level has been under `low`."""
        for back, step in enumerate(reversed(steps)):
            if step < low:
                return back
        return before + len(steps)
