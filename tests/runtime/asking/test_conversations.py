"""Judges of whole conversations: the same limits, one answer for each question."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from connectors.inputs import ConversationScore
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges.jev import SystemOneJudge
from monitor.judges.jev_wire import Jev
from monitor.runtime.asking import Asking
from tests.judges.conversations import batch
from tests.judges.jev_server import KEY, JevServer, answering, failing, noul, score
from tests.runtime.asking.hurried import Answers, HurriedClock, PacedJudge, asking_of

GOOD = answering(relevant=noul(0.9), on_subject=noul(0.7), level=score(2.4, 0.8))


@asynccontextmanager
async def asking_jev(server: JevServer, **settings: Any) -> AsyncIterator[Asking]:
    async with server.listening() as url:
        given = RelevancySettings(eval_mode="system_one", **settings)
        asking = Asking(SystemOneJudge(Jev(KEY, base_url=url)), given, jitter=lambda: 0.0)
        yield asking
        await asking.close()


async def ask(server: JevServer, batches: int, **settings: Any) -> tuple[Answers, list[ConversationScore]]:
    """What a call is told of so many questions, and the scores among it."""
    answers = Answers()
    async with asking_jev(server, **settings) as asking:
        for number in range(batches):
            asking.ask(batch(number=number), answers.verdicts.append, answers.tell)
            await asking.answered("call")
    assert [answer.verdicts for answer in answers.verdicts] == [()] * batches
    return answers, [answer.conversation for answer in answers.verdicts if answer.conversation is not None]


async def test_a_conversation_is_judged_as_a_whole() -> None:
    answers, scores = await ask(JevServer([GOOD]), 1)
    (answer,) = answers.verdicts
    assert (answer.batch, answer.judge, answer.requests, answer.input_tokens) == (0, "jev-latest", 1, 1000)
    assert scores[0].score == pytest.approx((2 * 0.9 + 0.7 + 0.8) / 4)
    assert scores[0].confidence == pytest.approx(0.4)
    assert "P(yes) 0.90" in str(scores[0].reason)


async def test_a_failure_leaves_no_score_and_says_why() -> None:
    answers, scores = await ask(JevServer([failing(500, retry_after_ms="1"), GOOD, failing(402)]), 3)
    assert scores[0].score is not None
    assert answers.verdicts[0].requests == 2
    assert [(one.score, one.confidence) for one in scores[1:]] == [(None, None), (None, None)]
    assert all("quota" in str(one.reason) for one in scores[1:])
    assert answers.kinds == ["judge_disabled"]


async def test_its_budget_is_kept_too() -> None:
    server = JevServer(otherwise=GOOD)
    _, scores = await ask(server, 3, max_tokens_per_call=1500)
    assert [one.score is None for one in scores] == [False, True, True]
    assert len(server.bodies) == 1


async def test_a_judge_says_which_kind_it_is() -> None:
    clock = HurriedClock()
    turns = asking_of(PacedJudge(clock), clock)
    assert not turns.whole
    async with asking_jev(JevServer()) as whole:
        assert whole.whole
