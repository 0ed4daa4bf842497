"""`[prometheus]`: what `turnwatch serve` tells Prometheus at `/metrics`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from monitor.sinks import Sink


class PrometheusSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`/metrics` on the console port. It is always there, and takes next to nothing while nobody asks.

    `agents`: agents (their ids) that have a label of their own in any case. `max_agents`: so many agents in all have
    one, first come, first served; what the others do counts under `other`. Every agent takes about 85 lines.
    `delay_buckets_s`: upper bounds, in seconds, of the histograms of response and yield time. `score_buckets`: upper
    bounds of the histograms of scores; the last is 1.
    """

    agents: tuple[str, ...] = ()
    max_agents: int = 50
    delay_buckets_s: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
    score_buckets: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0)

    def __post_init__(self) -> None:
        if not 1 <= self.max_agents <= 1000:
            raise ValueError(f"prometheus.max_agents must be from 1 to 1000; got {self.max_agents!r}")
        if len(self.agents) > self.max_agents:
            raise ValueError(f"prometheus.agents names {len(self.agents)} agents, and max_agents is {self.max_agents}")
        for name in ("delay_buckets_s", "score_buckets"):
            bounds = getattr(self, name)
            rising = all(low < high for low, high in pairwise(bounds))
            if not 1 <= len(bounds) <= 40 or not rising or not all(0 < bound < math.inf for bound in bounds):
                raise ValueError(f"prometheus.{name} must be 1 to 40 rising numbers above 0; got {list(bounds)!r}")
        if self.score_buckets[-1] != 1:
            raise ValueError(f"prometheus.score_buckets must end with 1; got {list(self.score_buckets)!r}")


def make(_: PrometheusSettings) -> Iterable[tuple[str, Sink]]:
    """None: this sink needs a port to be asked at, so `turnwatch serve` makes it itself."""
    return ()
