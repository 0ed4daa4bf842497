"""The agent talks over the caller: several of its last turns began before the caller had finished."""

from __future__ import annotations

from collections.abc import Collection

from monitor.core.events import Transition, Turn
from monitor.core.measures.barge_in import MIN_OVERLAP_MS
from monitor.core.rules import Rule
from monitor.core.rules.settings import AgentTalksOverSettings


class AgentTalksOver(Rule):
    """Over the agent's last turns, backchannels left out. An overlap is what the measure `barge_in.agent` counts."""

    name = "agent_talks_over"

    def __init__(self, settings: AgentTalksOverSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._set = settings
        self._turns: list[int] = []
        self._over: dict[int, int] = {}  # the agent's turn -> ms of overlap

    def turn_started(self, turn: Turn) -> None:
        if turn.role == "assistant":
            self._turns.append(turn.index)
            if len(self._turns) > self._set.window_turns:
                self._over.pop(self._turns.pop(0), None)
            self._weigh(turn.start_ms)

    def turn_ended(self, turn: Turn) -> None:
        if turn.backchannel and turn.index in self._turns:
            self._turns.remove(turn.index)

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        if transition.kind == "agent_overlap" and -transition.gap_ms >= MIN_OVERLAP_MS and to_turn.index in self._turns:
            self._over[to_turn.index] = -transition.gap_ms
            self._weigh(to_turn.start_ms)

    def _weigh(self, at: int) -> None:
        many, wanted = len(self._over), self._set.warning_overlaps
        if many >= wanted:
            critical = many >= self._set.critical_overlaps
            longest = max(self._over.values()) / 1000
            self.raise_at(
                at,
                "critical" if critical else "warning",
                f"the agent began {many} of its last {len(self._turns)} turns while the caller was speaking, for up to "
                f"{longest:.1f} s: look at how soon it takes the caller to have finished",
                many,
                self._set.critical_overlaps if critical else wanted,
                tuple(sorted(self._over)),
            )
        elif many <= self._set.clear_overlaps:
            self.release(at)
        else:
            self.steady()
