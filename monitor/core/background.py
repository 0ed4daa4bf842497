"""What a track sounds like when nobody speaks on it: the level of a steady background, if it has one.

A detector takes comfort noise, babble and strong noise for voice. Such a background shows in the levels: beside those
of speech, which spread over 30 dB, stands a heap of frames of nearly one level. Where that heap holds a good part of
all frames and lies well under the loud ones, frames near it are not speech, whatever the detector says. A clean line
has no such heap above -55 dBFS, and nothing changes for it.

Levels are counted in steps of a quarter of a power of two (0.6 to 1 dB), in whole numbers, with the past counting half
after twenty seconds.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from operator import sub

import msgspec

STEPS = 4
BINS = STEPS * 42
HALVE_AT = 1000
"""Frames counted before all counts are halved: twenty seconds."""
LOOK_EVERY = 10


class BackgroundSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a heap of levels is a background. `min_share`: it holds at least this share of the frames counted;
    `width_steps`: how wide a heap is; `under_loud_steps`: how far it lies under the loud frames at least;
    `margin_steps`: how far over its upper edge speech begins; `min_frames`: voiced frames counted before anything is
    said.

    A step is 0.75 dB on average. The whole group set to null switches the gate off."""

    min_share: float = 0.25
    width_steps: int = 6
    under_loud_steps: int = 16
    margin_steps: int = 2
    min_frames: int = 100


def level_step(energy: int) -> int:
    """A frame's energy (sum of squares) on the scale of steps: 4 for each doubling."""
    bits = energy.bit_length()
    return STEPS * bits + ((energy >> (bits - 3)) & 3) if bits > 2 else 0


class Background:
    """The background of one track, frame by frame."""

    def __init__(self, settings: BackgroundSettings, floor: int) -> None:
        """`floor`: energies under it are no concern of the gate."""
        self._set = settings
        self._floor = level_step(floor)
        self._counts = array("H", bytes(2 * BINS))
        self._total = 0
        self._since = 0
        self._highest = 0
        self.gate = 0
        """Frames under this energy belong to the background; 0 while there is none to speak of."""

    def gates(self, energies: list[int]) -> list[int]:
        """Frames have come. -> for each the gate that holds for it."""
        gates: list[int] = []
        while len(gates) < len(energies):
            done = len(gates)
            part = energies[done : done + LOOK_EVERY - self._since]
            counts = self._counts
            steps = list(map(level_step, part))
            self._highest = max(self._highest, *steps)
            for step in steps:
                counts[step] += 1
            gates += [self.gate] * len(part)
            self._since += len(part)
            self._total += len(part)
            if self._since == LOOK_EVERY:
                self._since = 0
                self._forget()
                self.gate = gates[-1] = self._look()
        return gates

    def _forget(self) -> None:
        if self._total >= HALVE_AT:
            self._counts = array("H", [count >> 1 for count in self._counts])
            self._total = sum(self._counts)

    def _look(self) -> int:
        settings, counts = self._set, self._counts
        if self._total < settings.min_frames:
            return 0
        rest, loud = self._total // 20, self._highest + 1
        while rest >= 0:
            loud -= 1
            rest -= counts[loud]
        top = loud - 1 - settings.under_loud_steps
        width, least = settings.width_steps, settings.min_share * self._total
        if top <= self._floor:
            return 0
        levels = counts[self._floor : max(top, self._floor + width)]
        if width * max(levels) < least:
            return 0
        sums = list(accumulate(levels, initial=0))
        heaps = list(map(sub, sums[width:], sums))
        most = max(heaps)
        if most < least:
            return 0
        edge = min(self._floor + heaps.index(most) + width + settings.margin_steps, loud - 1 - 2 * STEPS)
        return ((4 + edge % STEPS) << (edge // STEPS)) >> 3
