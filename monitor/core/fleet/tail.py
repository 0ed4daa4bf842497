"""How likely are so many barge-ins or more, where counts vary more than Poisson's?"""

from __future__ import annotations

from math import exp, lgamma, log

_ENOUGH = 1e-16


def tail(count: int, mean: float, dispersion: float) -> float:
    """P(X ≥ `count`) for a negative binomial X of this mean whose variance is `dispersion` × mean; Poisson's for a
    dispersion of 1. In 0..1; exact to about 1e-12 of itself.

    With r = mean/(φ−1), P(X = k) = Γ(k+r)/(k! Γ(r)) · φ^−r · ((φ−1)/φ)^k.
    """
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    if count <= mean:
        # Below the mean the whole of the smaller side is summed, downwards from its largest term.
        return max(0.0, 1.0 - _sum(count - 1, mean, dispersion, -1))
    return min(1.0, _sum(count, mean, dispersion, +1))


def _sum(start: int, mean: float, dispersion: float, way: int) -> float:
    """P(X = `start`) and its neighbours up (`way` 1) or down (-1), as far as they count."""
    spread = dispersion - 1
    if spread < 1e-9:
        first, shape, step = start * log(mean) - mean - lgamma(start + 1), 0.0, 0.0
    else:
        shape, step = mean / spread, spread / dispersion
        first = lgamma(start + shape) - lgamma(start + 1) - lgamma(shape) - shape * log(dispersion) + start * log(step)
    term, total, k = exp(first), 0.0, start
    while k >= 0 and term > _ENOUGH * total:
        total += term
        if way > 0:
            term *= (k + shape) / (k + 1) * step if step else mean / (k + 1)
        else:
            below = k - 1 + shape
            term *= k / (below * step) if step and below > 0 else k / mean if not step else 0.0
        k += way
    return total
