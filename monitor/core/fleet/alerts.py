"""Fleet alerts as events: a pseudo-call for each agent, `fleet:<agent>@<start>`.

Its zero is the start of the watcher, which `call.started` names (`source` is `fleet`); media time is the time since.
`call.started` is told right before the agent's first alert, so an agent without alerts has no pseudo-call. The start in
the name makes every id unique across restarts.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from monitor.core import events
from monitor.core.events import Alert, Event
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Standing

SOURCE = "fleet"
RULE = "barge_in_spike"
UNNAMED = "unnamed"
"""The agent of calls that name none."""


class FleetAlerts:
    """The alerts of one agent. `start`: what makes the name unique; `started_at`: RFC 3339."""

    def __init__(self, agent: str, settings: FleetSettings, start: str, started_at: str) -> None:
        self._agent = agent
        self._set = settings
        self.call = f"{SOURCE}:{agent}@{start}"
        self._started_at = started_at
        self._seq = 0
        self._told = 0
        self.open: Alert | None = None

    def raised(self, standing: Standing, now_ms: int) -> list[Event]:
        """An alert is raised, or rises in severity."""
        out = self._begun()
        if self.open is None:
            self._told += 1
        share, usual = _share(standing.barge_ins, standing.turns), _share(standing.expected, standing.turns)
        self.open = Alert(
            id=self.open.id if self.open else f"{self.call}/{RULE}/{self._told}",
            rule=RULE,
            severity="critical" if standing.critical else "warning",
            scope="fleet",
            message=self._message(standing, share, usual),
            value=share,
            threshold=None if usual is None else min(1.0, usual * self._set.min_ratio),
            because=(),
            since_ms=self.open.since_ms if self.open else now_ms,
            suppressed=standing.suppressed,
        )
        out.append(events.AlertRaised(**self._envelope(now_ms), alert=self.open))
        return out

    def cleared(self, now_ms: int) -> list[Event]:
        """The alert is over."""
        if self.open is None:
            return []
        over, self.open = msgspec.structs.replace(self.open, until_ms=now_ms), None
        return [events.AlertCleared(**self._envelope(now_ms), alert=over)]

    def ended(self, now_ms: int) -> list[Event]:
        """The watcher stops."""
        if self._seq == 0:
            return []
        out = self.cleared(now_ms)
        summary = {"duration": now_ms / 1000, "alerts": {RULE: self._told}}
        cause: Literal["stopped"] = "stopped"
        return [*out, events.CallEnded(**self._envelope(now_ms), cause=cause, summary=summary)]

    def _message(self, standing: Standing, share: float | None, usual: float | None) -> str:
        span_s = self._set.long_steps * self._set.step_s
        span = f"{span_s / 60:g} minutes" if span_s >= 60 else f"{span_s:g} s"
        return (
            f"callers barged in on {standing.barge_ins} of {standing.turns} turns of {self._agent} ({share or 0:.0%}) "
            f"in the last {span}, in {standing.barged} calls; {usual or 0:.0%} is usual: look at what the agent says "
            "there"
        )

    def _begun(self) -> list[Event]:
        if self._seq:
            return []
        return [
            events.CallStarted(
                **self._envelope(0),
                source=SOURCE,
                started_at=self._started_at,
                agent_id=self._agent,
                labels={},
                tracks={},
            )
        ]

    def _envelope(self, at_ms: int) -> dict[str, Any]:
        self._seq += 1
        return {"call": self.call, "seq": self._seq - 1, "at_ms": at_ms, "known_at_ms": at_ms}


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
