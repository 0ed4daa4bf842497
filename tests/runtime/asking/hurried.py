"""A clock that runs as soon as nobody else does, judges that take their time by it, and a call that takes note."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from connectors.inputs import Notice, Verdict, Verdicts
from monitor.core.questions import JudgeRequest
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.judges.estimates import Estimate
from monitor.runtime.asking import Asking
from monitor.runtime.questions_open import Tell


class HurriedClock:
    """Time passes when everything else has come to rest."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._numbers = itertools.count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._running: asyncio.Task[None] | None = None

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.seconds + seconds, next(self._numbers), future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        await future

    async def _run(self) -> None:
        while self._waiting:
            for _ in range(20):
                await asyncio.sleep(0)
            at, _, future = heapq.heappop(self._waiting)
            if not future.done():
                self.seconds = max(self.seconds, at)
                future.set_result(None)


Answering = Callable[[JudgeRequest], JudgeAnswer]


def all_yes(request: JudgeRequest) -> JudgeAnswer:
    return JudgeAnswer(tuple(Verdict(asked.index, "yes") for asked in request.asked), 1, 100, 10, 0.001)


def silent_on(*indexes: int) -> Answering:
    """Says nothing of these turns."""

    def answering(request: JudgeRequest) -> JudgeAnswer:
        kept = tuple(one for one in all_yes(request).verdicts if one.index not in indexes)
        return JudgeAnswer(kept, 1, 100, 10, 0.001)

    return answering


def failing(kind: str, retry_after_s: float | None = None, spent: JudgeAnswer | None = None) -> Answering:
    def answering(_: JudgeRequest) -> JudgeAnswer:
        raise JudgeFailure(kind, f"{kind} at the judge", retry_after_s, spent)  # type: ignore[arg-type]

    return answering


class PacedJudge:
    """Answers by the rows of `script`, one a request, then by `otherwise`; each takes `delay_s`."""

    name = "paced"

    def __init__(
        self,
        clock: HurriedClock,
        script: Iterable[Answering] = (),
        otherwise: Answering = all_yes,
        delay_s: float = 0.0,
    ) -> None:
        self.asked: list[tuple[float, list[int]]] = []
        self.at_once = self.most_at_once = self.closed = 0
        self._clock, self._script, self._otherwise, self._delay_s = clock, iter(script), otherwise, delay_s

    async def judge(self, request: JudgeRequest) -> JudgeAnswer:
        self.asked.append((self._clock.now(), [asked.index for asked in request.asked]))
        answering = next(self._script, self._otherwise)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self._delay_s:
                await self._clock.sleep(self._delay_s)
            return answering(request)
        finally:
            self.at_once -= 1

    async def close(self) -> None:
        self.closed += 1

    @property
    def times(self) -> list[float]:
        """When it was asked."""
        return [at for at, _ in self.asked]


class PricedJudge(PacedJudge):
    """Knows beforehand that a request takes 110 tokens and a tenth of a cent."""

    def estimate(self, request: JudgeRequest) -> Estimate:
        return Estimate(1, 110, 0.001)


class Answers:
    """What a call was told: verdicts by batch, and notices, in order."""

    def __init__(self) -> None:
        self.verdicts: list[Verdicts] = []
        self.notices: list[Notice] = []

    def words(self, batch: int = 0) -> list[str]:
        """The verdicts on the turns of a batch, which must have been answered once."""
        (answer,) = [one for one in self.verdicts if one.batch == batch]
        return [verdict.verdict for verdict in answer.verdicts]

    def reasons(self, batch: int = 0) -> list[str | None]:
        (answer,) = [one for one in self.verdicts if one.batch == batch]
        return [verdict.reason for verdict in answer.verdicts]

    @property
    def tell(self) -> Tell:
        return self.notices.append

    @property
    def kinds(self) -> list[str]:
        return [notice.kind for notice in self.notices]


def asking_of(judge: PacedJudge, clock: HurriedClock, jitter: float = 0.0, **settings: Any) -> Asking:
    """An `Asking` by that clock, with these settings."""
    return Asking(judge, RelevancySettings(**settings), clock, lambda: jitter)
