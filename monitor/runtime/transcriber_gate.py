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
from monitor.runtime.awaited import Clock
from monitor.runtime.far_side import AWAY, FarSide, LeftAlone
from monitor.runtime.judge_budget import Budget, Spent
from monitor.runtime.patience import BILLED, pause_s, rest_s
from monitor.transcribers import TranscribeFailure, Transcriber, Transcription
from monitor.transcribers.settings import TranscriberSettings

log = logging.getLogger("turnwatch.transcriber")

FAILED: Final = "transcriber_failed"
DISABLED: Final = "transcriber_disabled"
UNAVAILABLE: Final = "transcriber_unavailable"


class NoWords(Exception):
    """A turn gets no words. `kind` names the notice to the call, None where there is none; the message is why."""

    def __init__(self, kind: str | None, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Taken:
    """What the words of one turn have taken so far: `requests` sent, `seconds` of sound, `usd` (None where the price is
    not known), as far as it may be on the bill."""

    __slots__ = ("requests", "seconds", "usd")

    def __init__(self) -> None:
        self.requests = 0
        self.seconds = 0.0
        self.usd: float | None = 0.0

    def add(self, seconds: float, usd: float | None) -> None:
        """One request more, or what it turned out to take more (or less) than that."""
        self.seconds += seconds
        self.usd = None if usd is None or self.usd is None else self.usd + usd


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
        self._usd_per_minute = settings.usd_per_minute
        self.budget = budget
        self.in_flight = self.requests = 0
        self.seconds = 0.0
        self._slots = asyncio.Semaphore(settings.max_in_flight)
        self._quiet_until = float("-inf")
        name = f"transcriber {transcriber.name}"
        self._far = FarSide(name, "Turns that it does not answer have no words", log, clock)

    @property
    def closed(self) -> NoWords | None:
        """Why the transcriber is left alone; None while it is not."""
        left = self._far.left_alone
        return None if left is None else _no_words(left)

    async def words(self, request: TranscribeRequest, deadline: float, taken: Taken) -> str:
        """What is said in the turn; asks until there is an answer or no try is left. `deadline`: on the clock, in
        seconds; whoever waits gives up then. `taken` counts what it takes. Raises NoWords."""
        garbled = False
        for tries in itertools.count(1):
            result = await self._put_in_turn(request, deadline, taken)
            if isinstance(result, Transcription):
                self.seconds += result.seconds
                return result.text
            if self.closed is not None and result.kind in AWAY:
                raise self.closed
            if result.kind == "broken" and not garbled:
                garbled = True
                continue
            pause = pause_s(result, tries, self._jitter())
            if pause is None:
                self._far.lost(result)
                raise self.closed or NoWords(FAILED, str(result))
            until = self._clock.now() + pause
            if result.kind == "rate_limit":
                self._quiet_until = max(self._quiet_until, until)
            if until >= deadline:
                self._far.lost(result)
                raise NoWords(FAILED, f"{result}; there is no time for another try")
            await self._clock.sleep(pause)
        raise AssertionError("tries have no end of their own")

    async def _put_in_turn(
        self, request: TranscribeRequest, deadline: float, taken: Taken
    ) -> Transcription | TranscribeFailure:
        """Ask once, when the turn has come and the server does not want to be left alone."""
        while True:
            await self._far.trial_over()
            async with self._slots:
                if self.closed is not None:
                    raise self.closed
                if self._far.on_trial:
                    continue
                quiet = self._quiet_until - self._clock.now()
                if quiet <= 0:
                    return await self._put(request, deadline, taken)
            if self._quiet_until >= deadline:
                raise NoWords(FAILED, "the transcriber's server limits the rate; there is no time to wait for it")
            await self._clock.sleep(quiet)

    async def _put(
        self, request: TranscribeRequest, deadline: float, taken: Taken
    ) -> Transcription | TranscribeFailure:
        usd = (self._usd_per_minute or 0.0) * request.seconds / 60
        try:
            reservation = self.budget.reserve(request.call, Estimate(0, 0, usd))
        except Spent as spent:
            raise NoWords(f"transcriber_{spent.limit.removeprefix('judge_')}", str(spent)) from None
        attempt = self._far.attempt()
        cost = usd  # stays where the deadline comes: it may well be on the bill
        before = taken.usd
        taken.requests += 1
        taken.add(request.seconds, None if self._usd_per_minute is None else usd)
        self.in_flight += 1
        self.requests += 1
        try:
            found = await self._transcriber.transcribe(request)
            attempt.answered()
            cost = usd if found.cost_usd is None else found.cost_usd
            known = found.cost_usd is not None or self._usd_per_minute is not None
            taken.usd = before + cost if known and before is not None else None
        except TranscribeFailure as failure:
            attempt.failed(failure)
            if failure.spent is not None and not failure.spent.requests:  # it failed before anything was sent
                taken.requests -= 1
                self.requests -= 1
            if failure.kind not in BILLED:
                cost, taken.usd = 0.0, before
                taken.seconds -= request.seconds
            if rest_s(failure) is not None:
                raise NoWords(DISABLED, str(failure)) from None
            return failure
        except asyncio.CancelledError:
            if self._clock.now() >= deadline:
                late = TranscribeFailure("timeout", "the transcriber does not answer in time")
                attempt.failed(late)
                self._far.lost(late)
            raise
        finally:
            attempt.dropped()
            self.in_flight -= 1
            reservation.settle(JudgeAnswer((), 0, cost_usd=cost))
        return found


def _no_words(left: LeftAlone) -> NoWords:
    return NoWords(DISABLED if left.until_mended else UNAVAILABLE, left.reason)
