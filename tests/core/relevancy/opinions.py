"""Judges with an opinion, and a conversation to have it on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from connectors.inputs import Verdict
from monitor.core.questions import JudgeRequest, Line
from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.judges.whole import ConversationAnswer
from monitor.relevancy_metric import TurnRelevancy

CALL = [
    {"role": "assistant", "text": "Hello, how can I help?"},
    {"role": "user", "text": "When do you open?"},
    {"role": "assistant", "text": "At nine."},
    {"role": "user", "text": "And on Sunday?"},
    {"role": "assistant", "text": "It may rain tomorrow."},
]


class Opinion:
    """A judge that finds turns about the weather irrelevant. `most`: so many requests were on their way at once."""

    name = "opinion"

    def __init__(self, fails: JudgeFailure | None = None) -> None:
        self.fails = fails
        self.requests: list[JudgeRequest] = []
        self.closed = self.now = self.most = 0

    async def judge(self, request: JudgeRequest) -> JudgeAnswer:
        self.requests.append(request)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        if self.fails is not None:
            raise self.fails
        words = {line.index: line.text for line in request.lines}
        verdicts = [
            Verdict(one.index, "no", "speaks of the weather")
            if "rain" in words[one.index]
            else Verdict(one.index, "yes")
            for one in request.asked
        ]
        return JudgeAnswer(tuple(verdicts), 1, 50, 5, 0.01)

    async def close(self) -> None:
        self.closed += 1


class Whole:
    """A judge of whole conversations."""

    name = "whole"
    whole = True

    def __init__(self) -> None:
        self.shown: list[int] = []

    async def judge_conversation(self, lines: Sequence[Line]) -> ConversationAnswer:
        self.shown.append(len(lines))
        return ConversationAnswer(0.7, 0.4, "by and large", {}, 0, JudgeAnswer((), 1, 90, 3))

    async def close(self) -> None:
        pass


def measured(turns: Any, **options: Any) -> TurnRelevancy:
    metric = TurnRelevancy(**{"judge": Opinion(), **options})
    metric.measure(turns)
    return metric


def long(times: int) -> list[dict[str, str]]:
    return [{"role": role, "text": f"{role} {n}"} for n in range(times) for role in ("user", "assistant")]
