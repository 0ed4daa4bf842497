"""Puts the finished turns of all calls to the transcriber, and their words back to whoever asked. Nobody waits for it.

    transcribing = Transcribing(transcriber, settings, budget)
    transcribing.ask(request, reply=inbox_of_the_call.put, tell=inbox_of_the_call.put)
    ...
    await transcribing.answered("call")      # where media time stands still until then
    await transcribing.close()

Every turn is answered exactly once, with its words or with none:

| what happens | then |
|---|---|
| the transcriber fails | by `monitor.runtime.patience` it is asked again, while the deadline allows |
| the server limits the rate | all calls wait as long as it wishes |
| it fails again and again | by `monitor.runtime.far_side` it is left alone for a while: no words, at once |
| the key, the model or the quota is no good | it is asked no more |
| `deadline_s` after `ask` | what is open by then has no words |
| more wait than `max_waiting` or `MAX_WAITING_BYTES`, or the budget of the call is spent | no words, at once |

Each call is told once of each kind of trouble. `reply` and `tell` are called in the event loop, `tell` first, some of
them before `ask` returns: they only take note. The `at` of what they get is that of the request; whoever passes it on
puts the call's own time in its place.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Callable
from typing import Final

import msgspec

from connectors.inputs import Notice, Text, Transcribed
from monitor.core.questions import TranscribeRequest
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.turn_audio import TRACK_OF_ROLE
from monitor.runtime.awaited import Awaited, Clock, LoopClock
from monitor.runtime.judge_budget import Budget
from monitor.runtime.questions_open import Tell
from monitor.runtime.transcriber_gate import FAILED, NoWords, Taken, TranscriberGate
from monitor.transcribers import Transcriber
from monitor.transcribers.settings import TranscriberSettings

log = logging.getLogger("turnwatch.transcriber")

OVERLOAD: Final = "transcriber_overload"
STOPPED: Final = "the program was stopped before the transcriber answered"

MAX_WAITING_BYTES: Final = 64 * 2**20
MAX_TEXT: Final = 20_000

Reply = Callable[[Text], object]


class _Open(msgspec.Struct, eq=False):
    """A turn that has no answer yet. `deadline`: on the asker's clock, in seconds. `taken`: what it has cost so far."""

    request: TranscribeRequest
    reply: Reply
    tell: Tell | None
    deadline: float
    taken: Taken
    task: asyncio.Task[None] | None = None


class TranscribingStatus(msgspec.Struct, frozen=True):
    """For operators. `waiting`: turns without an answer, those in flight among them. `requests`: sent so far.
    `answered`: turns so far; `worded`: those that got words. `overflowed`: those turned away for want of room.
    `seconds`: of sound transcribed. `disabled`: why the transcriber is left alone, or None."""

    transcriber: str
    waiting: int
    in_flight: int
    requests: int
    answered: int
    worded: int
    overflowed: int
    seconds: float
    disabled: str | None


class Transcribing:
    """The one way to the transcriber, for all calls of a process; to be used within one event loop. `budget`: the
    judge's, in which the cost counts as well. `jitter` draws from 0..1."""

    def __init__(
        self,
        transcriber: Transcriber,
        settings: TranscriberSettings,
        budget: Budget | None = None,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._transcriber, self._settings = transcriber, settings
        self._clock = clock or LoopClock()
        budget = budget or Budget(RelevancySettings(eval_mode="off"), self._clock.now)
        self._gate = TranscriberGate(transcriber, settings, budget, self._clock, jitter)
        self._open: dict[int, _Open] = {}  # oldest first; all have the same time, so the first is due first
        self._open_bytes = 0
        self._numbers = itertools.count()
        self._awaited = Awaited(self._clock, self._oldest, self._give_up, "transcriber")
        self._closed = False
        self._answered = self._worded = self._overflowed = 0

    def ask(self, request: TranscribeRequest, reply: Reply, tell: Tell | None = None) -> None:
        """Have a turn transcribed. Never blocks. `tell` gets notices for the call."""
        number = next(self._numbers)
        settings = self._settings
        one = self._open[number] = _Open(request, reply, tell, self._clock.now() + settings.deadline_s, Taken())
        self._open_bytes += len(request.pcm)
        self._awaited.add(request.call)
        full = self._open_bytes > MAX_WAITING_BYTES
        if self._closed:
            self._turn_away(number, NoWords(None, STOPPED))
        elif (closed := self._gate.closed) is not None:
            self._turn_away(number, closed)
        elif full or len(self._open) > settings.max_in_flight + settings.max_waiting:
            self._overflowed += 1
            self._turn_away(number, NoWords(OVERLOAD, f"{len(self._open) - 1} turns wait for the transcriber already"))
        else:
            one.task = asyncio.create_task(self._pursue(number, one), name=f"transcriber {request.call}")
            self._awaited.watch()

    @property
    def status(self) -> TranscribingStatus:
        """How it stands."""
        gate, counts = self._gate, (self._answered, self._worded, self._overflowed)
        now = (self._transcriber.name, len(self._open), gate.in_flight, gate.requests)
        return TranscribingStatus(*now, *counts, gate.seconds, None if gate.closed is None else str(gate.closed))

    def waiting(self, call: str) -> int:
        """How many turns of `call` have no answer yet."""
        return self._awaited.of(call)

    async def answered(self, call: str | None = None) -> None:
        """Wait until every turn of `call` (None: of all calls) has its answer: `deadline_s` at most."""
        await self._awaited.answered(call)

    def cancel(self, call: str) -> None:
        """Wait for no words of `call` any more: what is open has none."""
        for number in [number for number, one in self._open.items() if one.request.call == call]:
            self._turn_away(number, NoWords(None, STOPPED))

    def forget(self, call: str) -> None:
        """The call is over and its last answer is in."""
        self._gate.budget.forget(call)

    async def close(self, within_s: float = 0.0) -> None:
        """Take no more turns, wait up to `within_s` for the open ones, leave the rest without words."""
        self._closed = True
        await self._awaited.answered_within(within_s)
        tasks = [one.task for one in self._open.values() if one.task is not None]
        for number in list(self._open):
            self._turn_away(number, NoWords(None, STOPPED))
        await self._awaited.leave(tasks)
        await self._transcriber.close()

    async def _pursue(self, number: int, one: _Open) -> None:
        try:
            words = await self._gate.words(one.request, one.deadline, one.taken)
        except NoWords as none:
            self._turn_away(number, none)
        except Exception as error:
            log.exception("the transcriber failed in a way that it should not: please report it")
            self._turn_away(number, NoWords(FAILED, type(error).__name__))
        else:
            self._settle(number, words)

    def _oldest(self) -> tuple[int, float] | None:
        first = next(iter(self._open.items()), None)
        return None if first is None else (first[0], first[1].deadline)

    def _give_up(self, number: int) -> None:
        late = f"the transcriber did not answer within {self._settings.deadline_s:g} seconds"
        self._turn_away(number, NoWords(FAILED, late))

    def _turn_away(self, number: int, none: NoWords) -> None:
        """A turn without words; the call is told why, once for each kind of reason."""
        one = self._open.get(number)
        if one is None:
            return
        told = self._gate.budget.of(one.request.call).told
        if one.tell is not None and none.kind is not None and none.kind not in told:
            told.add(none.kind)
            _safely(one.tell, Notice(one.request.at_ms, none.kind, f"turns are left without words: {none}"))
        self._settle(number, "")

    def _settle(self, number: int, text: str) -> None:
        """Answer a turn, once."""
        one = self._open.pop(number, None)
        if one is None:
            return
        request = one.request
        self._open_bytes -= len(request.pcm)
        self._answered += 1
        self._worded += bool(text.strip())
        track, taken = TRACK_OF_ROLE[request.role], one.taken
        took = Transcribed(taken.requests, taken.seconds, taken.usd) if taken.requests else None
        words = Text(track, request.at_ms, text[:MAX_TEXT], "transcript", turn=request.turn, took=took)
        _safely(one.reply, words)
        if one.task is not None and one.task is not asyncio.current_task():
            one.task.cancel()
        self._awaited.done(request.call)


def _safely(action: Callable[[Text], object] | Tell, given: Text | Notice) -> None:
    """A call that cannot take its answer is no reason to keep the others waiting."""
    try:
        action(given)  # type: ignore[arg-type]
    except Exception:
        log.exception("an answer of the transcriber could not be given to its call: please report it")
