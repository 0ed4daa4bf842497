"""Every turn that is asked about is answered exactly once, whatever the judge does, and nobody waits for it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from connectors.inputs import Verdict, Verdicts
from monitor.judges import JudgeAnswer
from tests.judges.conversations import batch
from tests.runtime.asking.hurried import (
    Answering,
    Answers,
    HurriedClock,
    PacedJudge,
    all_yes,
    asking_of,
    failing,
    silent_on,
)


async def told(judge: PacedJudge, clock: HurriedClock, **settings: Any) -> Answers:
    """What one call is told of one batch."""
    asking, answers = asking_of(judge, clock, **settings), Answers()
    asking.ask(batch(), answers.verdicts.append, answers.tell)
    await asking.answered("call")
    await asking.close()
    return answers


async def test_an_answer_comes_back_with_the_batch_and_what_it_took() -> None:
    clock = HurriedClock()
    answers = await told(PacedJudge(clock), clock)
    assert answers.verdicts == [
        Verdicts(6000, 0, "paced", tuple(Verdict(index, "yes") for index in (1, 3, 5)), 1, 100, 10, 0.001)
    ]
    assert answers.notices == []


async def test_turns_that_the_judge_says_nothing_of_are_asked_about_once_more_alone() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, [silent_on(3, 5), silent_on(5)])
    answers = await told(judge, clock)
    assert [indexes for _, indexes in judge.asked] == [[1, 3, 5], [3, 5]]
    assert answers.words() == ["yes", "yes", "unscored"]
    assert answers.reasons()[2]
    assert (answers.verdicts[0].requests, answers.verdicts[0].input_tokens) == (2, 200)


async def test_an_unclear_answer_keeps_its_own_reason() -> None:
    def unclear(request: object) -> JudgeAnswer:
        return JudgeAnswer((Verdict(1, "yes"), Verdict(3, "unscored", "mumbles"), Verdict(5, "unscored")))

    clock = HurriedClock()
    answers = await told(PacedJudge(clock, [unclear, failing("server"), failing("refusal")]), clock)
    assert answers.words() == ["yes", "unscored", "unscored"]
    assert answers.reasons()[1:] == ["mumbles", "the judge says nothing clear of this turn"]


async def test_foreign_and_doubled_verdicts_of_any_judge_do_no_harm() -> None:
    def wild(request: object) -> JudgeAnswer:
        return JudgeAnswer((Verdict(1, "yes"), Verdict(3, "no"), Verdict(3, "yes"), Verdict(77, "no")))

    clock = HurriedClock()
    answers = await told(PacedJudge(clock, otherwise=wild), clock)
    assert [verdict.index for verdict in answers.verdicts[0].verdicts] == [1, 3, 5]
    assert answers.words() == ["yes", "unscored", "unscored"]


@pytest.mark.parametrize("kind", ["rate_limit", "server", "timeout", "unreachable"])
async def test_what_passes_is_waited_for_longer_each_time(kind: str) -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, [failing(kind)] * 2)
    answers = await told(judge, clock)
    assert answers.words() == ["yes"] * 3
    pauses = [after - before for before, after in zip(judge.times, judge.times[1:], strict=False)]
    assert pauses == pytest.approx([0.25, 0.5])
    assert answers.verdicts[0].requests == 3


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
async def test_a_server_that_names_a_time_is_left_alone_as_long(jitter: float) -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, [failing("rate_limit", 2.0)] * 2)
    asking, answers = asking_of(judge, clock, jitter), Answers()
    asking.ask(batch(), answers.verdicts.append)
    await asking.answered()
    await asking.close()
    assert answers.words() == ["yes"] * 3
    assert len(judge.times) == 3
    assert all(2.0 <= after - before <= 2.25 for before, after in zip(judge.times, judge.times[1:], strict=False))


async def test_a_wish_beyond_the_deadline_is_not_waited_for() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, [failing("rate_limit", 60.0)])
    answers = await told(judge, clock)
    assert answers.words() == ["unscored"] * 3
    assert "no time for another try" in str(answers.reasons()[0])
    assert clock.now() == 0.0


async def test_while_the_server_limits_the_rate_no_other_call_asks_it() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, [failing("rate_limit", 5.0)])
    asking = asking_of(judge, clock, max_in_flight=1)
    calls = [Answers() for _ in range(4)]
    for number, answers in enumerate(calls):
        asking.ask(batch(call=f"call {number}"), answers.verdicts.append)
    await asking.answered()
    await asking.close()
    assert judge.times == [0.0, 5.0, 5.0, 5.0, 5.0]
    assert all(answers.words() == ["yes"] * 3 for answers in calls)


@pytest.mark.parametrize(("kind", "requests"), [("refusal", 1), ("broken", 2), ("rate_limit", 5), ("server", 3)])
async def test_an_outage_is_unscored_and_never_a_no(kind: str, requests: int) -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, otherwise=failing(kind))
    answers = await told(judge, clock)
    assert answers.words() == ["unscored"] * 3
    assert all(str(reason).startswith(f"{kind} at the judge") for reason in answers.reasons())
    assert len(judge.asked) == answers.verdicts[0].requests == requests


async def test_a_judge_that_never_answers_is_given_up_at_the_deadline() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, delay_s=1e6)
    answers = await told(judge, clock, deadline_s=20)
    assert answers.words() == ["unscored"] * 3
    assert answers.reasons() == ["the judge did not answer within 20 seconds"] * 3
    assert clock.now() == 19.5  # in time for the core, which gives it up at 20
    assert answers.verdicts[0].requests == 1
    assert judge.at_once == 0


async def test_what_is_known_at_the_deadline_is_kept() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, [silent_on(5)], delay_s=15.0)
    answers = await told(judge, clock)
    assert answers.words() == ["yes", "yes", "unscored"]
    assert "20 seconds" in str(answers.reasons()[2])


@pytest.mark.parametrize("kind", ["quota", "configuration"])
async def test_where_asking_is_no_use_the_judge_is_asked_once_and_each_call_told_once(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, otherwise=failing(kind))
    asking = asking_of(judge, clock)
    calls = [Answers(), Answers()]
    for number in range(3):
        for name, answers in enumerate(calls):
            asking.ask(batch(call=f"call {name}", number=number), answers.verdicts.append, answers.tell)
        if number == 0:
            await asking.answered()
    assert asking.status.disabled == f"{kind} at the judge"
    await asking.close()
    assert len(judge.asked) <= 2  # both calls were on their way before the first answer came
    for answers in calls:
        assert answers.kinds == ["judge_disabled"]
        assert all(answers.words(number) == ["unscored"] * 3 for number in range(3))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_a_spent_quota_is_looked_at_again_after_a_while() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, [failing("quota")])
    asking, answers = asking_of(judge, clock), Answers()
    asking.ask(batch(), answers.verdicts.append, answers.tell)
    await asking.answered()
    await clock.sleep(901)
    asking.ask(batch(number=1), answers.verdicts.append, answers.tell)
    await asking.answered()
    await asking.close()
    assert answers.words(0) == ["unscored"] * 3
    assert answers.words(1) == ["yes"] * 3


FAULTS: list[Answering] = [
    all_yes,
    silent_on(1),
    silent_on(1, 3, 5),
    *(failing(kind) for kind in ("refusal", "rate_limit", "timeout", "unreachable", "server", "broken")),
]


@pytest.mark.parametrize("first", range(len(FAULTS)))
async def test_any_order_of_faults_ends_with_one_verdict_for_each_turn(first: int) -> None:
    for second in FAULTS:
        for third in FAULTS:
            clock = HurriedClock()
            answers = await told(PacedJudge(clock, [FAULTS[first], second, third]), clock)
            assert len(answers.verdicts) == 1
            assert [verdict.index for verdict in answers.verdicts[0].verdicts] == [1, 3, 5]
            assert "no" not in answers.words()
            assert all(one.verdict == "yes" or one.reason for one in answers.verdicts[0].verdicts)
