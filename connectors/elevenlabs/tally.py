"""Notices at a bounded rate: the first of a kind at once, then at most one a second with the count, the rest last.

A line that sends ten thousand damaged frames is told in a few notices, and none of the ten thousand is lost count of.
"""

from __future__ import annotations

from connectors.inputs import Notice, Track

PERIOD_MS = 1000


class _Kind:
    __slots__ = ("count", "message", "told_at")

    def __init__(self) -> None:
        self.count = 0
        self.message = ""
        self.told_at: int | None = None


class Tally:
    """Counts what is to be told. Kinds and tracks are few and the program's own, so there are few counters."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, Track | None], _Kind] = {}
        self._untold = False

    def add(self, kind: str, message: str, track: Track | None = None, count: int = 1) -> None:
        """One more of `kind`; of those that are told together, the first `message` is shown."""
        counter = self._kinds.setdefault((kind, track), _Kind())
        if counter.count == 0:
            counter.message = message
        counter.count += count
        self._untold = True

    def due(self, now: int) -> list[Notice]:
        """What may be told at `now` (ms)."""
        return self._tell(now, all_of_it=False) if self._untold else []

    def rest(self, now: int) -> list[Notice]:
        """Everything that was not told yet: the call is over."""
        return self._tell(now, all_of_it=True)

    def _tell(self, now: int, *, all_of_it: bool) -> list[Notice]:
        told = []
        for (kind, track), counter in self._kinds.items():
            if counter.count and (all_of_it or counter.told_at is None or now - counter.told_at >= PERIOD_MS):
                told.append(Notice(now, kind, counter.message, track, counter.count))
                counter.count, counter.told_at = 0, now
        self._untold = any(counter.count for counter in self._kinds.values())
        return told
