"""Slow yield: the agent talks on when the caller barges in."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Turn
from monitor.core.measures.barge_in import yielded_after
from monitor.core.measures.delays import percentile
from monitor.core.measures.stalls import Stalls
from monitor.core.rules import Rule
from monitor.core.rules.settings import SlowYieldSettings


class SlowYield(Rule):
    """The median yield time of the last confirmed barge-ins. One that the agent ignored counts with all of it."""

    name = "slow_yield"

    def __init__(self, settings: SlowYieldSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._set = settings
        self._stalls = Stalls()
        self._most = settings.window_barge_ins
        self._yields: list[tuple[int, int]] = []

    def stalled(self, track: Track, span: Span) -> None:
        self._stalls.add(track, span)

    def agent_turn(self, turn: Turn, barge_in: Turn | None) -> None:
        took = None if barge_in is None else yielded_after(turn, barge_in, self._stalls)
        if took is None or barge_in is None:
            return
        self._yields.append((took, barge_in.index))
        del self._yields[: -self._most]
        if len(self._yields) < self._set.min_barge_ins:
            return
        median = percentile(sorted(ms for ms, _ in self._yields), 50)
        if median >= self._set.warning_p50_s:
            critical = median >= self._set.critical_p50_s
            self.raise_at(
                turn.end_ms,
                "critical" if critical else "warning",
                f"the agent talks on for {median:.1f} s when the caller barges in, by the last {len(self._yields)}: "
                "look at how interruptions reach it, and at whether its playback is cut",
                median,
                self._set.critical_p50_s if critical else self._set.warning_p50_s,
                tuple(index for _, index in self._yields),
            )
        elif median < self._set.clear_p50_s:
            self.release(turn.end_ms)
        else:
            self.steady()
