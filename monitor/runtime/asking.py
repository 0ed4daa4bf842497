"""Puts the questions of all calls to the judge, and the answers back to whoever asked. Nobody waits for it.

    asking = Asking(judge, settings)
    asking.ask(request, reply=inbox_of_the_call.put, tell=inbox_of_the_call.put)
    ...
    await asking.answered("call")        # where media time stands still until then
    await asking.close()

Every turn that was asked about is answered exactly once, as yes, no or unscored with its reason:

| what happens | then |
|---|---|
| an answer is unclear on some turns | those alone are asked about once more |
| the judge fails | by `monitor.runtime.patience` it is asked again, while the deadline allows |
| the server limits the rate | all calls wait as long as it wishes |
| it fails or answers nonsense again and again | by `monitor.runtime.far_side` it is left alone: unscored at once |
| the key, the model or the quota is no good | the judge is asked no more; each call is told once |
| shortly before `deadline_s` after `ask` | what is open by then is unscored; what is known is kept |
| more wait than `max_waiting`, or a budget is spent | unscored at once; the call is told once |

`reply` and `tell` are called in the event loop, `tell` first, some of them before `ask` returns: they only take note.
The `at` of what they get is that of the request; whoever passes it on puts the call's own time in its place.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Callable

import msgspec

from monitor.core.questions import JudgeRequest
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import Judge
from monitor.judges.whole import WholeJudge
from monitor.runtime.awaited import Awaited, Clock, LoopClock
from monitor.runtime.judge_budget import Budget
from monitor.runtime.questions_open import UNSURE, Conversation, Open, Reply, Tell, Turns
from monitor.runtime.turnstile import NotAsked, Turnstile

log = logging.getLogger("turnwatch.judge")

SPARE_S = 0.5
SPARE_SHARE = 0.05
"""What is open is settled so long before it is due, at most this share of the time: later, the core has given it up."""

OVERLOAD = "judge_overload"
STOPPED = "the program was stopped before the judge answered"
CRASHED = "the judge failed in a way that it should not: please report it"


class AskingStatus(msgspec.Struct, frozen=True):
    """For operators. `waiting`: questions without an answer, those in flight among them. `in_flight`: questions that
    are before the judge right now. `requests`: sent so far. `answered`: questions so far. `overflowed`: those turned
    away for want of room. `disabled`: why the judge is left alone, or None."""

    judge: str
    waiting: int
    in_flight: int
    requests: int
    answered: int
    overflowed: int
    disabled: str | None


class Asking:
    """The one way to the judge, for all calls of a process; to be used within one event loop. `jitter` draws from
    0..1."""

    def __init__(
        self,
        judge: Judge | WholeJudge,
        settings: RelevancySettings,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._judge, self._settings = judge, settings
        self._clock = clock or LoopClock()
        self._way = Turnstile(judge.name, settings, self._clock, jitter)
        self._open: dict[int, Open] = {}  # oldest first; all have the same time, so the first is due first
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._numbers = itertools.count()
        self._awaited = Awaited(self._clock, self._oldest, self._give_up, "judge")
        self._closed = False
        self._answered = self._overflowed = 0

    def ask(self, request: JudgeRequest, reply: Reply, tell: Tell | None = None) -> None:
        """Have the turns of `request` judged, or the whole conversation in its `lines` where the judge is one that does
        so. Never blocks. `tell` gets notices for the call."""
        due = self._settings.deadline_s
        deadline = self._clock.now() + due - min(SPARE_S, SPARE_SHARE * due)
        if isinstance(self._judge, WholeJudge):
            self._take_in(Conversation(self._judge, request, reply, tell, deadline))
        else:
            self._take_in(Turns(self._judge, request, reply, tell, deadline))

    @property
    def whole(self) -> bool:
        """Whether the judge gives one score for the whole conversation, and no verdicts on turns."""
        return isinstance(self._judge, WholeJudge)

    @property
    def budget(self) -> Budget:
        """What calls may spend, for whoever else spends it."""
        return self._way.budget

    @property
    def status(self) -> AskingStatus:
        """How it stands."""
        way = self._way
        waiting, counts = len(self._open), (self._answered, self._overflowed)
        closed = None if way.closed is None else str(way.closed)
        return AskingStatus(self._judge.name, waiting, way.in_flight, way.requests, *counts, closed)

    def waiting(self, call: str) -> int:
        """How many questions of `call` have no answer yet."""
        return self._awaited.of(call)

    async def answered(self, call: str | None = None) -> None:
        """Wait until every question of `call` (None: of all calls) has its answer: `deadline_s` at most."""
        await self._awaited.answered(call)

    def cancel(self, call: str, reason: str = STOPPED) -> None:
        """Wait for no answers to `call` any more: what is open is unscored now."""
        for number in [number for number, question in self._open.items() if question.call == call]:
            self._settle(number, reason)

    def forget(self, call: str) -> None:
        """The call is over and its last answer is in: what it has spent is forgotten."""
        self._way.budget.forget(call)

    async def close(self, within_s: float = 0.0) -> None:
        """Take no more questions, wait up to `within_s` for the open ones, leave the rest unscored, close the judge."""
        self._closed = True
        await self._awaited.answered_within(within_s)
        tasks = list(self._tasks.values())
        for number in list(self._open):
            self._settle(number, STOPPED)
        await self._awaited.leave(tasks)
        await self._judge.close()

    def _take_in(self, question: Open) -> None:
        number = next(self._numbers)
        self._open[number] = question
        self._awaited.add(question.call)
        if self._closed:
            self._settle(number, STOPPED)
        elif question.complete:
            self._settle(number, UNSURE)
        elif (closed := self._way.closed) is not None:
            self._turn_away(number, closed)
        elif len(self._open) > self._settings.in_flight + self._settings.max_waiting:
            self._overflowed += 1
            words = f"the judge is behind: {self._settings.max_waiting} questions wait for it already"
            self._turn_away(number, NotAsked(OVERLOAD, words))
        else:
            self._tasks[number] = asyncio.create_task(self._pursue(number, question), name=f"judge {question.call}")
            self._awaited.watch()

    async def _pursue(self, number: int, question: Open) -> None:
        try:
            self._settle(number, await self._way.pursue(question))
        except NotAsked as refusal:
            self._turn_away(number, refusal)
        except Exception:
            log.exception(CRASHED)
            self._settle(number, CRASHED)

    def _oldest(self) -> tuple[int, float] | None:
        first = next(iter(self._open.items()), None)
        return None if first is None else (first[0], first[1].deadline)

    def _give_up(self, number: int) -> None:
        self._settle(number, f"the judge did not answer within {self._settings.deadline_s:g} seconds")

    def _turn_away(self, number: int, refusal: NotAsked) -> None:
        """Settle a question that the judge is not asked, and tell the call, once for each kind of reason."""
        question = self._open.get(number)
        if question is None:
            return
        told = self._way.budget.of(question.call).told
        question.tell_once(told, refusal.kind, f"turns are left unjudged: {refusal}")
        self._settle(number, str(refusal))

    def _settle(self, number: int, reason: str) -> None:
        """Answer a question, once, with what is known by now."""
        question, task = self._open.pop(number, None), self._tasks.pop(number, None)
        if question is None:
            return
        self._answered += 1
        _safely(lambda: question.settle(reason))
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        self._awaited.done(question.call)


def _safely(action: Callable[[], object]) -> None:
    """A call that cannot take its answer is no reason to keep the others waiting."""
    try:
        action()
    except Exception:
        log.exception("an answer of the judge could not be given to its call: please report it")
