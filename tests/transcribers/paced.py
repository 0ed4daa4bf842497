"""A transcriber that takes its time by a hurried clock, the way to it, and calls that take note."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from connectors.inputs import Notice, Text
from monitor.core.questions import TranscribeRequest
from monitor.runtime.judge_budget import Budget
from monitor.runtime.transcribing import Transcribing
from monitor.transcribers import TranscribeFailure, Transcription
from monitor.transcribers.settings import TranscriberSettings
from tests.runtime.asking.hurried import HurriedClock

Answering = Callable[[TranscribeRequest], str]


def saying(text: str) -> Answering:
    return lambda _: text


def failing(kind: str, retry_after_s: float | None = None) -> Answering:
    def answering(_: TranscribeRequest) -> str:
        raise TranscribeFailure(kind, f"{kind} at the transcriber", retry_after_s)  # type: ignore[arg-type]

    return answering


def crashing(_: TranscribeRequest) -> str:
    raise ZeroDivisionError


def own_words(request: TranscribeRequest) -> str:
    return f"{request.call} {request.turn}"


class PacedTranscriber:
    """Answers by the rows of `script`, one a request, then by `otherwise`; each takes `delay_s`."""

    name = "paced"

    def __init__(
        self,
        clock: HurriedClock,
        script: Iterable[Answering] = (),
        otherwise: Answering = own_words,
        delay_s: float = 0.0,
    ) -> None:
        self.times: list[float] = []
        self.at_once = self.most_at_once = self.closed = 0
        self._clock, self._script, self._otherwise, self._delay_s = clock, iter(script), otherwise, delay_s

    async def transcribe(self, request: TranscribeRequest) -> Transcription:
        self.times.append(self._clock.now())
        answering = next(self._script, self._otherwise)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self._delay_s:
                await self._clock.sleep(self._delay_s)
            return Transcription(answering(request), None, request.seconds)
        finally:
            self.at_once -= 1

    async def close(self) -> None:
        self.closed += 1


class Answers:
    """What a call was told."""

    def __init__(self) -> None:
        self.texts: list[Text] = []
        self.notices: list[Notice] = []

    @property
    def kinds(self) -> list[str]:
        return [notice.kind for notice in self.notices]


class Stage:
    """A transcriber, the way to it and the calls that ask."""

    def __init__(self, *script: Answering, budget: Budget | None = None, delay_s: float = 0.0, **settings: Any) -> None:
        otherwise = settings.pop("otherwise", own_words)
        self.clock = HurriedClock()
        self.transcriber = PacedTranscriber(self.clock, script, otherwise, delay_s)
        made = TranscriberSettings(kind="openai", **settings)
        self.transcribing = Transcribing(self.transcriber, made, budget, self.clock, lambda: 0.0)
        self.calls: dict[str, Answers] = {}

    def ask(self, *turns: TranscribeRequest) -> None:
        for turn in turns:
            answers = self.calls.setdefault(turn.call, Answers())
            self.transcribing.ask(turn, answers.texts.append, answers.notices.append)

    async def told(self, *turns: TranscribeRequest) -> Answers:
        """What the call is told of these turns, when all are answered."""
        self.ask(*turns)
        await self.transcribing.answered()
        await self.transcribing.close()
        assert self.transcriber.closed == 1
        return self.calls[turns[0].call]
