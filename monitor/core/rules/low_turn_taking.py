"""Low turn taking: the floor has been passing badly for a while."""

from __future__ import annotations

from collections.abc import Collection

from monitor.core.events import Transition, Turn
from monitor.core.rules import Rule
from monitor.core.rules.settings import LowTurnTakingSettings

NAMED = 5
"""So many of the worst transitions are named in an alert."""


class LowTurnTaking(Rule):
    """The mean score of the last final transitions: the running score without what is long past."""

    name = "low_turn_taking"

    def __init__(self, settings: LowTurnTakingSettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._set = settings
        self._most = settings.window_transitions
        self._scores: list[tuple[float, int]] = []

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        self._scores.append((transition.score, to_turn.index))
        del self._scores[: -self._most]
        many = len(self._scores)
        if many < self._set.min_transitions:
            return
        mean = sum(score for score, _ in self._scores) / many
        if mean < self._set.warning_score:
            critical = mean < self._set.critical_score
            limit = self._set.critical_score if critical else self._set.warning_score
            worst = sorted(self._scores)[:NAMED]
            self.raise_at(
                to_turn.start_ms,
                "critical" if critical else "warning",
                f"turn taking scores {mean:.2f} over the last {many} changes of speaker; {limit:g} is the limit: look "
                "at how these turns began",
                mean,
                limit,
                tuple(sorted(index for _, index in worst)),
            )
        elif mean > self._set.clear_score:
            self.release(to_turn.start_ms)
        else:
            self.steady()
