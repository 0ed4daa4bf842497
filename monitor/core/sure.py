"""How sure the ear is of a turn: the share of turns heard like it that a labeller has as well.

"As well" is what the labels are scored by: a start within 250 ms, and half of both in common. The shares were counted
on composed calls (`tests/benchmarks/surety.py` counts them anew); they depend on what the line was like at either end
of the turn and on how far its noise reached over the level at which the ends of speech are told.
"""

from __future__ import annotations

PLAIN, ASKED, UNASKED, ENDED = 0, 1, 2, 3
"""The detector is believed; it is doubted and a second one was asked; it is doubted and none is there; and: it was
believed until the second one was asked, which heard no voice in what went on."""

NOISY_DB = 10.0
"""The noise reaches so far over the level of the trim: about 20 dB under the voice."""

SHARES: dict[int, tuple[float, float, float]] = {
    PLAIN: (0.99, 0.98, 0.97),
    ASKED: (0.95, 0.95, 0.95),
    UNASKED: (0.88, 0.88, 0.88),
    ENDED: (0.2, 0.2, 0.2),
}
"""What was believed -> the share without noise, with some, with much."""

SURE = 0.9
"""Transitions of at least this surety make the score over the sure ones."""


def surety(believed: int, noise_db: float) -> float:
    """How sure an end of a stretch is. `noise_db`: of noise over the level of the trim; 0 without any."""
    return SHARES[believed][0 if noise_db <= 0 else 1 if noise_db < NOISY_DB else 2]


class SureScore:
    """The mean score of the final transitions of which the ear is sure."""

    def __init__(self) -> None:
        self._sum = 0.0
        self.transitions = 0

    def add(self, score: float, sure: float) -> None:
        """A final transition."""
        if sure >= SURE:
            self._sum += score
            self.transitions += 1

    @property
    def summary(self) -> dict[str, float | int | None]:
        """`score` (None without any) and `transitions`."""
        return {"score": self._sum / self.transitions if self.transitions else None, "transitions": self.transitions}
