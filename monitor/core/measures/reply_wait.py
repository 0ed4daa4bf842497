"""From the end of a caller's turn to whatever comes next: the waits that response time and unanswered turns rest on."""

from __future__ import annotations

from connectors.inputs import Track
from monitor.core.clock import Span
from monitor.core.events import Turn
from monitor.core.measures.stalls import Stalls

_FAR = 1 << 60
_AGENT_TURNS = 8
"""A caller's turn is known to be over a second or two late; the agent has begun no more turns than this by then."""


class ReplyWait:
    """Follows who waits for whom. A wait begins where the caller's turn ends without the agent being heard, and is over
    where anybody speaks next. Backchannels neither begin nor answer one. A turn that ended in a stall or with the call
    begins none, and a wait that touches a long stall is unknown: the reply may have gone unheard.

    Its methods return the wait that is over thereby: a span that can be empty; None if there was none or it is unknown.
    """

    __slots__ = ("_agent", "_caller_turn", "_since", "_stalls")

    def __init__(self) -> None:
        self._caller_turn = -1  # the newest
        self._since: int | None = None
        self._agent: list[Turn] = []
        self._stalls = Stalls()

    @property
    def since(self) -> int | None:
        """Since when in ms the caller has been waiting, as far as is known; None if not."""
        return self._since

    def started(self, turn: Turn) -> Span | None:
        """Somebody speaks."""
        if turn.role == "assistant":
            self._agent = [*self._agent[1 - _AGENT_TURNS :], turn]
        else:
            self._caller_turn = turn.index
        return self._over(turn.start_ms)

    def ended(self, turn: Turn) -> Span | None:
        """A turn is over, its final times known."""
        if turn.role == "assistant":
            self._agent_ended(turn)
            return None
        if turn.backchannel or turn.index < self._caller_turn:
            return None
        if turn.ended_by in ("stall", "call_end") or self._stalls.touch(turn.end_ms, _FAR):
            self._since = None
            return None
        self._since = turn.end_ms
        replies = [t for t in self._agent if t.duration_ms is None or t.end_ms > turn.end_ms]
        return self._over(replies[0].start_ms) if replies else None

    def stalled(self, track: Track, span: Span) -> None:
        """A piece of a track is unknown."""
        stall = self._stalls.add(track, span)
        if stall is not None and self._since is not None and stall.end >= self._since:
            self._since = None

    def close(self, end_ms: int) -> Span | None:
        """The call is over."""
        return self._over(end_ms)

    def _over(self, at: int) -> Span | None:
        since, self._since = self._since, None
        return None if since is None else Span(since, max(since, at))

    def _agent_ended(self, turn: Turn) -> None:
        for place, known in enumerate(self._agent):
            if known.index == turn.index:
                self._agent[place] = turn
                if turn.backchannel:
                    del self._agent[place]
                return
