"""With two judges, the one that is away costs the other no time: the language model decides meanwhile."""

from __future__ import annotations

import logging

import pytest

from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges.jev import hybrid_judge
from monitor.runtime.asking import Asking
from monitor.runtime.far_side import OPEN_AFTER
from monitor.runtime.rested_jev import RestedJev
from tests.judges.chat_server import ChatServer
from tests.judges.conversations import batch
from tests.judges.jev_server import KEY, JevServer, failing
from tests.judges.loopback import unused_address
from tests.runtime.asking.hurried import Answers


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def verdicts(jev: str, key: str, batches: int) -> list[tuple[str, str]]:
    """The verdict on each batch, and the reason for it."""
    async with ChatServer().listening() as llm:
        settings = RelevancySettings(eval_mode="hybrid", model="m", base_url=llm, system_one_base_url=jev)
        judge = hybrid_judge(settings, {"TYPESAFE_API_KEY": key}, RestedJev)
        found = []
        for number in range(batches):
            for one in (await judge.judge(batch(number=number))).verdicts:
                found.append((one.verdict, one.reason or ""))
        await judge.close()
    return found


async def test_a_jev_that_fails_is_left_alone_and_the_model_decides(caplog: pytest.LogCaptureFixture) -> None:
    jev = JevServer(otherwise=failing(500))
    async with jev.listening() as address:
        found = await verdicts(address, KEY, 10)
    assert [word for word, _ in found] == ["yes"] * 30
    assert all(reason.startswith("m decided: ") for _, reason in found)
    assert len(jev.bodies) == OPEN_AFTER
    (line,) = told(caplog)
    assert line.startswith("the judge jev-latest fails: ")
    assert "The LLM decides in its place" in line


async def test_a_key_that_jev_does_not_take_is_tried_once_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with JevServer().listening() as address:
        found = await verdicts(address, "another key", 5)
    assert [word for word, _ in found] == ["yes"] * 15
    (line,) = told(caplog)
    assert line.startswith("the judge jev-latest is asked no more: ")


async def test_a_jev_out_of_reach_too(caplog: pytest.LogCaptureFixture) -> None:
    found = await verdicts(unused_address(), KEY, 5)
    assert [word for word, _ in found] == ["yes"] * 15
    assert "cannot be reached" in told(caplog)[0]


@pytest.mark.parametrize(("answer", "kind"), [(500, "judge_unavailable"), (401, "judge_disabled")])
async def test_the_call_is_told_once_that_the_model_decides(answer: int, kind: str) -> None:
    jev, answers = JevServer(otherwise=failing(answer)), Answers()
    async with jev.listening() as address, ChatServer().listening() as llm:
        settings = RelevancySettings(eval_mode="hybrid", model="m", base_url=llm, system_one_base_url=address)
        asking = Asking(hybrid_judge(settings, {"TYPESAFE_API_KEY": KEY}, RestedJev), settings)
        for number in range(5):
            asking.ask(batch(number=number), answers.verdicts.append, answers.tell)
            await asking.answered()
        await asking.close()
    assert answers.kinds == [kind]
    assert "the other decides in its place: Jev" in answers.notices[0].message
    assert {one.verdict for given in answers.verdicts for one in given.verdicts} == {"yes"}
