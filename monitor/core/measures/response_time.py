"""Response time: how long the agent takes to answer, and how long the caller has been waiting by now."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Transition, Turn
from monitor.core.measures import Measure
from monitor.core.measures.delays import Delays
from monitor.core.measures.reply_wait import ReplyWait


def is_reply(transition: Transition, from_turn: Turn, to_turn: Turn) -> bool:
    """Whether the gap of a final transition is a response time: see `ResponseTime`."""
    if transition.kind != "gap" or to_turn.role != "assistant":
        return False
    return from_turn.ended_by != "stall" and not to_turn.after_stall


class ResponseTime(Measure):
    """The final user→assistant gaps of 0 and more, those that the consistency of the score rests on: `count`, and in
    seconds `p50`, `p95` (see `delays.percentile`), `max`, `mean`, `spread`. Overlaps are no response times. A user turn
    that ended in a stall has no known end, so the gap behind it is left out.
    """

    key = "response_time"

    def __init__(self, tracks: Collection[str]) -> None:
        super().__init__(tracks)
        self._delays = Delays()
        self._wait = ReplyWait()

    def turn_started(self, turn: Turn) -> None:
        self._wait.started(turn)

    def turn_ended(self, turn: Turn) -> None:
        self._wait.ended(turn)

    def stalled(self, track: Track, span: Span) -> None:
        self._wait.stalled(track, span)

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        if is_reply(transition, from_turn, to_turn):
            self._delays.add(transition.gap_ms)

    def waiting_ms(self, now_ms: int) -> int | None:
        since = self._wait.since
        return max(0, now_ms - since) if self.both and since is not None else None

    def figures(self, duration_ms: int) -> dict[str, int | float | None]:
        found = self._delays.figures()
        return found if self.both else {**found, "count": None}
