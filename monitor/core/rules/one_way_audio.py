"""One-way audio while it goes on: one side has not been heard for thirty seconds of the other's talk."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import TRACKS, Track
from monitor.core.clock import Span
from monitor.core.events import ROLE_OF_TRACK, Role, Severity, Turn
from monitor.core.measures.one_way_audio import OneWayAudio
from monitor.core.measures.panel import Panel
from monitor.core.measures.talk_into import Reached
from monitor.core.rules import Rule
from monitor.core.rules.moment import Moment
from monitor.core.rules.settings import OneWayAudioSettings


class OneWayGoesOn(Rule):
    """The silences that the measure `one_way_audio` counts, as soon as the other has talked into them for so long."""

    name = "one_way_audio"

    def __init__(self, settings: OneWayAudioSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._limits: tuple[tuple[Severity, int], ...] = (
            ("critical", round(settings.critical_after_s * 1000)),
            ("warning", round(settings.warning_after_s * 1000)),
        )
        self._going_on: dict[Role, Turn] = {}
        self._deaf: Track | None = None
        self._latest = -1

    def attach(self, panel: Panel) -> None:
        self._measure = panel.measure(OneWayAudio)

    def turn_started(self, turn: Turn) -> None:
        self._latest = max(self._latest, turn.index)
        if self._deaf is not None and ROLE_OF_TRACK[self._deaf] == turn.role:
            self._deaf = None
            self.release(turn.start_ms)

    def turn_updated(self, turn: Turn) -> None:
        self._going_on[turn.role] = turn

    def stalled(self, track: Track, span: Span) -> None:
        if self._deaf == track and self._reached(track, self._limits[-1][1], 1 << 60) is None:
            self.unknown()

    def look(self, moment: Moment) -> None:
        for track in TRACKS:
            if self._deaf not in (None, track):
                continue
            for severity, limit in self._limits:
                reached = self._reached(track, limit, moment.placed)
                if reached is not None:
                    self._deaf = track
                    self._one_way(track, severity, reached, limit)
                    break

    def _reached(self, track: Track, limit: int, until: int) -> Reached | None:
        going_on = self._going_on.get("assistant" if track == "caller" else "user")
        return self._measure.talked_into(track, limit, until, going_on)

    def _one_way(self, track: Track, severity: Severity, reached: Reached, limit: int) -> None:
        other = "agent" if track == "caller" else "caller"
        silent = (reached.at - reached.since) / 1000
        self.raise_at(
            reached.at,
            severity,
            f"the {track} has not been heard for {silent:.1f} s, since {reached.since / 1000:.1f} s, and the {other} "
            f"has talked for {reached.talked / 1000:.1f} s of that: look at whether the {track}'s audio comes through, "
            "and at whether both hear each other",
            reached.counted / 1000,
            limit / 1000,
            (self._latest,),
        )
