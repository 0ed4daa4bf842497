"""Feed gap while it goes on: nothing comes of a track."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Severity
from monitor.core.rules import Rule
from monitor.core.rules.gaps import Gaps
from monitor.core.rules.moment import Moment
from monitor.core.rules.settings import FeedGapSettings


class FeedGap(Rule):
    """The whole of a hole, of either track. It is over when no track is in one any more."""

    name = "feed_gap"
    needs_both = False
    through_gaps = True

    def __init__(self, settings: FeedGapSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._limits: tuple[tuple[Severity, int], ...] = (
            ("critical", round(settings.critical_after_s * 1000)),
            ("warning", round(settings.warning_after_s * 1000)),
        )
        self._gaps = Gaps()

    def stalled(self, track: Track, span: Span) -> None:
        self._gaps.add(track, span)

    def look(self, moment: Moment) -> None:
        self.wake = None
        on = self._gaps.on(moment.now)
        if not on:
            self.release(self._gaps.latest_end)
            return
        since = min(gap.start for gap in on.values())
        longer: int | None = None
        for severity, limit in self._limits:
            if moment.now - since >= limit:
                self._missing(" and ".join(on), severity, since, limit)
                break
            longer = limit
        self.wake = None if longer is None else since + longer

    def _missing(self, tracks: str, severity: Severity, since: int, limit: int) -> None:
        self.raise_at(
            since + limit,
            severity,
            f"no {tracks} audio has come for {limit / 1000:g} s, since {since / 1000:.1f} s: what is missing counts as "
            "unknown; look at the connection",
            limit / 1000,
            limit / 1000,
        )
