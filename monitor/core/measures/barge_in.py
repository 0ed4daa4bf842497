"""Barge-ins by party, and how the agent takes the caller's: yield time and recovery time."""

from __future__ import annotations

from collections.abc import Collection

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Transition, Turn
from monitor.core.measures import Measure
from monitor.core.measures.delays import Delays
from monitor.core.measures.stalls import Stalls

MIN_OVERLAP_MS = 200
"""A shorter overlap is a hand-over, and no barge-in."""


def yielded_after(agent: Turn, caller: Turn, stalls: Stalls) -> int | None:
    """For how long in ms the agent talked on when the caller barged in. None where it is unknown how long it would
    have: where the feed stalled or the call ended over it."""
    if agent.ended_by in ("stall", "call_end") or stalls.touch(caller.start_ms, agent.end_ms):
        return None
    return agent.end_ms - caller.start_ms


class BargeIn(Measure):
    """`user`, `agent`: final transitions of kind `user_barge_in` and `agent_overlap` that overlap for 200 ms or more,
    so they may be fewer than the kinds under `turn_taking`. `backchannels`: turns of either party that were one.

    `yield_p50`, seconds: from the start of a caller's barge-in to the agent's last voiced frame, that is, for how long
    the agent talked on; a barge-in that the agent ignored counts with all of it. `recovery_p50`, seconds: where the
    agent stopped before the caller had finished, from the caller's last word to the agent's next.
    """

    key = "barge_in"

    def __init__(self, tracks: Collection[str]) -> None:
        super().__init__(tracks)
        self._user = 0
        self._agent = 0
        self._backchannels = 0
        self._yields = Delays()
        self._recoveries = Delays()
        self._stalls = Stalls()
        self._stopped: int | None = None  # when the agent stopped for a barge-in that it has not come back from

    def turn_ended(self, turn: Turn) -> None:
        self._backchannels += turn.backchannel

    def stalled(self, track: Track, span: Span) -> None:
        if self._stalls.add(track, span) is not None:
            self._stopped = None

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        overlap = -transition.gap_ms
        if to_turn.role == "user":
            self._stopped = None
            if transition.kind == "user_barge_in" and overlap >= MIN_OVERLAP_MS:
                self._user += 1
                self._barged_in(from_turn, to_turn)
            return
        self._agent += transition.kind == "agent_overlap" and overlap >= MIN_OVERLAP_MS
        stopped, self._stopped = self._stopped, None
        if stopped is not None and transition.kind == "gap" and from_turn.end_ms >= stopped:
            self._recoveries.add(transition.gap_ms)

    def _barged_in(self, agent: Turn, caller: Turn) -> None:
        took = yielded_after(agent, caller, self._stalls)
        if took is not None:
            self._yields.add(took)
            self._stopped = agent.end_ms

    def figures(self, duration_ms: int) -> dict[str, int | float | None]:
        if not self.both:
            return dict.fromkeys(("user", "agent", "backchannels", "yield_p50", "recovery_p50"))
        return {
            "user": self._user,
            "agent": self._agent,
            "backchannels": self._backchannels,
            "yield_p50": self._yields.percentile(50),
            "recovery_p50": self._recoveries.percentile(50),
        }
