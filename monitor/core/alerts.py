"""Room 10: what a rule sees -> an alert that is raised once, held while it is so, cleared, and cooled down.

    not raised --condition met--> raised --worse--> raised again, same id
        ^                            |
        +---threshold for the end, or the end of the call---+

After a rule was raised, it is not raised anew for its cooldown of media time, counted from when it was raised, unless
it is worse than what was raised last: a warning holds no critical back. What would have been raised meanwhile is
counted, and told with the next alert and its end; if its condition is still met when the cooldown is over, it is raised
then. An alert keeps the highest severity that it has had.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from monitor.core.events import Alert, AlertCleared, AlertRaised
from monitor.core.rules import RANK, Finding, Rule


class Told(NamedTuple):
    """An alert to be told: as which event, when it was true (ms), and the alert."""

    kind: type[AlertRaised] | type[AlertCleared]
    at_ms: int
    alert: Alert


class Standing:
    """How one rule stands on one call. `alert`: the open one. `raised`: how many so far. `cooled_ms`: before this media
    time nothing is raised anew that is no worse than what was last. `counted`: that it would have been raised has been
    counted, and it is not over yet."""

    __slots__ = ("_call", "_cooldown_ms", "_rank", "_rule", "_suppressed", "alert", "cooled_ms", "counted", "raised")

    def __init__(self, call: str, rule: str, cooldown_ms: int) -> None:
        self._call = call
        self._rule = rule
        self._cooldown_ms = cooldown_ms
        self._suppressed = 0
        self._rank = -1  # of what was raised last
        self.alert: Alert | None = None
        self.cooled_ms = 0
        self.counted = False
        self.raised = 0

    def judge(self, rule: Rule, now: int, held_back: bool) -> list[Told]:
        """What follows at media time `now` from what the rule sees. `held_back`: nothing is to be raised."""
        if rule.over_ms is not None:
            self.counted = False
            return self.clear(rule.over_ms)
        found = rule.found
        if found is None or held_back:
            return []
        if self.alert is not None:
            return self._worse(self.alert, found)
        if now < self.cooled_ms and RANK[found.severity] <= self._rank:
            self._suppressed += not self.counted
            self.counted = True
            return []
        return self._raise(found, now)

    def clear(self, at_ms: int) -> list[Told]:
        """It is over since `at_ms`. -> the end of the open alert, if there is one."""
        if self.alert is None:
            return []
        until = max(at_ms, self.alert.since_ms)
        cleared = msgspec.structs.replace(self.alert, until_ms=until)
        self.alert = None
        return [Told(AlertCleared, until, cleared)]

    def _raise(self, found: Finding, now: int) -> list[Told]:
        self.raised += 1
        self._rank = RANK[found.severity]
        self.cooled_ms = now + self._cooldown_ms
        self.alert = Alert(
            id=f"{self._call}/{self._rule}/{self.raised}",
            rule=self._rule,
            severity=found.severity,
            scope="call",
            message=found.message,
            value=found.value,
            threshold=found.threshold,
            because=found.because,
            since_ms=found.at_ms,
            suppressed=self._suppressed,
        )
        self._suppressed, self.counted = 0, False
        return [Told(AlertRaised, found.at_ms, self.alert)]

    def _worse(self, alert: Alert, found: Finding) -> list[Told]:
        if RANK[found.severity] <= RANK[alert.severity]:
            return []
        self._rank = RANK[found.severity]
        self.alert = msgspec.structs.replace(
            alert,
            severity=found.severity,
            message=found.message,
            value=found.value,
            threshold=found.threshold,
            because=found.because,
        )
        return [Told(AlertRaised, found.at_ms, self.alert)]
