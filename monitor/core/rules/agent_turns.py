"""Did the caller barge in on this turn of the agent? Decided once for each, in order, as soon as it is known.

A *confirmed barge-in* is a turn of the caller, no backchannel, that begins while the agent is heard, speaks over it for
0.2 s or more, and holds the floor for 0.5 s or makes the agent stop within 2 s. Echoes are gone before turns are made.
Exposure is the agent's turns: one that nobody barged in on counts as well, once no turn of the caller can begin in it
any more. Where a stall touches it, it is not known whether anybody did, and it counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Transition, Turn
from monitor.core.measures.barge_in import MIN_OVERLAP_MS
from monitor.core.measures.stalls import Stalls

HOLDS_MS = 500
STOPS_WITHIN_MS = 2000
_MOST = 64
"""So many turns of the agent may be undecided, and so many of the caller's begin in one; ordinary calls have two."""


class _Open:
    """A turn of the agent, the caller's turns that began in it, and which of those are known to be no backchannels."""

    __slots__ = ("alone", "callers", "sure", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.callers: dict[int, Turn] = {}
        self.sure: set[int] = set()
        self.alone = False  # no more turns of the caller can begin in it

    def barge_in(self) -> tuple[Turn | None, bool]:
        """The first confirmed barge-in, and whether that is the last word."""
        doubt = False
        for caller in self.callers.values():
            overlap = self.turn.end_ms - caller.start_ms
            over = caller.ended_by is not None
            if overlap < MIN_OVERLAP_MS:
                continue
            if not over and caller.index not in self.sure:
                doubt = True
            elif overlap <= STOPS_WITHIN_MS or (caller.duration_ms or 0) >= HOLDS_MS:
                return caller, True
            else:
                doubt = doubt or not over
        return None, self.alone and not doubt


class AgentTurns:
    """Hears what rules hear. `tell` is given each turn of the agent, and the barge-in on it or None."""

    __slots__ = ("_open", "_stalls", "_tell")

    def __init__(self, tell: Callable[[Turn, Turn | None], None]) -> None:
        self._tell = tell
        self._open: list[_Open] = []
        self._stalls = Stalls()

    def turn_started(self, turn: Turn) -> None:
        """Turns begin in order: what has ended before this one can be barged in on no more."""
        for one in self._open:
            if one.turn.ended_by is not None and one.turn.end_ms <= turn.start_ms:
                one.alone = True
            elif turn.role == "user" and len(one.callers) < _MOST:  # the first that barged in is the one that counts
                one.callers[turn.index] = turn
        self._decide()
        if turn.role == "assistant":
            self._open = [*self._open[1 - _MOST :], _Open(turn)]

    def turn_updated(self, turn: Turn) -> None:
        """A caller may hold the floor before its turn has ended."""
        self._caller(turn)

    def turn_ended(self, turn: Turn) -> None:
        """Either side's."""
        if turn.role == "user":
            self._caller(turn)
            return
        for one in self._open:
            if one.turn.index == turn.index:
                if turn.backchannel:
                    self._open.remove(one)
                else:
                    one.turn = turn
                    within = {i: c for i, c in one.callers.items() if c.start_ms < turn.end_ms}
                    one.alone = len(within) < len(one.callers)
                    one.callers = within
                break
        self._decide()

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        """Both turns of a final transition are known to be turns."""
        for one in self._open:
            if to_turn.index in one.callers:
                one.sure.add(to_turn.index)
        self._decide()

    def stalled(self, track: Track, span: Span) -> None:
        """A piece of a track is unknown."""
        self._stalls.add(track, span)

    def close(self) -> None:
        """The call is over."""
        for one in self._open:
            one.alone = True
        self._decide()

    def _caller(self, turn: Turn) -> None:
        for one in self._open:
            if turn.index in one.callers:
                if turn.backchannel:
                    del one.callers[turn.index]
                else:
                    one.callers[turn.index] = turn
        if turn.role == "user":
            self._decide()

    def _decide(self) -> None:
        while self._open and self._open[0].turn.ended_by is not None:
            one = self._open[0]
            barge_in, known = one.barge_in()
            if not known:
                return
            del self._open[0]
            if barge_in is not None or not self._stalls.touch(one.turn.start_ms, one.turn.end_ms):
                self._tell(one.turn, barge_in)
