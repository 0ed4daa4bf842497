"""The fixed rule: so many barge-ins within so much of the agent's speech. Off unless it is asked for."""

from __future__ import annotations

from collections.abc import Collection

from monitor.core.events import Turn
from monitor.core.rules import Rule
from monitor.core.rules.settings import BargeInCountSettings

MOST = 1000
"""So many barge-ins of a window are told apart."""


class BargeInCount(Rule):
    """Time is the agent's: its turns laid end to end, so that waiting callers do not make a window look quiet."""

    name = "barge_in_count"

    def __init__(self, settings: BargeInCountSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._set = settings
        self._window = round(settings.window_s * 1000)
        self._spoken = 0
        self._recent: list[tuple[int, int]] = []  # (ms of the agent's speech, the caller's turn)

    def agent_turn(self, turn: Turn, barge_in: Turn | None) -> None:
        begun, self._spoken = self._spoken, self._spoken + turn.end_ms - turn.start_ms
        if barge_in is not None:
            self._forget(at := begun + barge_in.start_ms - turn.start_ms)
            self._recent = [*self._recent[-MOST:], (at, barge_in.index)]
            if len(self._recent) >= self._set.barge_ins:
                self.raise_at(
                    barge_in.start_ms,
                    "warning",
                    f"the caller barged in {len(self._recent)} times within {self._set.window_s:g} s of the agent's "
                    "speech: look at what the agent said in the turns before these",
                    len(self._recent),
                    self._set.barge_ins,
                    tuple(index for _, index in self._recent),
                )
                return
        self._forget(self._spoken)
        if len(self._recent) <= self._set.clear_barge_ins:
            self.release(turn.end_ms)
        elif len(self._recent) < self._set.barge_ins:
            self.steady()

    def _forget(self, now: int) -> None:
        self._recent = [one for one in self._recent if one[0] > now - self._window]
