"""Judges with faults of their own, calls that are gone, and the stop of the program: nothing is left open."""

from __future__ import annotations

import asyncio

import pytest

from connectors.inputs import Verdicts
from monitor.judges import JudgeAnswer
from tests.judges.conversations import batch
from tests.runtime.asking.hurried import Answers, HurriedClock, PacedJudge, all_yes, asking_of


async def test_a_judge_with_a_fault_of_its_own_is_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def crash(_: object) -> JudgeAnswer:
        raise ZeroDivisionError

    clock = HurriedClock()
    asking, answers = asking_of(PacedJudge(clock, [crash]), clock), Answers()
    asking.ask(batch(), answers.verdicts.append)
    await asking.answered()
    await asking.close()
    assert answers.words() == ["unscored"] * 3
    assert "please report it" in str(answers.reasons()[0])
    assert "ZeroDivisionError" in caplog.text


async def test_a_call_that_cannot_take_its_answer_keeps_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Verdicts) -> None:
        raise KeyError("closed")

    clock = HurriedClock()
    asking, answers = asking_of(PacedJudge(clock), clock), Answers()
    asking.ask(batch(call="broken"), broken)
    asking.ask(batch(), answers.verdicts.append)
    await asking.answered()
    await asking.close()
    assert answers.words() == ["yes"] * 3
    assert "could not be given to its call" in caplog.text


async def test_a_batch_without_turns_is_answered_without_asking() -> None:
    clock = HurriedClock()
    judge, answers = PacedJudge(clock), Answers()
    asking = asking_of(judge, clock)
    asking.ask(batch(asked=[]), answers.verdicts.append)
    assert answers.words() == []
    await asking.close()
    assert judge.asked == []


async def test_a_call_that_is_cancelled_gets_its_answer_now_and_the_others_theirs_in_time() -> None:
    clock = HurriedClock()
    judge, gone, other = PacedJudge(clock, delay_s=3.0), Answers(), Answers()
    asking = asking_of(judge, clock, max_in_flight=1)
    asking.ask(batch(call="gone"), gone.verdicts.append)
    asking.ask(batch(call="other"), other.verdicts.append)
    await asyncio.sleep(0)
    asking.cancel("gone")
    assert gone.words() == ["unscored"] * 3
    assert asking.waiting("gone") == 0
    assert asking.waiting("other") == 1
    await asking.answered("other")
    await asking.close()
    assert other.words() == ["yes"] * 3
    assert len(gone.verdicts) == 1


async def test_a_stop_waits_as_long_as_it_may_and_leaves_nothing_open() -> None:
    clock = HurriedClock()
    quick, slow = Answers(), Answers()
    asking = asking_of(PacedJudge(clock, [all_yes], delay_s=1.0), clock)
    asking.ask(batch(), quick.verdicts.append)
    await asking.close(within_s=5.0)
    assert quick.words() == ["yes"] * 3

    loop_bound = PacedJudge(clock, [lambda _: JudgeAnswer(())])
    asking = asking_of(loop_bound, clock)
    asking.ask(batch(), slow.verdicts.append)
    await asking.close()
    asking.ask(batch(number=1), slow.verdicts.append)
    assert slow.words(0) == slow.words(1) == ["unscored"] * 3
    assert "stopped" in str(slow.reasons(1)[0])
    assert loop_bound.closed == 1
    left = [task for task in asyncio.all_tasks() if task.get_name().startswith("judge")]
    assert left == []
