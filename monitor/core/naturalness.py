"""The batch form of the turn-taking score, and the words that go with a score.

`TurnTakingNaturalness` judges a finished call from its turns: ours, or anything with a role, a start and a duration.
The formulas are those of `monitor.core.turn_taking`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from monitor.core.events import Role, TransitionKind
from monitor.core.given_turns import field_of, turn_names, turns_of
from monitor.core.turn_taking import (
    CONSISTENCY_MIN_DELAYS,
    check_threshold,
    consistency_score,
    transition_kind,
    transition_score,
    verdict,
    with_consistency,
)

FEW_TURNS = "fewer than two turns are on the timeline"
ONE_SPEAKER = "the speaker never changes, so there is no transition to score"
NO_START = "has a duration but no start time, and silence and overlap are not guessed"

_WORDS: dict[TransitionKind, str] = {"gap": "gap", "user_barge_in": "caller barge-in", "agent_overlap": "agent overlap"}
_NOISE_SECONDS = 1e-9
_LATEST_SECONDS = 1e12


class _Placed(NamedTuple):
    """A turn on the timeline. `name`: its index. Times in seconds."""

    name: int
    role: Role
    start: float
    duration: float
    after_stall: bool


class TurnTakingNaturalness:
    """How natural the turn-taking of a finished call was: the mean score of its transitions, in 0..1.

    Options: `threshold` (0..1, or None for the score alone), `include_reason`, `strict_mode` (the threshold is 1 and a
    score below 1 becomes 0), `verbose_mode` (prints the breakdown), `flaky` (kept for reports, decides nothing).

    After `measure`: `score`; `score_with_consistency` (what DeepEval 4.3 gives as its score); `success` (`score`, not
    the one with consistency, reaches `threshold`; None without a threshold or without a score); `skipped` (nothing to
    score: both scores are None and `reason` says why); `kinds` (transitions of each kind); `score_breakdown`:
    `{"transitions": [{from_turn, to_turn, kind, gap_seconds, score}], "response_delays": {count, mean_seconds,
    spread_seconds, score}}`, spread and its score None under three delays.
    """

    def __init__(
        self,
        threshold: float | None = 0.5,
        include_reason: bool = True,
        strict_mode: bool = False,
        verbose_mode: bool = False,
        flaky: bool = False,
    ) -> None:
        check_threshold(threshold)
        self.threshold: float | None = 1.0 if strict_mode else threshold
        self.include_reason = include_reason
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self._forget()

    def _forget(self) -> None:
        self.score: float | None = None
        self.score_with_consistency: float | None = None
        self.success: bool | None = None
        self.skipped = False
        self.reason: str | None = None
        self.kinds: dict[TransitionKind, int] = {}
        self.score_breakdown: dict[str, Any] | None = None

    def measure(self, turns: Iterable[object]) -> float | None:
        """Score a call; None if there is nothing to score.

        `turns`, in any order: `monitor` turns, or mappings or objects with `role` (`user` or `assistant`), `start_time`
        (or `start`) and `duration`, in seconds. A turn without a duration (one of text, say, or with `audio` False) is
        not on the timeline. Where every turn has an `index`, the breakdown names turns by it, else by their places in
        `turns`; equal starts keep that order. A turn with `after_stall` (what precedes it is unknown) ends no
        transition. Backchannels are turns like others here: leave them out of `turns` for the other reading.

        Raises `TypeError` for no turns at all, `ValueError` for a turn that cannot be one.
        """
        self._forget()
        given = turns_of(turns, '{"role": "user", "start_time": 0.0, "duration": 1.2}')
        names = turn_names([field_of(turn, "index") for turn in given], "call")
        read = [_read(turn, name) for turn, name in zip(given, names, strict=True)]
        missing = [name for name, entry in zip(names, read, strict=True) if entry == NO_START]
        line = sorted((e for e in read if isinstance(e, _Placed)), key=lambda entry: (entry.start, entry.name))
        if missing:
            self._skip(f"turn {missing[0]} {NO_START}", None, missing_start_times=True)
        elif len(line) < 2:
            self._skip(f"{FEW_TURNS} ({len(line)} of {len(given)})", None, timeline_entries=len(line))
        else:
            transitions, delays = _transitions(line)
            if transitions:
                self._judge(transitions, delays)
            else:
                self._skip(ONE_SPEAKER, [])
        self._tell()
        return self.score

    def _skip(self, why: str, transitions: list[Any] | None, **more: Any) -> None:
        self.skipped = True
        self.reason = f"No score: {why}." if self.include_reason else None
        self.score_breakdown = {"transitions": transitions, "response_delays": None, **more}

    def _judge(self, transitions: list[dict[str, Any]], delays: list[float]) -> None:
        mean = math.fsum(t["score"] for t in transitions) / len(transitions)
        spread = statistics.pstdev(delays) if len(delays) >= CONSISTENCY_MIN_DELAYS else None
        self.score, self.success = verdict(mean, self.threshold, self.strict_mode)
        consistent = with_consistency(mean, len(delays), spread or 0.0)
        self.score_with_consistency = verdict(consistent, self.threshold, self.strict_mode)[0]
        self.kinds = dict.fromkeys(_WORDS, 0)
        for transition in transitions:
            self.kinds[transition["kind"]] += 1
        self.score_breakdown = {
            "transitions": transitions,
            "response_delays": {
                "count": len(delays),
                "mean_seconds": statistics.fmean(delays) if delays else None,
                "spread_seconds": spread,
                "score": None if spread is None else consistency_score(spread),
            },
        }
        if self.include_reason:
            worst = min(transitions, key=lambda t: (t["score"], t["from_turn"]))
            self.reason = reason(mean, self.kinds, worst)

    def _tell(self) -> None:
        if not self.verbose_mode:
            return
        print(f"turn-taking naturalness: {self.score} ({self.score_with_consistency} with consistency)")
        print(f"  {self.reason or 'no reason asked for'}")
        for part, figures in (self.score_breakdown or {}).items():
            lines = figures if isinstance(figures, list) else [figures]
            print("\n".join([f"  {part}:", *(f"    {line}" for line in lines)]))


def reason(score: float, kinds: Mapping[TransitionKind, int], worst: Mapping[str, Any]) -> str:
    """A score in words. `worst`: the weakest transition, as in the breakdown."""
    parts = ", ".join(_many(kinds[kind], word) for kind, word in _WORDS.items() if kinds[kind])
    what = {
        "gap": "of silence",
        "user_barge_in": "of the caller talking into the agent's turn",
        "agent_overlap": "of the agent talking into the caller's turn",
    }[worst["kind"]]
    return (
        f"Turn-taking naturalness was {score:.2f} over {_many(sum(kinds.values()), 'transition')} ({parts}). "
        f"The weakest, from turn {worst['from_turn']} to turn {worst['to_turn']}: "
        f"{abs(worst['gap_seconds']):.2f} s {what} ({worst['score']:.2f})."
    )


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _transitions(line: list[_Placed]) -> tuple[list[dict[str, Any]], list[float]]:
    """The transitions of turns in order of time, and the agent's response delays in seconds."""
    out: list[dict[str, Any]] = []
    delays: list[float] = []
    for previous, following in pairwise(line):
        if previous.role == following.role or following.after_stall:
            continue
        gap = _gap(previous, following)
        kind = transition_kind(previous.role, following.role, gap)
        if kind == "gap" and following.role == "assistant":
            delays.append(gap)
        out.append(
            {
                "from_turn": previous.name,
                "to_turn": following.name,
                "kind": kind,
                "gap_seconds": gap,
                "score": transition_score(kind, gap),
            }
        )
    return out, delays


def _gap(previous: _Placed, following: _Placed) -> float:
    """Seconds from the end of one turn to the start of the next, without the noise of binary fractions: exact where the
    times are whole milliseconds, and 0 where it is under a nanosecond."""
    times = (following.start, previous.start, previous.duration)
    start, before, duration = (round(t * 1000) for t in times)
    if (start / 1000, before / 1000, duration / 1000) == times:
        return (start - before - duration) / 1000
    gap = following.start - (previous.start + previous.duration)
    return 0.0 if abs(gap) < _NOISE_SECONDS else gap


def _read(turn: object, name: int) -> _Placed | str | None:
    """The turn on the timeline; None if it is not there; `NO_START` if it ought to be and says not where."""
    role = field_of(turn, "role")
    if role not in ("user", "assistant"):
        raise ValueError(f"turn {name}: role must be 'user' or 'assistant', got {role!r}")
    start = _seconds(turn, name, "start_time", "start")
    duration = _seconds(turn, name, "duration")
    if duration is not None and duration < 0:
        raise ValueError(f"turn {name}: duration must not be negative, got {duration}")
    if duration is None or field_of(turn, "audio") is False:
        return None
    if start is None:
        return NO_START
    return _Placed(name, role, start, duration, bool(field_of(turn, "after_stall")))


def _seconds(turn: object, name: int, *fields: str) -> float | None:
    value = field_of(turn, *fields)
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= _LATEST_SECONDS:
        raise ValueError(f"turn {name}: {fields[0]} must be a number of seconds, got {value!r}")
    return number
