"""A thousand calls at once before a slow judge: within every limit, memory bounded, and what was not judged is said."""

from __future__ import annotations

import gc
import math
import tracemalloc

from monitor.core.questions import JudgeRequest
from monitor.judges import JudgeAnswer
from tests.judges.conversations import CALL, batch
from tests.runtime.asking.hurried import Answers, HurriedClock, PacedJudge, all_yes, asking_of, failing

CALLS = 1000


async def test_a_thousand_calls_before_a_slow_judge_stay_within_the_limits_and_each_is_answered() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock, delay_s=2.0)
    asking = asking_of(judge, clock, max_in_flight=4, max_waiting=300, deadline_s=20)
    calls = [Answers() for _ in range(CALLS)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for name, answers in enumerate(calls):
        asking.ask(batch(call=f"call {name}"), answers.verdicts.append, answers.tell)
    assert asking.status.waiting == 304
    assert asking.status.overflowed == CALLS - 304
    await asking.answered()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert judge.most_at_once == 4
    assert clock.now() <= 20.0
    words = [answers.words()[0] for answers in calls]
    assert words.count("yes") == 4 * 9
    assert words.count("no") == 0
    behind = [answers for answers in calls if "judge_overload" in answers.kinds]
    assert len(behind) == CALLS - 304
    assert all("300 questions wait" in str(answers.reasons()[0]) for answers in behind)
    late = [answers for answers in calls if "did not answer within 20 seconds" in str(answers.reasons()[0])]
    assert len(late) + len(behind) + words.count("yes") == CALLS
    assert peak < 10_000_000
    assert asking.status.waiting == asking.status.in_flight == 0
    await asking.close()


async def test_three_rounds_of_a_thousand_calls_leave_no_more_behind_than_one() -> None:
    clock = HurriedClock()
    judge = PacedJudge(clock)
    asking = asking_of(judge, clock)
    kept: list[int] = []
    answered = 0

    def count(_: object) -> None:
        nonlocal answered
        answered += 1

    tracemalloc.start()
    for number in range(3):
        for name in range(CALLS):
            asking.ask(batch(CALL[:2], call=f"call {name}", number=number), count)
        await asking.answered()
        judge.asked.clear()
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert answered == 3 * CALLS
    assert kept[2] - kept[1] < 100_000  # a question alone has more than a thousand bytes
    await asking.close()


async def test_calls_that_are_over_leave_nothing_behind() -> None:
    clock = HurriedClock()
    asking = asking_of(PacedJudge(clock), clock)
    for name in range(300):
        asking.ask(batch(CALL[:2], call=f"call {name}"), lambda _: None)
        await asking.answered(f"call {name}")
        asking.forget(f"call {name}")
    assert len(asking._way.budget._calls) == 0
    assert not asking._open
    assert not asking._tasks
    assert not asking._awaited._open_of
    await asking.close()


async def test_two_hundred_turns_at_once_take_no_more_requests_than_batches_and_tries() -> None:
    """Fault B57 (c)."""
    clock = HurriedClock()
    failures = [failing("server"), failing("timeout"), failing("rate_limit", 1.0)]
    judge = PacedJudge(clock, failures, delay_s=0.5)
    asking, answers = asking_of(judge, clock), Answers()
    words = ["word"] * 400
    turns = range(1, 400, 2)
    for number, start in enumerate(range(0, 200, 6)):
        asking.ask(batch(words, turns[start : start + 6], number=number), answers.verdicts.append)
    await asking.answered()
    await asking.close()
    assert judge.most_at_once <= 4
    assert len(judge.asked) <= math.ceil(200 / 6) + len(failures)
    assert sum(len(one.verdicts) for one in answers.verdicts) == 200
    assert all(verdict.verdict == "yes" for one in answers.verdicts for verdict in one.verdicts)


async def test_an_outage_of_a_minute_is_not_asked_at_without_end() -> None:
    """Fault B55: 500 on every request for 60 s of a busy service."""
    clock = HurriedClock()

    def down(request: JudgeRequest) -> JudgeAnswer:
        return failing("server")(request) if clock.now() < 60 else all_yes(request)

    judge = PacedJudge(clock, otherwise=down, delay_s=0.1)
    asking = asking_of(judge, clock)
    calls = [Answers() for _ in range(20)]
    for number in range(10):
        for name, answers in enumerate(calls):
            asking.ask(batch(call=f"call {name}", number=number), answers.verdicts.append, answers.tell)
        await clock.sleep(10)
    await asking.answered()
    await asking.close()
    for answers in calls:
        assert [answers.words(number)[0] for number in (0, 1, 2, 3)] == ["unscored"] * 4
        assert answers.words(9)[0] == "yes"
        assert answers.kinds == ["judge_unavailable"]
    assert judge.most_at_once <= 4
    assert len([at for at in judge.times if at < 60]) <= 4 * 3 + 5
