"""The whole way, from a batch to its verdicts, through the real client and a real server with every fault it can have.

Acceptance: every turn ends exactly once as yes, no or unscored; no failure counts as a "no" and none as a "yes".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.responses import HTMLResponse

from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges.openai import OpenAIJudge
from monitor.runtime.asking import Asking
from tests.judges.chat_server import Answering, ChatServer, all_yes, asked_in, error, saying, silence, verdicts
from tests.judges.conversations import batch, shown
from tests.judges.loopback import CutAnswer, unused_address
from tests.runtime.asking.hurried import Answers


class QuickClock:
    """The time of the event loop, running twenty times as fast."""

    FACTOR = 20.0

    def now(self) -> float:
        return asyncio.get_running_loop().time() * self.FACTOR

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.FACTOR)


@asynccontextmanager
async def asking_at(
    server: ChatServer, deadline_s: float = 200.0, timeout_s: float = 5.0, **settings: Any
) -> AsyncIterator[Asking]:
    async with server.listening() as url:
        judge = OpenAIJudge("m", base_url=url, timeout_s=timeout_s)
        given = RelevancySettings(deadline_s=deadline_s, **settings)
        asking = Asking(judge, given, QuickClock(), lambda: 0.0)
        yield asking
        await asking.close()


async def told(server: ChatServer, batches: int = 1, **settings: Any) -> Answers:
    answers = Answers()
    async with asking_at(server, **settings) as asking:
        for number in range(batches):
            asking.ask(batch(number=number), answers.verdicts.append, answers.tell)
            await asking.answered()
    return answers


def given(*pairs: tuple[object, str]) -> Answering:
    return lambda _: verdicts(pairs)


CUT = json.dumps(
    {"verdicts": [{"index": 1, "reason": "", "verdict": "no"}, {"index": 3, "reason": "", "verdict": "no"}]}
)

ONCE: dict[str, tuple[Sequence[Answering], list[str], int]] = {
    "all is well": ([], ["yes"] * 3, 1),
    "missing, then given": ([given((1, "no"), (5, "no"))], ["no", "yes", "no"], 2),
    "doubled, then clear": ([given((1, "no"), (3, "no"), (3, "no"), (5, "no"))], ["no", "yes", "no"], 2),
    "shifted, then right": ([given((0, "no"), (2, "no"), (4, "no"))], ["yes"] * 3, 2),
    "foreign beside right": ([given((1, "no"), (3, "no"), (5, "no"), (77, "yes"))], ["no"] * 3, 1),
    "foreign in place of one": ([given((1, "no"), (77, "no"), (5, "no"))], ["no", "yes", "no"], 2),
    "fenced": ([saying(f"```json\n{CUT}\n```")], ["no", "no", "yes"], 2),
    "cut": ([saying(CUT[:-10])], ["yes"] * 3, 2),
    "cut at the length limit": ([saying(CUT[:-10], finish="length")], ["yes"] * 3, 2),
    "empty": ([saying("")], ["yes"] * 3, 2),
    "a refusal": ([saying(None, refusal="no")], ["unscored"] * 3, 1),
    "a filter": ([saying("", finish="content_filter")], ["unscored"] * 3, 1),
    "429 twice with Retry-After": ([error(429, "rate_limit_exceeded", retry_after="2")] * 2, ["yes"] * 3, 3),
    "429 without Retry-After": ([error(429, "rate_limit_exceeded")], ["yes"] * 3, 2),
    "429, too late": ([error(429, "rate_limit_exceeded", retry_after="900")], ["unscored"] * 3, 1),
    "500": ([error(500)] * 2, ["yes"] * 3, 3),
    "500 and no end": ([error(500)] * 9, ["unscored"] * 3, 3),
    "cut connection": ([lambda _: CutAnswer(b'{"choices": [{"message": ')] * 2, ["yes"] * 3, 3),
    "no JSON, twice": ([saying("All relevant!"), saying("Truly, all relevant!")], ["unscored"] * 3, 2),
    "irrelevant": ([given((1, "relevant"), (3, "irrelevant"), (5, "not relevant"))], ["yes", "no", "no"], 1),
}


@pytest.mark.parametrize("fault", ONCE)
async def test_each_turn_ends_once(fault: str) -> None:
    script, expected, requests = ONCE[fault]
    server = ChatServer(script)
    answers = await told(server)
    assert answers.words() == expected
    assert len(server.bodies) == requests == answers.verdicts[0].requests
    assert all(one.reason for one in answers.verdicts[0].verdicts if one.verdict == "unscored")


async def test_retry_after_is_waited_for() -> None:
    """Fault B57 (a)."""
    clock, server = QuickClock(), ChatServer([error(429, "rate_limit_exceeded", retry_after="2")] * 2)
    before = clock.now()
    assert (await told(server)).words() == ["yes"] * 3
    assert clock.now() - before >= 4.0


@pytest.mark.parametrize("answer", [error(429, "insufficient_quota"), error(401), error(404, "model_not_found")])
async def test_a_judge_that_is_of_no_use_is_asked_once_and_told_once(answer: Answering) -> None:
    """Fault B57 (b)."""
    server = ChatServer(otherwise=answer)
    answers = await told(server, batches=3)
    assert len(server.bodies) == 1
    assert answers.kinds == ["judge_disabled"]
    assert all(answers.words(number) == ["unscored"] * 3 for number in range(3))


async def test_a_server_that_never_answers_costs_its_deadline_and_no_more() -> None:
    server = ChatServer(otherwise=silence)
    answers = await told(server, deadline_s=4.0)
    assert answers.words() == ["unscored"] * 3
    assert "within 4 seconds" in str(answers.reasons()[0])


async def test_a_silence_of_one_request_leaves_time_for_another() -> None:
    answers = await told(ChatServer([silence]), timeout_s=0.8)
    assert answers.words() == ["yes"] * 3
    assert answers.verdicts[0].requests == 2


async def test_nobody_at_the_address_leaves_turns_unscored() -> None:
    answers = Answers()
    asking = Asking(OpenAIJudge("m", base_url=f"{unused_address()}/v1"), RelevancySettings(), QuickClock(), lambda: 0.0)
    asking.ask(batch(), answers.verdicts.append)
    await asking.answered()
    await asking.close()
    assert answers.words() == ["unscored"] * 3
    assert "cannot be reached" in str(answers.reasons()[0])


async def test_ninety_turns_take_fifteen_requests() -> None:
    server, answers = ChatServer(delay_s=0.01), Answers()
    words = [f"words of turn {index}" for index in range(180)]
    turns = range(1, 180, 2)
    async with asking_at(server) as asking:
        for number, start in enumerate(range(0, 90, 6)):
            asked = turns[start : start + 6]
            asking.ask(batch(words[: asked[-1] + 1], asked, number=number), answers.verdicts.append)
        await asking.answered()
    assert len(server.bodies) == 15
    assert server.most_at_once <= 4
    judged = [one.index for answer in answers.verdicts for one in answer.verdicts]
    assert sorted(judged) == list(turns)


async def test_a_turn_asked_about_again_is_shown_with_its_own_window_alone() -> None:
    words = [f"words of turn {index}" for index in range(30)]
    server, answers = ChatServer([given((1, "yes"))]), Answers()
    async with asking_at(server) as asking:
        asking.ask(batch(words, [1, 29]), answers.verdicts.append)
        await asking.answered()
    assert answers.words() == ["yes", "yes"]
    assert asked_in(server.bodies[1]) == [29]
    assert list(shown(server.bodies[1]["messages"])[0]) == list(range(20, 30))


async def test_a_hundred_calls_share_what_may_be_in_flight() -> None:
    server, calls = ChatServer(otherwise=all_yes, delay_s=0.005), [Answers() for _ in range(100)]
    async with asking_at(server) as asking:
        for name, answers in enumerate(calls):
            asking.ask(batch(call=f"call {name}"), answers.verdicts.append)
        await asking.answered()
    assert server.most_at_once <= 4
    assert all(answers.words() == ["yes"] * 3 for answers in calls)


@pytest.mark.parametrize(
    "answering",
    [
        lambda _: HTMLResponse("<html>welcome</html>"),
        saying(""),
        saying('{"verdicts": [{"index": 1, "ver'),
        saying("{}"),
        saying("all of them are fine"),
        error(429, "rate_limit_exceeded"),
        error(500),
    ],
)
async def test_a_judge_that_answers_badly_for_ever_is_left_alone_and_the_call_hears_of_it(answering: Answering) -> None:
    server = ChatServer(otherwise=answering)
    answers = await told(server, 10)
    assert {one.verdict for given in answers.verdicts for one in given.verdicts} == {"unscored"}
    assert answers.kinds == ["judge_unavailable"]
    assert len(server.bodies) < 10
