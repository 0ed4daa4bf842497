"""Unanswered: a caller's turn with no reply for six seconds."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import Span, seconds
from monitor.core.events import Turn
from monitor.core.measures import Measure
from monitor.core.measures.reply_wait import ReplyWait

UNANSWERED_MS = 6000


class Unanswered(Measure):
    """`count`: user turns behind which nobody spoke for 6 s or more, whatever came then: a late reply, the caller again
    or the end of the call. A caller who speaks on sooner has not finished asking, and the next turn counts by itself.
    `longest`: the longest such wait, in seconds.
    """

    key = "unanswered"

    def __init__(self, tracks: Collection[str]) -> None:
        super().__init__(tracks)
        self.wait = ReplyWait()
        """Who waits for whom, for those who cannot wait for the end of it."""
        self._count = 0
        self._longest = 0

    def turn_started(self, turn: Turn) -> None:
        self._over(self.wait.started(turn))

    def turn_ended(self, turn: Turn) -> None:
        self._over(self.wait.ended(turn))

    def stalled(self, track: Track, span: Span) -> None:
        self.wait.stalled(track, span)

    def figures(self, duration_ms: int) -> dict[str, int | float | None]:
        self._over(self.wait.close(duration_ms))
        if not self.both:
            return {"count": None, "longest": None}
        return {"count": self._count, "longest": seconds(self._longest) if self._count else None}

    def _over(self, wait: Span | None) -> None:
        if wait is not None and wait.duration >= UNANSWERED_MS:
            self._count += 1
            self._longest = max(self._longest, wait.duration)
