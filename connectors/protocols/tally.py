"""Damage counted, and told as few notices: never one a frame, and never none.

The first of a kind is told at once, the ones after it together, at most once in a period, and what is left at the end.
"""

from __future__ import annotations

from connectors.inputs import Notice, Track

TELL_EVERY_MS = 5000


class _Count:
    __slots__ = ("due", "message", "number")

    def __init__(self) -> None:
        self.due = 0
        self.message = ""
        self.number = 0


class Tally:
    """Counts by kind and track. There are as many counters as there are kinds: they are ours, not the wire's.

    `every_ms`: the period, in ms of media time. Of what is told together the last message is shown; with `keep_first`,
    the first.
    """

    def __init__(self, every_ms: int = TELL_EVERY_MS, *, keep_first: bool = False) -> None:
        self._every, self._keep_first = every_ms, keep_first
        self._counts: dict[tuple[str, Track | None], _Count] = {}
        self.due_ms: int | None = None
        """The media time from which there is something to tell; None while there is nothing."""

    def count(self, kind: str, track: Track | None, message: str, number: int = 1) -> None:
        """`number` more of a kind."""
        entry = self._counts.setdefault((kind, track), _Count())
        if not (self._keep_first and entry.number):
            entry.message = message
        entry.number += number
        self.due_ms = entry.due if self.due_ms is None else min(self.due_ms, entry.due)

    def told(self, now_ms: int) -> list[Notice]:
        """The notices that are due at `now_ms` of media time."""
        return self._notices(now_ms, everything=False) if self.due_ms is not None else []

    def rest(self, now_ms: int) -> list[Notice]:
        """Everything that was not told yet."""
        return self._notices(now_ms, everything=True)

    def _notices(self, now_ms: int, *, everything: bool) -> list[Notice]:
        notices = []
        self.due_ms = None
        for (kind, track), entry in self._counts.items():
            if not entry.number:
                continue
            if entry.due > now_ms and not everything:
                self.due_ms = entry.due if self.due_ms is None else min(self.due_ms, entry.due)
                continue
            notices.append(Notice(at=now_ms, kind=kind, message=entry.message, track=track, count=entry.number))
            entry.number = 0
            entry.due = now_ms + self._every
        return notices
