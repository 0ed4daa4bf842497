"""Dead air while it goes on: nobody has spoken for more than four seconds."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import FRAME_MS, Span
from monitor.core.events import Severity, Turn
from monitor.core.measures.stalls import Stalls
from monitor.core.rules import Rule
from monitor.core.rules.moment import Moment
from monitor.core.rules.settings import DeadAirSettings


class DeadAirGoesOn(Rule):
    """The silences that the measure `dead_air` counts, as soon as they are so long, but later before the first word. A
    long stall ends a silence as it does there; what is raised by then stays until somebody is heard."""

    name = "dead_air"

    def __init__(self, settings: DeadAirSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._limits: tuple[tuple[Severity, int], ...] = (
            ("critical", round(settings.critical_after_s * 1000)),
            ("warning", round(settings.warning_after_s * 1000)),
        )
        self._rings = round((settings.warning_at_start_s - settings.warning_after_s) * 1000)
        self._stalls = Stalls()
        self._since = 0
        self._heard = False
        self._turn: Turn | None = None

    def turn_started(self, turn: Turn) -> None:
        self._turn = turn

    def stretch(self, track: Track, span: Span) -> None:
        self._heard = True
        self._since = max(self._since, span.end)

    def stalled(self, track: Track, span: Span) -> None:
        stall = self._stalls.add(track, span)
        if stall is not None:
            self._since = max(self._since, stall.end)
            self.unknown()

    def look(self, moment: Moment) -> None:
        self.wake = None
        if moment.talking is not None:
            self._heard = True
            self.release(moment.talking)
            return
        longer: int | None = None
        for severity, limit in self._limits:
            least = limit if self._heard else limit + self._rings
            if moment.sure - self._since > least:
                self._dead(severity, least)
                break
            longer = least
        if longer is not None:
            # What may be the beginning of a word holds the answer back for some frames.
            self.wake = max(self._since + longer + 1, moment.now + FRAME_MS)

    def _dead(self, severity: Severity, limit: int) -> None:
        since = self._since / 1000
        if self._turn is None:
            why = "nothing has been heard yet; look at whether the agent was to greet"
        elif self._turn.role == "user":
            why = f"turn {self._turn.index} of the caller was the last; look at what the agent waits for"
        else:
            why = f"turn {self._turn.index} of the agent was the last; look at whether the caller was heard"
        self.raise_at(
            self._since + limit,
            severity,
            f"nobody has spoken for {limit / 1000:g} s, since {since:.1f} s: {why}",
            limit / 1000,
            limit / 1000,
            () if self._turn is None else (self._turn.index,),
        )
