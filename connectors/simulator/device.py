"""A sound device that makes no sound: what a caller would hear of the agent, and when. Pure.

It plays what it is given back to back, clears on an interruption, and drops late audio of what was cut, as the
official clients for Python do with an audio interface of one's own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Heard:
    """A stretch of the response `response` on the loudspeaker, [`start`, `end`) in ms."""

    response: int | None
    start: float
    end: float


class VirtualDevice:
    """`buffer_ms`: what it waits before it begins to play. `heard`: everything that was or will be played, in order;
    `dropped_ms`: late audio of a cut response. `unheard_ms`: what a cut took away."""

    def __init__(self, buffer_ms: float = 40.0) -> None:
        self.heard: list[Heard] = []
        self.dropped_ms = 0.0
        self.unheard_ms = 0.0
        self._buffer = buffer_ms
        self._end = float("-inf")
        self._cut: int | None = None
        self._highest: int | None = None

    def play(self, now: float, duration: float, response: int | None) -> None:
        """`duration` ms of `response` came at `now`."""
        if response is not None:
            if self._cut is not None and response <= self._cut:
                self.dropped_ms += duration
                return
            self._highest = response if self._highest is None else max(self._highest, response)
        start = max(now + self._buffer, self._end)
        self._end = start + duration
        last = self.heard[-1] if self.heard else None
        if last is not None and last.response == response and start - last.end < 1:
            last.end = self._end
        else:
            self.heard.append(Heard(response, start, self._end))

    def cut(self, now: float, response: int | None) -> None:
        """An interruption came at `now`; without an id it means everything so far."""
        self._cut = self._highest if response is None else response
        self.unheard_ms += max(0.0, self._end - now)
        self._end = min(self._end, now)
        self.heard = [span for span in self.heard if span.start < now]
        for span in self.heard:
            span.end = min(span.end, now)

    def responses(self) -> list[Heard]:
        """From the start to the end of each response, in the order in which they were first heard."""
        whole: dict[int | None, Heard] = {}
        for span in self.heard:
            known = whole.setdefault(span.response, Heard(span.response, span.start, span.end))
            known.end = span.end
        return list(whole.values())
