"""Lets the questions of all calls through to the judge: so many at once, within the budget, and none while the server
wants to be left alone."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable

from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.runtime.awaited import Clock
from monitor.runtime.far_side import AWAY, FarSide, LeftAlone
from monitor.runtime.judge_budget import Budget, Spent
from monitor.runtime.patience import BILLED, pause_s, rest_s
from monitor.runtime.questions_open import UNSURE, Open

log = logging.getLogger("turnwatch.judge")

DISABLED = "judge_disabled"
UNAVAILABLE = "judge_unavailable"
QUIET = "judge_rate_limit"


class NotAsked(Exception):
    """The judge is not asked. `kind` names the notice to the call; the message is the reason, for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Turnstile:
    """The way to one judge. `jitter` draws from 0..1. `in_flight`: requests on their way; `requests`: sent so far."""

    def __init__(self, name: str, settings: RelevancySettings, clock: Clock, jitter: Callable[[], float]) -> None:
        self._clock, self._jitter = clock, jitter
        self.budget = Budget(settings, clock.now)
        self.in_flight = self.requests = 0
        self._slots = asyncio.Semaphore(settings.in_flight)
        self._quiet_until = float("-inf")
        self._far = FarSide(f"judge {name}", "What it does not answer stays unscored", log, clock)

    @property
    def closed(self) -> NotAsked | None:
        """Why the judge is left alone; None while it is not."""
        left = self._far.left_alone
        return None if left is None else _not_asked(left)

    async def pursue(self, question: Open) -> str:
        """Put the question until it is answered, or no try is left; then why there is no more. Raises NotAsked."""
        for tries in itertools.count(1):
            failure = await self._try(question)
            if failure is None and (question.complete or question.asked_again):
                return UNSURE
            if failure is not None and self.closed is not None and failure.kind in AWAY:
                raise self.closed
            if failure is None or (failure.kind == "broken" and not question.asked_again):
                question.asked_again = True
                continue
            if failure.kind == "refusal":
                return str(failure)
            pause = pause_s(failure, tries, self._jitter())
            if pause is None:
                raise self._lost(failure)
            if failure.kind == "rate_limit":
                self._quiet_until = max(self._quiet_until, self._clock.now() + pause)
            if self._clock.now() + pause >= question.deadline:
                raise self._lost(failure, "; there is no time for another try")
            await self._clock.sleep(pause)
        raise AssertionError("tries have no end of their own")

    def _lost(self, failure: JudgeFailure, more: str = "") -> NotAsked:
        """A question has failed for good."""
        self._far.lost(failure)
        wished = failure.kind == "rate_limit" and failure.retry_after_s is not None
        return self.closed or NotAsked(QUIET if wished else UNAVAILABLE, f"{failure}{more}")

    async def _try(self, question: Open) -> JudgeFailure | None:
        """Put the question once, when its turn has come. None: there is an answer, complete or not. Raises NotAsked."""
        while True:
            await self._far.trial_over()
            async with self._slots:
                if self.closed is not None:
                    raise self.closed
                if self._far.on_trial:
                    continue
                now = self._clock.now()
                if now >= self._quiet_until:
                    return await self._put(question)
                quiet_until = self._quiet_until
            if quiet_until >= question.deadline:
                raise NotAsked(QUIET, "the judge's server limits the rate of requests; there is no time to wait for it")
            await self._clock.sleep(quiet_until - now)

    async def _put(self, question: Open) -> JudgeFailure | None:
        try:
            reservation = self.budget.reserve(question.call, question.estimate())
        except Spent as spent:
            raise NotAsked(spent.limit, str(spent)) from None
        attempt = self._far.attempt()
        failure, took = None, JudgeAnswer(())
        question.sent = True
        self.in_flight += 1
        try:
            took = await question.put()
            attempt.answered()
        except JudgeFailure as raised:
            failure, took = raised, raised.spent or took
            attempt.failed(failure)
        except asyncio.CancelledError:
            if self._clock.now() >= question.deadline:
                late = JudgeFailure("timeout", "the judge does not answer in time")
                attempt.failed(late)
                self._far.lost(late)
            raise
        finally:  # also where the deadline has come: then it is not known what the request took
            attempt.dropped()
            question.sent = False
            self.in_flight -= 1
            self.requests += took.requests
            reservation.settle(took, billed=failure is None or failure.kind in BILLED)
        question.took(took)
        if took.stood_in_for is not None:
            kind = UNAVAILABLE if rest_s(took.stood_in_for) is None else DISABLED
            told = f"a part of the judge fails, and the other decides in its place: {took.stood_in_for}"
            question.tell_once(self.budget.of(question.call).told, kind, told)
        if failure is not None and rest_s(failure) is not None:
            raise NotAsked(DISABLED, str(failure))
        return failure


def _not_asked(left: LeftAlone) -> NotAsked:
    return NotAsked(DISABLED if left.until_mended else UNAVAILABLE, left.reason)
