"""Lets the turns of all calls through to the transcriber: so many at once, within the budget of each call, and none
while the server wants to be left alone."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Final

from monitor.core.questions import TranscribeRequest
from monitor.judges import JudgeAnswer
from monitor.judges.estimates import Estimate
from monitor.runtime.awaited import Clock, Rest
from monitor.runtime.judge_budget import Budget, Spent
from monitor.runtime.patience import BILLED, pause_s, rest_s
from monitor.transcribers import TranscribeFailure, Transcriber, Transcription
from monitor.transcribers.settings import TranscriberSettings

log = logging.getLogger("turnwatch.transcriber")

FAILED: Final = "transcriber_failed"
DISABLED: Final = "transcriber_disabled"


class NoWords(Exception):
    """A turn gets no words. `kind` names the notice to the call, None where there is none; the message is why."""

    def __init__(self, kind: str | None, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class TranscriberGate:
    """The way to one transcriber. `jitter` draws from 0..1. `in_flight`: turns before it right now; `requests`: turns
    put to it so far, again or for the first time; `seconds`: of sound transcribed."""

    def __init__(
        self,
        transcriber: Transcriber,
        settings: TranscriberSettings,
        budget: Budget,
        clock: Clock,
        jitter: Callable[[], float],
    ) -> None:
        self._transcriber, self._clock, self._jitter = transcriber, clock, jitter
        self._usd_per_minute = settings.usd_per_minute or 0.0
        self.budget = budget
        self.in_flight = self.requests = 0
        self.seconds = 0.0
        self._slots = asyncio.Semaphore(settings.max_in_flight)
        self._quiet_until = float("-inf")
        self._rest = Rest(f"transcriber {transcriber.name}", log, clock)

    @property
    def disabled(self) -> str | None:
        """Why the transcriber is left alone; None while it is not."""
        return self._rest.reason

    async def words(self, request: TranscribeRequest, deadline: float) -> str:
        """What is said in the turn; asks until there is an answer or no try is left. `deadline`: on the clock, in
        seconds; whoever waits gives up then. Raises NoWords."""
        garbled = False
        for tries in itertools.count(1):
            result = await self._put_in_turn(request, deadline)
            if isinstance(result, Transcription):
                self.seconds += result.seconds
                return result.text
            if result.kind == "broken" and not garbled:
                garbled = True
                continue
            pause = pause_s(result, tries, self._jitter())
            if pause is None:
                raise NoWords(FAILED, str(result))
            until = self._clock.now() + pause
            if result.kind == "rate_limit":
                self._quiet_until = max(self._quiet_until, until)
            if until >= deadline:
                raise NoWords(FAILED, f"{result}; there is no time for another try")
            await self._clock.sleep(pause)
        raise AssertionError("tries have no end of their own")

    async def _put_in_turn(self, request: TranscribeRequest, deadline: float) -> Transcription | TranscribeFailure:
        """Ask once, when the turn has come and the server does not want to be left alone."""
        while True:
            async with self._slots:
                if self.disabled is not None:
                    raise NoWords(DISABLED, self.disabled)
                quiet = self._quiet_until - self._clock.now()
                if quiet <= 0:
                    return await self._put(request)
            if self._quiet_until >= deadline:
                raise NoWords(FAILED, "the transcriber's server limits the rate; there is no time to wait for it")
            await self._clock.sleep(quiet)

    async def _put(self, request: TranscribeRequest) -> Transcription | TranscribeFailure:
        usd = self._usd_per_minute * request.seconds / 60
        try:
            reservation = self.budget.reserve(request.call, Estimate(0, 0, usd))
        except Spent as spent:
            raise NoWords(f"transcriber_{spent.limit.removeprefix('judge_')}", str(spent)) from None
        cost = usd  # stays where the deadline comes: it may well be on the bill
        self.in_flight += 1
        self.requests += 1
        try:
            found = await self._transcriber.transcribe(request)
            cost = usd if found.cost_usd is None else found.cost_usd
        except TranscribeFailure as failure:
            cost = usd if failure.kind in BILLED else 0.0
            if (rest := rest_s(failure)) is not None:
                self._rest.take(str(failure), rest)
                raise NoWords(DISABLED, str(failure)) from None
            return failure
        finally:
            self.in_flight -= 1
            reservation.settle(JudgeAnswer((), 0, cost_usd=cost))
        return found
