"""What transcribing may take: turns at once, turns that wait, sound that waits, and the money of a call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitor.core.relevancy_settings import RelevancySettings
from monitor.runtime import transcribing as room
from monitor.runtime.judge_budget import Budget
from tests.transcribers.paced import Answering, Stage, failing
from tests.transcribers.turns import finished


async def test_so_many_are_in_flight_so_many_wait_and_the_rest_is_told_of() -> None:
    stage = Stage(delay_s=1, max_in_flight=2, max_waiting=3)
    answers = await stage.told(*map(finished, range(8)))
    assert stage.transcriber.most_at_once == 2
    assert sorted(text.turn for text in answers.texts if text.text) == [0, 1, 2, 3, 4]  # type: ignore[type-var]
    assert answers.kinds == ["transcriber_overload"]
    assert stage.transcribing.status.overflowed == 3


async def test_the_sound_that_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = finished()
    monkeypatch.setattr(room, "MAX_WAITING_BYTES", 3 * len(turn.pcm))
    answers = await Stage(delay_s=1).told(*map(finished, range(5)))
    assert sum(bool(text.text) for text in answers.texts) == 3
    assert answers.kinds == ["transcriber_overload"]


def limited(clock: Callable[[], float], usd: float) -> Budget:
    settings = RelevancySettings(
        max_cost_per_call=usd, usd_per_million_input_tokens=1.0, usd_per_million_output_tokens=1.0
    )
    return Budget(settings, clock)


async def test_the_cost_counts_in_the_budget_of_the_call() -> None:
    budget = limited(lambda: 0.0, 0.5)
    stage = Stage(budget=budget, usd_per_minute=6.0, max_in_flight=1)  # a turn of 1.5 s is 0.15 $
    answers = await stage.told(*map(finished, range(4)), finished(0, call="other"))
    assert [bool(text.text) for text in answers.texts] == [True, True, True, False]
    assert answers.kinds == ["transcriber_cost"]
    assert "$0.5" in answers.notices[0].message
    assert (budget.of("call").usd, budget.of("other").usd) == pytest.approx((0.45, 0.15))
    assert [text.text for text in stage.calls["other"].texts] == ["other 0"]


@pytest.mark.parametrize(
    ("script", "usd"),
    [([failing("refusal")], 0.15), ([failing("rate_limit")] * 9, 0.0), ([failing("timeout")] * 2, 0.45)],
)
async def test_what_may_be_on_the_bill_stays_in_the_budget(script: list[Answering], usd: float) -> None:
    budget = limited(lambda: 0.0, 9.0)
    await Stage(*script, budget=budget, usd_per_minute=6.0).told(finished())
    assert budget.of("call").usd == pytest.approx(usd)


async def test_what_is_given_up_at_the_deadline_may_be_on_the_bill() -> None:
    budget = limited(lambda: 0.0, 9.0)
    await Stage(delay_s=60, budget=budget, usd_per_minute=6.0).told(finished())
    assert budget.of("call").usd == pytest.approx(0.15)


async def test_a_thousand_calls_at_once_stay_within_the_limits() -> None:
    stage = Stage(delay_s=1.5)
    calls = [f"call-{number}" for number in range(1000)]
    for turn in range(3):
        stage.ask(*(finished(turn, call=call, ms=20) for call in calls))
    await stage.transcribing.answered()
    await stage.transcribing.close()
    status = stage.transcribing.status
    assert stage.transcriber.most_at_once == 2
    assert (status.waiting, status.answered, status.overflowed) == (0, 3000, 3000 - 202)
    assert status.worded == 2 * 6  # so many end within the deadline
    for call, answers in stage.calls.items():
        assert sorted(str(text.turn) for text in answers.texts) == ["0", "1", "2"]
        assert all(text.text in ("", f"{call} {text.turn}") for text in answers.texts)
        assert len(set(answers.kinds)) == len(answers.kinds) > 0
