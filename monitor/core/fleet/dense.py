"""Many barge-ins: a smoothed, variance-stabilised score, one value a step."""

from __future__ import annotations

from math import sqrt

from monitor.core.fleet.settings import FleetSettings

DISPERSION = 2.0
_WEIGHT_STEPS = 60
"""How many steps the dispersion that is assumed counts for against what is learnt."""
_LEAST, _MOST = 1.0, 10.0


class DenseScore:
    """y ← max(0, 0.8y + 0.2z) with z = 2(√(X+⅜) − √(μ+⅜))/√φ (Anscombe's transformation of a count). Exponentially
    weighted, z's of unit variance give y's of √(0.2/1.8) = ⅓, so that 4/3 lies four of those above the mean."""

    def __init__(self, settings: FleetSettings) -> None:
        self._set = settings
        self._steps = 0.0
        self._squares = 0.0
        self.score = 0.0

    @property
    def dispersion(self) -> float:
        """φ: how much more the counts vary than Poisson's."""
        if self._set.dispersion is not None:
            return self._set.dispersion
        learnt = (_WEIGHT_STEPS * DISPERSION + self._squares) / (_WEIGHT_STEPS + self._steps)
        return min(max(learnt, _LEAST), _MOST)

    def step(self, count: int, expected: float) -> float:
        """A step is over: `count` barge-ins, where `expected` were to be expected. -> y."""
        z = 2 * (sqrt(count + 0.375) - sqrt(expected + 0.375)) / sqrt(self.dispersion)
        weight = self._set.dense_smoothing
        self.score = max(0.0, (1 - weight) * self.score + weight * z)
        return self.score

    def learn(self, count: int, expected: float) -> None:
        """An ordinary step of many teaches how much counts vary (Pearson's χ² ÷ its degrees of freedom). About a week
        of minutes is remembered."""
        if expected <= 0:
            return
        self._steps += 1
        self._squares += min((count - expected) ** 2 / expected, 50.0)
        if self._steps > 10_000:
            self._steps /= 2
            self._squares /= 2
