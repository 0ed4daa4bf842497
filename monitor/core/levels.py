"""How loud a stretch is, frame by frame, and where that lets it begin and end.

A detector's hangover depends on its mode *and* on the noise, so no constant takes it off. Instead the end moves back to
the last frame above the stretch's own loud level (95th percentile) minus 33 dB, by at most 200 ms, and the start moves
forward to the first one in the same way.
"""

from __future__ import annotations

from array import array
from math import log10

LOUD_FRAMES = 500
"""The loud level of a stretch comes from its last ten seconds."""

KEPT_FRAMES = 600

LOUD_SHARE = 0.95


class Levels:
    """The energies (sums of squares) of a stretch's frames from frame `first` on; 0 where it had no voice. Memory: the
    newest 500 to 600."""

    __slots__ = ("_energy", "_factor", "_most", "first")

    def __init__(self, first: int, trim_db: float, trim_frames: int) -> None:
        self.first = first
        self._energy = array("q")
        self._factor = 10 ** (-trim_db / 10)
        self._most = trim_frames

    def __len__(self) -> int:
        return len(self._energy)

    def __getitem__(self, frame: int) -> int:
        return self._energy[frame - self.first]

    def since(self, frame: int) -> list[int]:
        """The energies from `frame` on."""
        return self._energy[frame - self.first :].tolist()

    def add(self, energy: int) -> None:
        """The next frame."""
        self._energy.append(energy)
        if len(self._energy) > KEPT_FRAMES:
            self.drop(len(self._energy) - LOUD_FRAMES)

    def extend(self, energies: list[int]) -> None:
        """The next frames."""
        self._energy.extend(energies)
        if len(self._energy) > KEPT_FRAMES:
            self.drop(len(self._energy) - LOUD_FRAMES)

    def drop(self, frames: int) -> None:
        """The first frames do not count any more."""
        del self._energy[:frames]
        self.first += frames

    def _loud(self) -> float:
        ranked = sorted(filter(None, self._energy[-LOUD_FRAMES:]))
        return ranked[int(LOUD_SHARE * (len(ranked) - 1) + 0.5)] * self._factor

    def start(self, start: int, latest: int) -> int:
        """Where a stretch that was taken to begin at `start` does begin: at `latest` at the latest."""
        loud = self._loud()
        latest = min(latest, start + self._most)
        while start < latest and self[start] < loud:
            start += 1
        return start

    def end(self, end: int, earliest: int) -> int:
        """Where a stretch that was taken to end before `end` does end: at `earliest` at the earliest."""
        loud = self._loud()
        earliest = max(earliest, end - self._most)
        while end > earliest and self[end - 1] < loud:
            end -= 1
        return end

    def noise_over(self, noise: int) -> float:
        """By how many dB a noise of this energy lies over the level that the ends are trimmed at."""
        return 10 * log10(max(noise, 1) / max(self._loud(), 1.0))
