"""A call's way to the judge and to the transcriber: its questions out, the answers back in with the time of the call.

A program has one `Bench` for all its calls (`bench = bench_for(config)`), a call one `Inquiry`: `put` after each input
never waits; `answered` is for where media time stands still until then; `close` when the call is over.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from connectors.inputs import Notice, Text, Verdicts
from monitor.config import Config
from monitor.core.call import Status
from monitor.core.questions import JudgeRequest, TranscribeRequest
from monitor.runtime.asking import Asking
from monitor.runtime.inbox import Inbox
from monitor.runtime.judging import NoJudge, judge_for
from monitor.runtime.transcribing import Transcribing
from monitor.transcribers import new_transcriber

STOPPED_WITHIN_S = 0.5
"""So long the last answers are waited for once the program is to stop."""

_numbers = itertools.count(1)


class Bench(NamedTuple):
    """The ways to the judge and to the transcriber, for all calls of a program; None where there is none."""

    asking: Asking | None = None
    transcribing: Transcribing | None = None

    async def close(self) -> None:
        """Ask nobody any more; what is open stays without an answer."""
        for one in (self.transcribing, self.asking):
            if one is not None:
                await one.close()


def bench_for(config: Config) -> Bench:
    """The judge and the transcriber of these settings. Connects to nothing. Raises NoJudge."""
    judge = judge_for(config.relevancy)
    asking = None if judge is None else Asking(judge, config.relevancy)
    try:
        transcriber = new_transcriber(config.transcriber)
    except ValueError as error:
        raise NoJudge(str(error)) from error
    if transcriber is None:
        return Bench(asking)
    return Bench(asking, Transcribing(transcriber, config.transcriber, asking.budget if asking else None))


class Questioning(Protocol):
    """A core that has questions: `CallMonitor`."""

    @property
    def untranscribed(self) -> Callable[[], list[TranscribeRequest]]:
        """Gives the turns that a transcriber is to be asked about, since the last call."""
        ...

    def questions(self) -> list[JudgeRequest]:
        """What the judge is to be asked, since the last call."""
        ...

    @property
    def status(self) -> Status:
        """Where the call stands."""
        ...


class Inquiry:
    """One call's questions, and their answers' way back into its inbox, with the media time at which they came."""

    def __init__(self, bench: Bench, core: Questioning, inbox: Inbox) -> None:
        self._bench, self._core, self._inbox = bench, core, inbox
        self._asked: list[Asking | Transcribing] = [one for one in bench if one is not None]
        # Recordings of the same name may be watched side by side: to whoever is asked, each call is one of its own.
        self._key = f"#{next(_numbers)}"
        self._given_up = False
        self._giving_up: asyncio.TimerHandle | None = None

    def put(self) -> None:
        """Ask what the core wants to know by now. Never waits."""
        asking, transcribing = self._bench
        if transcribing is not None:
            for turn in self._core.untranscribed():
                transcribing.ask(msgspec.structs.replace(turn, call=self._key), self._answer, self._answer)
        if asking is not None:
            for batch in self._core.questions():
                asking.ask(msgspec.structs.replace(batch, call=self._key), self._answer, self._answer)
        if self._given_up:
            self._cancel()

    @property
    def waiting(self) -> bool:
        """Whether any answer is awaited, or waits to be heard."""
        return self._inbox.answered or any(one.waiting(self._key) for one in self._asked)

    async def answered(self) -> None:
        """Wait until all answers are in: as long as they may take at most."""
        while waiting := [one for one in self._asked if one.waiting(self._key)]:
            for one in waiting:
                await one.answered(self._key)

    def hurry(self) -> None:
        """The program is to stop: wait no longer than a moment, for what is asked now or later."""
        if self._giving_up is None:
            self._giving_up = asyncio.get_running_loop().call_later(STOPPED_WITHIN_S, self._give_up)

    def close(self) -> None:
        """The call is over."""
        if self._giving_up is not None:
            self._giving_up.cancel()
        self._cancel()
        for one in self._asked:
            one.forget(self._key)

    def _give_up(self) -> None:
        self._given_up = True
        self._cancel()

    def _cancel(self) -> None:
        for one in self._asked:
            one.cancel(self._key)

    def _answer(self, given: Verdicts | Text | Notice) -> None:
        self._inbox.answer(msgspec.structs.replace(given, at=self._core.status.now_ms))
