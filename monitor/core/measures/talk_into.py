"""What one side says into a silence of the other, and from when on that is talk without an answer."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import NamedTuple

from monitor.core.clock import Span

PAUSE_MS = 4000
"""A pause of the talker's counts for no more than this: behind it nobody speaks, which is dead air or a hold."""

SHARE = 3
"""One part in so many of the limit must be speech: a few hellos into a dead line are no talk."""

_KEPT = 16
"""What may still turn out to lie behind the end of the silence is among the newest spans of talk."""


class Reached(NamedTuple):
    """`at`: when the limit was reached. `since`: the first word. `counted`: ms of talk with pauses, `talked`: ms of
    speech alone, both by then."""

    at: int
    since: int
    counted: int
    talked: int


class TalkInto:
    """Spans of talk that do not overlap, about in order. Memory does not grow with them."""

    __slots__ = ("_counted", "_last", "_since", "_spans", "_talked")

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._since: int | None = None
        self._last: int | None = None  # the end of what is only kept as a sum
        self._counted = self._talked = 0

    def add(self, span: Span) -> None:
        """One more span of talk."""
        if span.duration <= 0:
            return
        self._since = span.start if self._since is None else min(self._since, span.start)
        insort(self._spans, span)
        if len(self._spans) > _KEPT:
            old = self._spans.pop(0)
            self._counted += old.duration + self._pause(self._last, old)
            self._talked += old.duration
            self._last = old.end

    def reached(self, limit: int, until: int, going_on: Iterable[Span] = ()) -> Reached | None:
        """Whether by `until` the talk, its pauses included up to 4 s each, has come to `limit` ms, a third of that
        speech. `going_on`: talk that has not been added, as far as it has come."""
        counted, talked, last, since = self._counted, self._talked, self._last, self._since
        if since is not None and until - since < limit:
            return None
        for span in sorted((*self._spans, *going_on)):
            end = min(span.end, until)
            if span.start >= end:
                break
            since = span.start if since is None else since
            counted += self._pause(last, span)
            wanted = max(limit - counted, -(-limit // SHARE) - talked, 0)
            if span.start + wanted <= end:
                return Reached(span.start + wanted, since, counted + wanted, talked + wanted)
            counted, talked, last = counted + end - span.start, talked + end - span.start, end
        return None

    @staticmethod
    def _pause(last: int | None, span: Span) -> int:
        return 0 if last is None else min(max(0, span.start - last), PAUSE_MS)
