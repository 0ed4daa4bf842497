"""Jev decides, the language model gives the reasons and stands in: against servers that speak both wires."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.judges.jev import HybridJudge
from monitor.judges.jev_wire import Jev
from monitor.judges.openai import OpenAIJudge
from tests.judges.chat_server import Answering, ChatServer, asked_in, error, saying, verdicts
from tests.judges.conversations import CALL, batch, shown
from tests.judges.jev_server import KEY, JevServer, answering, failing, noul

WHY = saying(json.dumps({"reasons": [{"index": 3, "reason": "asks for the weather"}]}))


@asynccontextmanager
async def hybrid(
    jev: JevServer, llm: ChatServer, include_reason: bool = True, key: str | None = KEY, timeout_s: float = 5.0
) -> AsyncIterator[HybridJudge]:
    async with jev.listening() as jev_url, llm.listening() as llm_url:
        judge = HybridJudge(
            Jev(key, base_url=jev_url, timeout_s=timeout_s), OpenAIJudge("m", base_url=llm_url), include_reason
        )
        yield judge
        await judge.close()


async def ask(jev: JevServer, llm: ChatServer, include_reason: bool = True, key: str | None = KEY) -> JudgeAnswer:
    async with hybrid(jev, llm, include_reason, key) as judge:
        return await judge.judge(batch())


def said(answer: JudgeAnswer) -> list[tuple[int, str]]:
    return [(one.index, one.verdict) for one in answer.verdicts]


async def test_jev_decides_at_one_half_and_the_model_says_why_not() -> None:
    jev = JevServer([answering(relevant=noul(p)) for p in (0.5, 0.499, 0.97)])
    llm = ChatServer([WHY])
    answer = await ask(jev, llm)
    assert said(answer) == [(1, "yes"), (3, "no"), (5, "yes")]
    assert [one.reason for one in answer.verdicts] == [None, "asks for the weather", None]
    assert asked_in(llm.bodies[0]) == [3]
    assert list(shown(llm.bodies[0]["messages"])[0]) == [0, 1, 2, 3]
    assert answer.requests == 4
    assert answer.input_tokens == 3 * 1000 + 700


async def test_each_window_is_one_question_on_its_last_turn() -> None:
    jev = JevServer()
    await ask(jev, ChatServer())
    assert [len(body["state"]["turns"]) for body in jev.bodies] == [2, 4, 6]
    for body, index in zip(jev.bodies, (1, 3, 5), strict=True):
        assert body["state"]["turns"][-1] == {"role": "assistant", "content": CALL[index]}
        (question,) = body["questions"].values()
        assert question["type"] == "noul"
        assert set(question["criteria"]) == {"true", "false"}


async def test_where_all_is_well_or_no_reason_is_wanted_the_model_is_not_asked() -> None:
    for include_reason, p in ((True, 0.9), (False, 0.1)):
        llm = ChatServer()
        answer = await ask(JevServer(otherwise=answering(relevant=noul(p))), llm, include_reason)
        assert llm.bodies == []
        assert {one.verdict for one in answer.verdicts} == {"yes" if p > 0.5 else "no"}


async def test_where_jev_fails_for_one_turn_the_model_decides_that_one_and_it_is_told() -> None:
    jev = JevServer([answering(relevant=noul(0.9)), answering(relevant=noul(7)), answering(relevant=noul(0.8))])
    llm = ChatServer([lambda body: verdicts([(3, "no")], "asks for the weather")])
    answer = await ask(jev, llm)
    assert said(answer) == [(1, "yes"), (3, "no"), (5, "yes")]
    assert asked_in(llm.bodies[0]) == [3]
    assert answer.verdicts[1].reason == "asks for the weather; m decided: Jev's answer is not what its API promises"


@pytest.mark.parametrize("status", [401, 402, 404, 429, 500, 503])
async def test_where_jev_is_down_it_is_asked_once_a_batch_and_the_model_decides(status: int) -> None:
    jev, llm = JevServer(otherwise=failing(status)), ChatServer()
    answer = await ask(jev, llm)
    assert said(answer) == [(1, "yes"), (3, "yes"), (5, "yes")]
    assert all("m decided" in str(one.reason) for one in answer.verdicts)
    assert len(jev.bodies) == 1
    assert len(llm.bodies) == 1


async def test_without_a_key_for_jev_or_an_answer_from_it_the_model_decides() -> None:
    assert said(await ask(JevServer(), ChatServer(), key=None)) == [(1, "yes"), (3, "yes"), (5, "yes")]
    async with hybrid(JevServer(silent=True), ChatServer(), timeout_s=0.2) as judge:
        answer = await judge.judge(batch())
    assert said(answer) == [(1, "yes"), (3, "yes"), (5, "yes")]
    assert "Jev did not answer within 0.2 seconds" in str(answer.verdicts[0].reason)


@pytest.mark.parametrize("silent", [error(500), saying("{}"), saying('{"reasons": [{"index": 3}]}')])
async def test_without_its_reason_a_no_stays_a_no(silent: Answering) -> None:
    answer = await ask(JevServer(otherwise=answering(relevant=noul(0.1))), ChatServer(otherwise=silent))
    assert said(answer) == [(1, "no"), (3, "no"), (5, "no")]
    assert all(str(one.reason).startswith("no reason: ") for one in answer.verdicts)


async def test_where_both_fail_for_a_turn_that_one_is_unscored() -> None:
    jev = JevServer([answering(relevant=noul(0.9)), failing(500)])
    answer = await ask(jev, ChatServer(otherwise=error(500)))
    assert said(answer) == [(1, "yes"), (3, "unscored"), (5, "unscored")]


async def test_where_both_fail_for_every_turn_the_batch_fails_as_the_model_did() -> None:
    with pytest.raises(JudgeFailure, match="Jev failed") as raised:
        await ask(JevServer(otherwise=failing(500)), ChatServer(otherwise=error(429, "x", retry_after="2")))
    assert (raised.value.kind, raised.value.retry_after_s) == ("rate_limit", 2.0)
    assert raised.value.spent is not None
    assert raised.value.spent.requests == 2


async def test_what_a_batch_takes_is_known_beforehand() -> None:
    async with hybrid(JevServer(), ChatServer()) as judge:
        ahead = judge.estimate(batch())
        took = await judge.judge(batch())
    assert ahead.requests == 4
    assert took.requests <= ahead.requests
