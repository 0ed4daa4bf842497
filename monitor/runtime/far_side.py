"""Whether somebody far away is worth asking: a judge or a transcriber, for all calls of a process.

| what happens | then |
|---|---|
| it is out of reach, fails or is silent, `OPEN_AFTER` times one after the other | it is left alone for a rest |
| the rest is over | one question goes through on trial; if it fails too, the next rest is twice as long |
| it answers, be it with a refusal or nonsense | it is asked as before |
| its quota is spent | it is left alone for as long as `monitor.runtime.patience` says |
| the key, the model or the address is no good | it is asked no more |

Requests that were on their way together and fail together count once. The log is told when trouble begins and when it
is over, and not of every question in between.
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from monitor.judges import FailureKind, JudgeFailure
from monitor.runtime.awaited import Clock
from monitor.runtime.patience import rest_s

OPEN_AFTER: Final = 3
FIRST_REST_S: Final = 2.0
LONGEST_REST_S: Final = 300.0

REMIND_S: Final = 600.0
"""Trouble that comes and goes is told again after so long at the earliest."""

AWAY: Final[frozenset[FailureKind]] = frozenset({"server", "timeout", "unreachable"})

ADVICE: Final[dict[FailureKind, str]] = {
    "server": "the fault is on its side; it is asked again by itself",
    "timeout": "it is down, or too slow for deadline_s; it is asked again by itself",
    "unreachable": "it is asked again by itself",
    "rate_limit": "set max_requests_per_minute, or a smaller max_in_flight, if it goes on",
    "broken": "choose another model if it goes on",
}
"""What to do, beside what the failure itself says."""


class LeftAlone(NamedTuple):
    """Nobody is asked now. `until_mended`: by people, so not in a while by itself. `reason`: why, for people."""

    until_mended: bool
    reason: str


class FarSide:
    """What is known of it. `who`: as the log names it; `loss`: what becomes of the questions that it does not
    answer."""

    def __init__(self, who: str, loss: str, log: logging.Logger, clock: Clock) -> None:
        self._who, self._loss, self._log, self._clock = who, loss, log, clock
        self._failures = self._round = 0
        self._rest_s = 0.0
        self._until = float("-inf")
        self._left: LeftAlone | None = None
        self._on_trial = False
        self._trouble_since: float | None = None
        self._told = False
        self._told_at = float("-inf")

    @property
    def left_alone(self) -> LeftAlone | None:
        """Why nobody is asked; None where a question may go through."""
        return self._left if self._on_trial or self._clock.now() < self._until else None

    def attempt(self) -> Attempt | LeftAlone:
        """Begin to ask. Whoever does must say what came of it: `answered`, `failed` or `dropped`."""
        if (left := self.left_alone) is not None:
            return left
        self._on_trial = self._left is not None
        return Attempt(self, self._round, self._on_trial)

    def answered(self) -> None:
        """It answers."""
        self._failures, self._rest_s, self._left, self._until = 0, 0.0, None, float("-inf")
        if self._trouble_since is not None and self._told:
            self._log.warning("the %s answers again, after %.0f s", self._who, self._clock.now() - self._trouble_since)
        self._trouble_since, self._told = None, False

    def failed(self, failure: JudgeFailure, begun_in: int, trial: bool) -> None:
        """It has failed. `begun_in`: the round in which it was asked."""
        if (rest := rest_s(failure)) is not None:
            if not self._left_until_mended:
                self._log.warning("the %s is asked no more: %s", self._who, failure)
                self._trouble_since, self._told = self._trouble_since or self._clock.now(), True
            self._leave(LeftAlone(True, str(failure)), rest)
            return
        if failure.kind != "refusal":
            self._tell(failure)
        if failure.kind not in AWAY:  # there it is, after all
            self._failures, self._rest_s, self._left, self._until = 0, 0.0, None, float("-inf")
        elif trial or begun_in == self._round:
            self._failures += 1
            self._round += 1
            if trial or self._failures >= OPEN_AFTER:
                self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s or FIRST_REST_S)
                words = f"{failure}; it is left alone for a while"
                self._leave(LeftAlone(False, words), max(self._rest_s, failure.retry_after_s or 0.0))

    def trial_over(self) -> None:
        """The question on trial has its end."""
        self._on_trial = False

    @property
    def _left_until_mended(self) -> bool:
        return self._left is not None and self._left.until_mended

    def _leave(self, left: LeftAlone, seconds: float) -> None:
        self._left = left
        self._until = max(self._until, self._clock.now() + seconds)

    def _tell(self, failure: JudgeFailure) -> None:
        now = self._clock.now()
        if self._trouble_since is not None:
            return
        self._trouble_since = now
        if now - self._told_at >= REMIND_S:
            self._told, self._told_at = True, now
            advice = ADVICE.get(failure.kind)
            words = f"{failure}; {advice}" if advice else str(failure)
            self._log.warning("the %s fails: %s. %s; the calls go on", self._who, words, self._loss)


class Attempt:
    """One question on its way. Of the three, the first that is called counts."""

    def __init__(self, far: FarSide, begun_in: int, trial: bool) -> None:
        self._far, self._begun_in, self._trial = far, begun_in, trial
        self._open = True

    def answered(self) -> None:
        """There is an answer."""
        if self._closes():
            self._far.answered()

    def failed(self, failure: JudgeFailure) -> None:
        """There is none."""
        if self._closes():
            self._far.failed(failure, self._begun_in, self._trial)

    def dropped(self) -> None:
        """Nobody waits for it any more: that says nothing of the far side."""
        self._closes()

    def _closes(self) -> bool:
        was, self._open = self._open, False
        if was and self._trial:
            self._far.trial_over()
        return was
