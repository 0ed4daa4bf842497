"""What judging may take is kept, and said once when it is spent."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.inputs import Verdict
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeAnswer
from monitor.judges.estimates import Estimate
from monitor.runtime.judge_budget import Budget, Spent
from tests.judges.conversations import batch
from tests.runtime.asking.hurried import Answers, HurriedClock, PacedJudge, PricedJudge, asking_of, failing


async def ask_in_turn(judge: PacedJudge, clock: HurriedClock, batches: int, **settings: Any) -> Answers:
    """What one call is told of so many batches, one after the other."""
    asking, answers = asking_of(judge, clock, **settings), Answers()
    for number in range(batches):
        asking.ask(batch(number=number), answers.verdicts.append, answers.tell)
        await asking.answered()
    await asking.close()
    return answers


async def test_tokens_of_a_call_end_its_judging_and_it_is_told_once() -> None:
    clock = HurriedClock()
    judge = PricedJudge(clock)
    answers = await ask_in_turn(judge, clock, 6, max_tokens_per_call=350)
    assert [answers.words(number)[0] for number in range(6)] == ["yes"] * 3 + ["unscored"] * 3
    assert "350 tokens" in str(answers.reasons(5)[0])
    assert len(judge.asked) == 3
    assert answers.kinds == ["judge_tokens"]
    assert "350 tokens" in answers.notices[0].message


async def test_money_of_a_call_ends_its_judging() -> None:
    clock = HurriedClock()
    settings = {"max_cost_per_call": 0.0025, "usd_per_million_input_tokens": 1.0, "usd_per_million_output_tokens": 1.0}
    answers = await ask_in_turn(PricedJudge(clock), clock, 4, **settings)
    assert [answers.words(number)[0] for number in range(4)] == ["yes"] * 2 + ["unscored"] * 2
    assert answers.kinds == ["judge_cost"]


async def test_one_call_that_has_spent_its_own_leaves_the_others_theirs() -> None:
    clock = HurriedClock()
    asking, first, second = asking_of(PricedJudge(clock), clock, max_tokens_per_call=110), Answers(), Answers()
    for number in range(2):
        asking.ask(batch(call="first", number=number), first.verdicts.append, first.tell)
        await asking.answered()
    asking.ask(batch(call="second"), second.verdicts.append, second.tell)
    await asking.answered()
    await asking.close()
    assert first.words(1) == ["unscored"] * 3
    assert second.words() == ["yes"] * 3
    assert second.notices == []


async def test_requests_at_once_cannot_overdraw_together() -> None:
    clock = HurriedClock()
    judge = PricedJudge(clock, delay_s=1.0)
    asking, answers = asking_of(judge, clock, max_tokens_per_call=250), Answers()
    for number in range(4):
        asking.ask(batch(number=number), answers.verdicts.append, answers.tell)
    await asking.answered()
    await asking.close()
    assert len(judge.asked) == 2
    assert sorted(answers.words(number)[0] for number in range(4)) == ["unscored", "unscored", "yes", "yes"]


async def test_requests_a_minute_are_counted_over_all_calls_and_come_back_with_time() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock)
    asking, calls = asking_of(judge, clock, max_requests_per_minute=3), [Answers() for _ in range(5)]
    for name, answers in enumerate(calls):
        asking.ask(batch(call=f"call {name}"), answers.verdicts.append, answers.tell)
    await asking.answered()
    assert [answers.words()[0] for answers in calls] == ["yes"] * 3 + ["unscored"] * 2
    assert [answers.kinds for answers in calls] == [[], [], [], ["judge_requests"], ["judge_requests"]]
    await clock.sleep(60)
    asking.ask(batch(call="call 4", number=1), calls[4].verdicts.append, calls[4].tell)
    await asking.answered()
    await asking.close()
    assert calls[4].words(1) == ["yes"] * 3


async def test_tries_count_as_requests() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, otherwise=failing("server"))
    answers = await ask_in_turn(judge, clock, 1, max_requests_per_minute=2)
    assert len(judge.asked) == 2
    assert answers.words() == ["unscored"] * 3
    assert answers.kinds == ["judge_requests"]


async def test_a_second_question_needs_room_in_the_budget_and_the_first_answers_stay() -> None:
    def half(request: object) -> JudgeAnswer:
        return JudgeAnswer((Verdict(1, "yes"),), 1, 100, 10)

    clock = HurriedClock()
    judge = PricedJudge(clock, otherwise=half)
    answers = await ask_in_turn(judge, clock, 1, max_tokens_per_call=150)
    assert answers.words() == ["yes", "unscored", "unscored"]
    assert len(judge.asked) == 1


@pytest.mark.parametrize(
    ("took", "billed", "left"),
    [
        (JudgeAnswer((), 1, 30, 10), True, 60),
        (JudgeAnswer((), 1), True, 50),  # no usage told: as estimated
        (JudgeAnswer((), 1), False, 100),  # turned away: costs nothing
        (JudgeAnswer((), 0), True, 100),  # never sent
        (JudgeAnswer((), 1, 90, 30), True, -20),  # more than was thought
    ],
)
def test_what_a_request_really_took_replaces_what_was_set_aside(took: JudgeAnswer, billed: bool, left: int) -> None:
    budget = Budget(RelevancySettings(max_tokens_per_call=100), lambda: 0.0)
    budget.reserve("call", Estimate(1, 50)).settle(took, billed)
    if left > 0:
        budget.reserve("call", Estimate(1, left))
    with pytest.raises(Spent):
        budget.reserve("call", Estimate(1, 1))


def test_a_call_that_has_ended_is_forgotten() -> None:
    budget = Budget(RelevancySettings(max_tokens_per_call=100), lambda: 0.0)
    budget.reserve("call", Estimate(1, 100))
    budget.forget("call")
    budget.reserve("call", Estimate(1, 100))
