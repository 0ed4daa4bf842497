"""A judge that is down is found out, left alone and tried again, and whoever runs it is told once."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise
from typing import Any

import pytest

from monitor.core.questions import JudgeRequest
from monitor.judges import JudgeAnswer
from monitor.runtime.asking import Asking
from monitor.runtime.far_side import LONGEST_REST_S, OPEN_AFTER, REMIND_S
from monitor.runtime.patience import MAX_TRIES
from tests.judges.conversations import batch
from tests.runtime.asking.hurried import Answers, HurriedClock, PacedJudge, all_yes, asking_of, failing, silent_on

AWAY = ["server", "timeout", "unreachable", "broken"]


class Service:
    """One judge, and one call after the other."""

    def __init__(self, *script: Any, otherwise: Any = all_yes, delay_s: float = 0.0, **settings: Any) -> None:
        self.clock = HurriedClock()
        self.judge = PacedJudge(self.clock, script, otherwise, delay_s)
        self.asking: Asking = asking_of(self.judge, self.clock, **settings)
        self.answers = Answers()
        self.batches = 0

    async def ask(self) -> str:
        """The verdict on the turns of one batch."""
        number, self.batches = self.batches, self.batches + 1
        self.asking.ask(batch(number=number), self.answers.verdicts.append, self.answers.tell)
        await self.asking.answered()
        (word,) = set(self.answers.words(number))
        return word


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("kind", AWAY)
async def test_a_judge_that_is_down_costs_a_few_requests_and_no_time_after_that(kind: str) -> None:
    service = Service(otherwise=failing(kind))
    assert [await service.ask() for _ in range(50)] == ["unscored"] * 50
    assert len(service.judge.asked) == OPEN_AFTER
    assert service.clock.now() < 2.0
    assert service.answers.kinds == ["judge_unavailable"]
    assert service.answers.notices[0].message.startswith(f"turns are left unjudged: {kind} at the judge")
    assert service.answers.verdicts[-1].requests == 0
    await service.asking.close()


async def test_after_a_rest_one_question_goes_through_on_trial_and_the_next_rest_is_longer() -> None:
    service = Service(otherwise=failing("unreachable"))
    await service.ask()
    while service.clock.now() < 400:
        await service.clock.sleep(0.5)
        await service.ask()
    trials = service.judge.times[OPEN_AFTER - 1 :]
    rests = [after - before for before, after in pairwise(trials)]
    assert rests[:6] == pytest.approx([2, 4, 8, 16, 32, LONGEST_REST_S], abs=0.5)
    assert max(rests) <= LONGEST_REST_S + 0.5
    await service.asking.close()


async def test_when_it_is_back_everybody_is_judged_again_and_that_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def down(request: JudgeRequest) -> JudgeAnswer:
        return failing("unreachable")(request) if clock.now() < 20 else all_yes(request)

    service = Service(otherwise=down, delay_s=0.1)
    clock = service.clock
    verdicts = []
    for _ in range(30):
        verdicts.append(await service.ask())
        await clock.sleep(2)
    assert verdicts[0] == "unscored"
    assert verdicts[-10:] == ["yes"] * 10
    first, last = told(caplog)
    assert first.startswith("the judge paced fails: unreachable at the judge")
    assert "the calls go on" in first
    assert last.startswith("the judge paced answers again, after ")
    await service.asking.close()


async def test_those_who_come_during_a_trial_wait_for_what_comes_of_it() -> None:
    service = Service(*[failing("server")] * OPEN_AFTER, delay_s=0.5)
    await service.ask()
    await service.clock.sleep(3)
    calls = [Answers() for _ in range(20)]
    for number, answers in enumerate(calls):
        service.asking.ask(batch(call=f"call {number}"), answers.verdicts.append)
    await service.asking.answered()
    assert all(answers.words() == ["yes"] * 3 for answers in calls)
    assert service.judge.times[OPEN_AFTER + 1] >= service.judge.times[OPEN_AFTER] + 0.5
    await service.asking.close()


async def test_a_trial_whose_call_is_gone_leaves_the_next_one_to_try() -> None:
    service = Service(*[failing("server")] * OPEN_AFTER, delay_s=1.0)
    await service.ask()
    await service.clock.sleep(3)
    service.asking.ask(batch(call="gone"), lambda _: None)
    while len(service.judge.asked) == OPEN_AFTER:
        await asyncio.sleep(0)
    service.asking.cancel("gone")
    assert await service.ask() == "yes"
    await service.asking.close()


async def test_a_server_that_takes_requests_and_never_answers_is_found_out_too() -> None:
    service = Service(delay_s=1e6, deadline_s=20)
    assert [await service.ask() for _ in range(10)] == ["unscored"] * 10
    assert len(service.judge.asked) == OPEN_AFTER
    assert service.clock.now() == OPEN_AFTER * 19.5
    await service.asking.close()


async def test_requests_that_fail_together_are_one_failure() -> None:
    """A server that is started anew drops all connections at once."""
    service = Service(*[failing("unreachable")] * 4, delay_s=0.1)
    calls = [Answers() for _ in range(4)]
    for number, answers in enumerate(calls):
        service.asking.ask(batch(call=f"call {number}"), answers.verdicts.append)
    await service.asking.answered()
    assert all(answers.words() == ["yes"] * 3 for answers in calls)
    await service.asking.close()


async def test_a_rate_that_stays_limited_is_waited_for_and_then_the_judge_is_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = Service(otherwise=failing("rate_limit"))
    assert [await service.ask() for _ in range(20)] == ["unscored"] * 20
    assert len(service.judge.asked) == MAX_TRIES
    assert service.answers.kinds == ["judge_unavailable"]
    (line,) = told(caplog)
    assert "rate_limit at the judge; set max_requests_per_minute" in line
    await service.asking.close()


async def test_a_limited_rate_that_lets_a_later_try_through_counts_for_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = Service(*[*[failing("rate_limit")] * (MAX_TRIES - 1), all_yes] * 5)
    assert [await service.ask() for _ in range(5)] == ["yes"] * 5
    assert (service.answers.kinds, told(caplog)) == ([], [])
    await service.asking.close()


async def test_a_server_that_wishes_to_be_left_alone_for_longer_than_there_is_time_is_told_of() -> None:
    service = Service(otherwise=failing("rate_limit", 100.0))
    assert [await service.ask() for _ in range(5)] == ["unscored"] * 5
    assert service.answers.kinds == ["judge_rate_limit"]
    await service.asking.close()


@pytest.mark.parametrize("kind", ["server", "rate_limit", "broken", "unreachable"])
async def test_a_failure_that_the_next_try_makes_good_is_not_told(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    service = Service(failing(kind))
    assert await service.ask() == "yes"
    assert (service.answers.kinds, told(caplog)) == ([], [])
    await service.asking.close()


@pytest.mark.parametrize("kind", ["refusal"])
async def test_a_server_that_answers_with_nothing_of_use_is_not_away(kind: str) -> None:
    service = Service(otherwise=failing(kind))
    for _ in range(5):
        assert await service.ask() == "unscored"
    assert service.asking.status.disabled is None
    assert "judge_unavailable" not in service.answers.kinds
    await service.asking.close()


async def test_a_success_between_failures_begins_the_count_anew() -> None:
    service = Service(*[failing("server"), failing("server"), all_yes] * 5)
    assert [await service.ask() for _ in range(5)] == ["yes"] * 5
    await service.asking.close()


async def test_trouble_that_comes_and_goes_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(*[failing("broken"), failing("broken"), all_yes] * 100)
    for _ in range(50):
        await service.ask()
    assert len(told(caplog)) == 2
    await service.clock.sleep(REMIND_S)
    await service.ask()
    await service.ask()
    assert len(told(caplog)) == 4
    await service.asking.close()


async def test_a_judge_that_is_only_unsure_is_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(otherwise=silent_on(1, 3, 5))
    assert await service.ask() == "unscored"
    assert told(caplog) == []
    await service.asking.close()


async def test_a_key_that_is_no_good_is_asked_about_once_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(otherwise=failing("configuration"))
    for _ in range(20):
        assert await service.ask() == "unscored"
        await service.clock.sleep(100)
    assert len(service.judge.asked) == 1
    assert told(caplog) == ["the judge paced is asked no more: configuration at the judge"]
    assert service.answers.kinds == ["judge_disabled"]
    await service.asking.close()


async def test_a_spent_quota_is_said_once_and_so_is_that_it_was_filled(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(*[failing("quota")] * 3)
    verdicts = []
    for _ in range(40):
        verdicts.append(await service.ask())
        await service.clock.sleep(100)
    assert (verdicts[0], verdicts[-1]) == ("unscored", "yes")
    assert len(told(caplog)) == 2
    assert told(caplog)[1].startswith("the judge paced answers again")
    await service.asking.close()
