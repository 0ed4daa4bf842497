"""Room 1 for a track that is delivered ahead of its playing: its queue, played into its lane as time goes on.

Where deliveries were lost on the way to the monitor, the client played something that is not known: for their length,
behind what was queued, the track is unknown, unless a cut silenced it.
"""

from __future__ import annotations

from connectors.inputs import PlayoutPolicy
from monitor.core.clock import Span
from monitor.core.lockstep import Lane
from monitor.core.playout import Heard, Playout

RATE = 8000

MAX_LOSSES = 256
"""So many stretches of lost deliveries may wait for their time; the oldest of more are forgotten."""


class Delivered:
    """One delivered track. `queue`: what the client has in hand."""

    def __init__(self, policy: PlayoutPolicy) -> None:
        self.queue = Playout(policy, RATE)
        self._lost: list[Span] = []

    def lose(self, at: int, until: int) -> None:
        """Deliveries from `at` on, `until` - `at` ms of audio, were lost."""
        self._lost = [*self._lost[1 - MAX_LOSSES :], self.queue.skip(at, until - at)]

    def cut(self, at: int, response: int | None) -> tuple[int, int]:
        """The client was told to stop at `at`. -> from when (ms) on nothing that was queued is heard, and how many ms
        of known audio are silenced by it."""
        before = self.queue.unheard_ms
        silent_from = self.queue.cut(at, response)
        self._lost = [Span(lost.start, min(lost.end, silent_from)) for lost in self._lost if lost.start < silent_from]
        return silent_from, self.queue.unheard_ms - before

    def play(self, until: int, lane: Lane) -> tuple[list[Heard], list[Span]]:
        """Let the track play up to `until` (ms). -> what was heard, and what is unknown."""
        heard, unknown = self.queue.release(until), list[Span]()
        for piece in heard:
            self._fill(piece.at_ms, lane, unknown)
            lane.audio(piece.at_ms, piece.pcm)
        self._fill(until, lane, unknown)
        lane.framer.blank(until, unknown=False)
        return heard, unknown

    def _fill(self, until: int, lane: Lane, unknown: list[Span]) -> None:
        """What is lost up to `until` is unknown."""
        while self._lost and self._lost[0].start < until:
            lost = self._lost[0]
            if span := lane.lose(lost.start, min(lost.end, until)):
                unknown.append(span)
            if lost.end > until:
                return
            del self._lost[0]
