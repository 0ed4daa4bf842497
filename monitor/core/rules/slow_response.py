"""Slow response: the agent's replies take too long."""

from __future__ import annotations

from collections.abc import Collection

from monitor.core.events import Transition, Turn
from monitor.core.measures.delays import percentile
from monitor.core.measures.response_time import is_reply
from monitor.core.rules import Rule
from monitor.core.rules.settings import SlowResponseSettings


class SlowResponse(Rule):
    """The 95th percentile of the agent's last replies, the ones that the measure `response_time` counts. Fewer than ten
    are no rate."""

    name = "slow_response"

    def __init__(self, settings: SlowResponseSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._set = settings
        self._most = settings.window_replies
        self._replies: list[tuple[int, int]] = []

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        if not is_reply(transition, from_turn, to_turn):
            return
        self._replies.append((transition.gap_ms, to_turn.index))
        del self._replies[: -self._most]
        if len(self._replies) < self._set.min_replies:
            return
        took = percentile(sorted(ms for ms, _ in self._replies), 95)
        if took >= self._set.warning_p95_s:
            critical = took >= self._set.critical_p95_s
            limit = self._set.critical_p95_s if critical else self._set.warning_p95_s
            slow = tuple(index for ms, index in self._replies if ms >= limit * 1000)
            self.raise_at(
                to_turn.start_ms,
                "critical" if critical else "warning",
                f"95 of 100 replies come within {took:.1f} s, by the last {len(self._replies)}; {limit:g} s is the "
                "limit: look at what these turns waited for",
                took,
                limit,
                slow,
            )
        elif took < self._set.clear_p95_s:
            self.release(to_turn.start_ms)
        else:
            self.steady()
