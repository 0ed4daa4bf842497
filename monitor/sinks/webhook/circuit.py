"""How long a target is left alone that fails.

| state | meaning | then |
|---|---|---|
| closed | it works, or has failed fewer than `open_after` times on end | the pauses grow, from a half second on |
| open | it counts as away | nothing is sent while the pause lasts, however much waits |
| open | it refused: people must put something right | the pauses are long from the first on, and grow |
| half open | the pause is over | one request goes out on trial: an answer closes, a failure opens, for longer |

A pause is shortened by up to a half at random, so that many programs do not come back in step.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half open"]


class Circuit:
    """One target's. Pure: it counts and names pauses; others wait. `spread`: gives numbers from 0 to 1."""

    def __init__(
        self,
        *,
        open_after: int,
        first_rest_s: float,
        longest_rest_s: float,
        refused_rest_s: float,
        refused_longest_rest_s: float,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self.state: State = "closed"
        self._open_after, self._first_s, self._longest_s = open_after, first_rest_s, longest_rest_s
        self._refused_s, self._refused_longest_s = refused_rest_s, refused_longest_rest_s
        self._spread = spread
        self._failures = self._refusals = 0

    def trying(self) -> None:
        """A request goes out."""
        if self.state == "open":
            self.state = "half open"

    def answered(self) -> None:
        """The target works, whatever it says of this request."""
        self._failures = self._refusals = 0
        self.state = "closed"

    def failed(self) -> float:
        """It does not. -> seconds to leave it alone."""
        self._failures += 1
        if self._failures >= self._open_after:
            self.state = "open"
        self._refusals = 0
        return self._rest_s(self._first_s, self._longest_s, self._failures)

    def refused(self) -> float:
        """It works, and wants nothing of this kind until people have put something right. -> seconds to leave it
        alone."""
        self._failures, self.state = 0, "open"
        self._refusals += 1
        return self._rest_s(self._refused_s, self._refused_longest_s, self._refusals)

    def _rest_s(self, first_s: float, longest_s: float, times: int) -> float:
        rest_s = min(longest_s, first_s * 2.0 ** min(times - 1, 60))
        return rest_s * (1.0 - 0.5 * self._spread())
