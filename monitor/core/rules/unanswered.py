"""Unanswered while it goes on: the caller has been waiting for six seconds."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import FRAME_MS, Span
from monitor.core.events import Severity, Turn
from monitor.core.measures.panel import Panel
from monitor.core.measures.unanswered import Unanswered
from monitor.core.rules import Rule
from monitor.core.rules.moment import Moment
from monitor.core.rules.settings import UnansweredSettings


class UnansweredSoFar(Rule):
    """The waits that the measure `unanswered` counts, as soon as they are so long. A long stall makes a wait unknown,
    as there; what is raised by then stays until somebody is heard."""

    name = "unanswered"

    def __init__(self, settings: UnansweredSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._limits: tuple[tuple[Severity, int], ...] = (
            ("critical", round(settings.critical_after_s * 1000)),
            ("warning", round(settings.warning_after_s * 1000)),
        )
        self._asked = -1

    def attach(self, panel: Panel) -> None:
        self._wait = panel.measure(Unanswered).wait

    def turn_started(self, turn: Turn) -> None:
        self.release(turn.start_ms)

    def turn_ended(self, turn: Turn) -> None:
        if self._wait.since == turn.end_ms and turn.role == "user":
            self._asked = turn.index

    def stalled(self, track: Track, span: Span) -> None:
        if self._wait.since is None:
            self.unknown()

    def look(self, moment: Moment) -> None:
        self.wake = None
        since = self._wait.since
        if since is None:
            return
        longer: int | None = None
        for severity, limit in self._limits:
            if moment.placed - since >= limit:
                self.raise_at(
                    since + limit,
                    severity,
                    f"the caller has had no reply for {limit / 1000:g} s, since {since / 1000:.1f} s: look at what the "
                    f"agent made of turn {self._asked}",
                    limit / 1000,
                    limit / 1000,
                    (self._asked,),
                )
                break
            longer = limit
        if longer is not None:
            self.wake = max(since + longer, moment.now + FRAME_MS)
