"""Low relevancy: what the agent says has little to do with the conversation."""

from __future__ import annotations

from collections.abc import Collection

from monitor.core.events import RelevancyJudged, RelevancyScored
from monitor.core.rules import Rule
from monitor.core.rules.settings import LowRelevancySettings


class LowRelevancy(Rule):
    """The share of relevant ones among the last judged turns, or the score that a judge of whole conversations gives. A
    turn without a verdict is no verdict."""

    name = "low_relevancy"
    needs_both = False

    def __init__(self, settings: LowRelevancySettings, tracks: Collection[str]) -> None:
        super().__init__(settings, tracks)
        self._set = settings
        self._most = settings.window_turns
        self._verdicts: list[tuple[bool, int]] = []

    def judged(self, event: RelevancyJudged | RelevancyScored) -> None:
        if isinstance(event, RelevancyScored):
            if event.score is not None and event.relevancy.judged >= self._set.min_turns:
                self._weigh(event.at_ms, event.score, "the whole conversation", event.turns)
            return
        if event.verdict == "unscored":
            return
        self._verdicts.append((event.verdict == "yes", event.turn.index))
        del self._verdicts[: -self._most]
        many = len(self._verdicts)
        if many >= self._set.min_turns:
            share = sum(relevant for relevant, _ in self._verdicts) / many
            noes = tuple(index for relevant, index in self._verdicts if not relevant)
            self._weigh(event.at_ms, share, f"the agent's last {many} judged turns", noes)

    def _weigh(self, at: int, score: float, what: str, because: tuple[int, ...]) -> None:
        if score < self._set.warning_score:
            critical = score < self._set.critical_score
            limit = self._set.critical_score if critical else self._set.warning_score
            self.raise_at(
                at,
                "critical" if critical else "warning",
                f"relevancy is {score:.2f} over {what}; {limit:g} is the limit: look at what the caller had said "
                "before these turns",
                score,
                limit,
                because,
            )
        elif score > self._set.clear_score:
            self.release(at)
        else:
            self.steady()
