"""Media time: whole milliseconds of the call, and the half-open spans that everything is measured in."""

from __future__ import annotations

from typing import NamedTuple

FRAME_MS = 20
"""The grid of the core: frame `k` covers [20·k, 20·k + 20) ms of the call."""


class Span(NamedTuple):
    """The half-open stretch of media time [`start`, `end`), in ms."""

    start: int
    end: int

    @property
    def duration(self) -> int:
        """Length in ms."""
        return self.end - self.start

    def overlap(self, other: Span) -> int:
        """How many ms both cover; 0 where they only touch or are apart."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


def seconds(ms: int) -> float:
    """Milliseconds as the seconds that leave the program: the float nearest to a multiple of 0.001."""
    return ms / 1000
