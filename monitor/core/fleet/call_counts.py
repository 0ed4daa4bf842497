"""One call's agent turns, and whether the caller barged in on each: by the rule of `monitor.core.rules.agent_turns`,
fed from the call's events.

Events do not tell of every stall as the call itself knows them: only a turn that ended by one is left out.
"""

from __future__ import annotations

from monitor.core import events
from monitor.core.clock import Span
from monitor.core.events import Event, Turn
from monitor.core.rules.agent_turns import AgentTurns

TYPES = ("call.started", "turn.started", "turn.updated", "turn.ended", "transition.scored", "call.ended")
"""The types of events that this needs of a call."""


class CallCounts:
    """`take` its events in order. -> for each agent turn of which it is known by then: whether there was a confirmed
    barge-in on it."""

    def __init__(self) -> None:
        self.turns = 0
        self.barge_ins = 0
        self._turns = AgentTurns(self._known)
        self._found: list[bool] = []

    def take(self, event: Event) -> list[bool]:
        """The next event of the call."""
        match event:
            case events.TurnStarted(turn=turn):
                self._turns.turn_started(turn)
            case events.TurnUpdated(turn=turn):
                self._turns.turn_updated(turn)
            case events.TurnEnded(turn=turn):
                if turn.ended_by == "stall" and turn.role == "assistant":
                    self._turns.stalled("agent", Span(turn.end_ms - 1, turn.end_ms + 1))
                self._turns.turn_ended(turn)
            case events.TransitionScored(transition=passing) if passing.final:
                to_turn = Turn(index=passing.to_turn, role="user", start_ms=0)  # its index is all that matters
                self._turns.transition(passing, to_turn, to_turn)
            case events.CallEnded():
                self._turns.close()
        if not self._found:
            return self._found
        found, self._found = self._found, []
        return found

    def _known(self, turn: Turn, barge_in: Turn | None) -> None:
        self.turns += 1
        self.barge_ins += barge_in is not None
        self._found.append(barge_in is not None)
