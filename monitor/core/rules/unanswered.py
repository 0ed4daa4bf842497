"""Unanswered while it goes on: the caller has been waiting for six seconds, however often he speaks again."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import FRAME_MS, Span
from monitor.core.events import Severity, Turn
from monitor.core.measures.panel import Panel
from monitor.core.measures.stalls import Stalls
from monitor.core.measures.unanswered import Unanswered
from monitor.core.rules import Rule
from monitor.core.rules.moment import Moment
from monitor.core.rules.settings import UnansweredSettings

PAUSE_MS = 2000
"""Shorter silences between a caller's turns are those of somebody who thinks while he talks: they do not add up."""

_FAR = 1 << 60

SHOWN = 8
"""So many unanswered turns are named in an alert, the first and the newest."""


class UnansweredSoFar(Rule):
    """The silence since the first turn of the caller's that nobody answered. His own further words do not end the wait,
    they only are no part of it; of the silences between them those of 2 s and more add up. Only the agent's word is an
    answer. A silence without a word in it is what the measure `unanswered` counts; that one counts each turn by itself.

    A long stall makes a wait unknown: it begins anew. What is raised by then stays until somebody is heard.
    """

    name = "unanswered"

    def __init__(self, settings: UnansweredSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._limits: tuple[tuple[Severity, int], ...] = (
            ("critical", round(settings.critical_after_s * 1000)),
            ("warning", round(settings.warning_after_s * 1000)),
        )
        self._stalls = Stalls()
        self._forget()

    def _forget(self) -> None:
        self._asked: list[int] = []  # the turns that nobody answered, as many as are shown
        self._many = 0
        self._begun = 0  # when the first of them ended
        self._silent = 0  # ms of the silences between them
        self._since: int | None = None  # the silence that goes on

    def attach(self, panel: Panel) -> None:
        self._wait = panel.measure(Unanswered).wait

    def turn_started(self, turn: Turn) -> None:
        if turn.role == "assistant" or not self._asked:
            self._forget()
            self.release(turn.start_ms)
        elif self._since is not None:
            pause, self._since = turn.start_ms - self._since, None
            self._silent += pause if pause >= PAUSE_MS else 0

    def turn_ended(self, turn: Turn) -> None:
        if turn.role != "user" or turn.backchannel:
            return
        if turn.ended_by == "stall" or self._stalls.touch(turn.end_ms, _FAR):
            self._forget()
            self.unknown()
        elif self._wait.since == turn.end_ms:
            if not self._asked:
                self._begun = turn.end_ms
            self._since = turn.end_ms
            self._many += 1
            self._asked = [*self._asked[:1], *self._asked[1:][2 - SHOWN :], turn.index]

    def stalled(self, track: Track, span: Span) -> None:
        stall = self._stalls.add(track, span)
        if stall is not None and self._asked and stall.end >= self._begun:
            self._forget()
            self.unknown()

    def look(self, moment: Moment) -> None:
        self.wake = None
        since = self._since
        if since is None:
            return
        longer: int | None = None
        for severity, limit in self._limits:
            wanted = max(limit - self._silent, min(limit, PAUSE_MS))
            if moment.placed - since >= wanted:
                self._waits(severity, limit, since + wanted, self._silent + wanted)
                break
            longer = wanted
        if longer is not None:
            self.wake = max(since + longer, moment.now + FRAME_MS)

    def _waits(self, severity: Severity, limit: int, at: int, silent: int) -> None:
        again = self._many - 1
        had = f"no reply for {silent / 1000:g} s, since {self._begun / 1000:.1f} s"
        if again:
            often = "again" if again == 1 else f"{again} more times"
            had = (
                f"no reply in {silent / 1000:.1f} s of silence since {self._begun / 1000:.1f} s, and has spoken {often}"
            )
        self.raise_at(
            at,
            severity,
            f"the caller has had {had}: look at what the agent made of turn {self._asked[0]}",
            silent / 1000,
            limit / 1000,
            tuple(self._asked),
        )
