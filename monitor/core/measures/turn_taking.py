"""The turn-taking part of a call's summary."""

from __future__ import annotations

from typing import Any

from monitor.core.naturalness import ONE_SPEAKER, reason
from monitor.core.turn_taking import PlainScore, RunningScore, TurnTakingSettings, verdict


def turn_taking_summary(scores: RunningScore, plain: PlainScore, settings: TurnTakingSettings) -> dict[str, Any]:
    """`score`, `score_with_consistency`, `score_all_turns`, `transitions`, `kinds`, `success`, `reason`, as the batch
    metric gives them with the same options. All are over `scores`, the call's transitions without backchannels;
    `score_all_turns` is over `plain`, and with `count_backchannels` everything is. `plain` must be closed. Figures are
    None where there was nothing to score; `flaky` stands there only when set.
    """
    reading = plain.scores if settings.count_backchannels else scores

    def judged(score: float | None) -> tuple[float | None, bool | None]:
        return (None, None) if score is None else verdict(score, settings.threshold, settings.strict_mode)

    score, success = judged(reading.score)
    told: dict[str, Any] = {
        "score": score,
        "score_with_consistency": judged(reading.score_with_consistency)[0],
        "score_all_turns": judged(plain.scores.score)[0],
        "transitions": reading.transitions,
        "kinds": dict(reading.kinds),
        "success": success,
        "reason": _reason(reading) if settings.include_reason else None,
    }
    return told | ({"flaky": True} if settings.flaky else {})


def _reason(reading: RunningScore) -> str:
    score, worst = reading.score, reading.worst
    if score is None or worst is None:
        return f"No score: {ONE_SPEAKER}."
    weakest = {
        "from_turn": worst.from_turn,
        "to_turn": worst.to_turn,
        "kind": worst.kind,
        "gap_seconds": worst.gap_seconds,
        "score": worst.score,
    }
    return reason(score, reading.kinds, weakest)
