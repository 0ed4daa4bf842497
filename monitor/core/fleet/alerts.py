"""Fleet alerts as events: a pseudo-call for each agent, `fleet:<agent>@<start>`.

Its zero is the start of the watcher, which `call.started` names (`source` is `fleet`); media time is the time since.
`call.started` is told right before the agent's first alert, so an agent without alerts has no pseudo-call. The start in
the name makes every id unique across restarts.

An alert that another process left open goes on under its id, in its pseudo-call: that ends with the alert. What is
given to another process is told by that one from then on, and whatever is raised here later is in a new pseudo-call.
"""

from __future__ import annotations

import re
from calendar import timegm
from typing import Any, Literal

import msgspec

from monitor.core import events
from monitor.core.events import Alert, AlertRaised, Event
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Standing

SOURCE = "fleet"
RULE = "barge_in_spike"
UNNAMED = "unnamed"
"""The agent of calls that name none."""
_START = re.compile(r"@(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[^@]*$", re.ASCII)


class FleetAlerts:
    """The alerts of one agent. `start`: what makes the name unique; `started_at`: RFC 3339."""

    def __init__(self, agent: str, settings: FleetSettings, start: str, started_at: str) -> None:
        self._agent = agent
        self._set = settings
        self._own = f"{SOURCE}:{agent}@{start}"
        self._started_at = started_at
        self._given = 0
        self._resting: tuple[str, int, int] | None = None
        self._seq = self._told = self._ahead_ms = 0
        self.call = self._own
        self.last: AlertRaised | None = None
        """What was told last of the alert that is open."""

    @property
    def open(self) -> Alert | None:
        """The alert that is open."""
        return None if self.last is None else self.last.alert

    def adopt(self, left: AlertRaised, now_ms: int, epoch_s: float | None) -> None:
        """Go on with what another process `left` open; `now_ms` of this one's time is `epoch_s` of the epoch."""
        if self.last is not None:
            return
        self._resting = self.call, self._seq, self._told
        number = left.alert.id.rpartition("/")[2]
        self.call, self._seq, self._told = left.call, left.seq + 1, int(number) if number.isdecimal() else 1
        begun_s = zero_s(left.call)
        there_ms = 0 if begun_s is None or epoch_s is None else int((epoch_s - begun_s) * 1000)
        self._ahead_ms = max(there_ms, left.known_at_ms) - now_ms
        self.last = left

    def give(self) -> str | None:
        """Another process goes on with what is open. -> the pseudo-call that is its own from now on."""
        if self.last is None:
            return None
        given, self.last = self.call, None
        if self._resting is not None:
            self._come_home()
        else:
            self._given += 1
            self.call, self._seq, self._told = f"{self._own}-{self._given + 1}", 0, 0
        return given

    def raised(self, standing: Standing, now_ms: int) -> list[Event]:
        """An alert is raised, or rises in severity."""
        out = self._begun()
        if self.open is None:
            self._told += 1
        share, usual = _share(standing.barge_ins, standing.turns), _share(standing.expected, standing.turns)
        alert = Alert(
            id=self.open.id if self.open else f"{self.call}/{RULE}/{self._told}",
            rule=RULE,
            severity="critical" if standing.critical else "warning",
            scope="fleet",
            message=self._message(standing, share, usual),
            value=share,
            threshold=None if usual is None else min(1.0, usual * self._set.min_ratio),
            because=(),
            since_ms=self.open.since_ms if self.open else now_ms + self._ahead_ms,
            suppressed=standing.suppressed,
        )
        self.last = AlertRaised(**self._envelope(now_ms), alert=alert)
        return [*out, self.last]

    def cleared(self, now_ms: int) -> list[Event]:
        """The alert is over."""
        if self.open is None:
            return []
        over, self.last = msgspec.structs.replace(self.open, until_ms=now_ms + self._ahead_ms), None
        told: list[Event] = [events.AlertCleared(**self._envelope(now_ms), alert=over)]
        if self._resting is not None:
            told.append(self._end(now_ms))
            self._come_home()
        return told

    def ended(self, now_ms: int) -> list[Event]:
        """The watcher stops."""
        out = self.cleared(now_ms)
        return [*out, self._end(now_ms)] if self._seq else out

    def _end(self, now_ms: int) -> Event:
        summary = {"duration": (now_ms + self._ahead_ms) / 1000, "alerts": {RULE: self._told}}
        cause: Literal["stopped"] = "stopped"
        return events.CallEnded(**self._envelope(now_ms), cause=cause, summary=summary)

    def _come_home(self) -> None:
        if self._resting is not None:
            (self.call, self._seq, self._told), self._resting, self._ahead_ms = self._resting, None, 0

    def _message(self, standing: Standing, share: float | None, usual: float | None) -> str:
        span_s = self._set.long_steps * self._set.step_s
        span = "minute" if span_s == 60 else f"{span_s / 60:g} minutes" if span_s > 60 else f"{span_s:g} s"
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
        at_ms += self._ahead_ms
        return {"call": self.call, "seq": self._seq - 1, "at_ms": at_ms, "known_at_ms": at_ms}


def zero_s(call: str) -> float | None:
    """The start that the name of a pseudo-call tells, in seconds of the epoch."""
    found = _START.search(call)
    try:
        return None if found is None else float(timegm((*map(int, found.groups()), 0, 0, 0)))
    except ValueError:  # no such month
        return None


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
