"""When a judge that failed is asked again. Pure.

| failure | asked again |
|---|---|
| `rate_limit`, `server`, `timeout`, `unreachable` | after a pause, doubled each time, or as long as the server wishes |
| `broken` | once, at once |
| `refusal` | not: the same request would end the same way |
| `configuration`, `quota` | not, nor anything else: the judge is left alone |
"""

from __future__ import annotations

import math
from typing import Final

from monitor.judges import FailureKind, JudgeFailure

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 8.0

SPREAD_S: Final = 0.25
"""At most so much is added to what a server wishes, lest everybody comes back at the same moment."""

MAX_TRIES: Final = 5

QUOTA_REST_S: Final = 900.0
"""A spent quota may be filled up again: after so long it is tried once more."""

PASSING: Final[frozenset[FailureKind]] = frozenset({"rate_limit", "server", "timeout", "unreachable"})
BILLED: Final[frozenset[FailureKind]] = frozenset({"timeout", "unreachable", "broken", "refusal"})
"""Failures after which the request may be on the bill, whether the server told of tokens or not."""


def pause_s(failure: JudgeFailure, tries: int, jitter: float) -> float | None:
    """How many seconds to wait after the failed try number `tries` (from 1); None: do not try again. `jitter` lies in
    0..1 and is drawn anew each time."""
    if failure.kind not in PASSING or tries >= MAX_TRIES:
        return None
    if failure.retry_after_s is not None:
        return failure.retry_after_s + SPREAD_S * jitter
    return min(LONGEST_PAUSE_S, math.ldexp(FIRST_PAUSE_S, tries - 1)) * (1 + jitter) / 2


def rest_s(failure: JudgeFailure) -> float | None:
    """How many seconds the judge is left alone by everybody after this failure; None: not at all."""
    if failure.kind == "quota":
        return QUOTA_REST_S
    return math.inf if failure.kind == "configuration" else None
