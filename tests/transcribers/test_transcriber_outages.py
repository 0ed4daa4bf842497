"""A transcriber that is down is left alone and tried again; what the words of a turn have cost comes with them."""

from __future__ import annotations

import logging

import pytest

from connectors.inputs import Transcribed
from monitor.runtime.far_side import OPEN_AFTER
from tests.transcribers.paced import Answering, Stage, failing, saying
from tests.transcribers.turns import finished


@pytest.mark.parametrize("kind", ["server", "timeout", "unreachable"])
async def test_a_transcriber_that_is_down_costs_a_few_requests_and_is_told_once(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(otherwise=failing(kind))
    for turn in range(30):
        stage.ask(finished(turn))
        await stage.transcribing.answered()
    assert len(stage.transcriber.times) == OPEN_AFTER
    assert stage.clock.seconds < 2
    answers = stage.calls["call"]
    assert [text.text for text in answers.texts] == [""] * 30
    assert answers.kinds == ["transcriber_unavailable"]
    (line,) = (record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING)
    assert line.startswith(f"the transcriber paced fails: {kind} at the transcriber")
    assert "Turns that it does not answer have no words; the calls go on" in line
    await stage.transcribing.close()


async def test_it_is_tried_again_and_its_return_is_told(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(*[failing("unreachable")] * (OPEN_AFTER + 1))
    for turn in range(20):
        stage.ask(finished(turn))
        await stage.transcribing.answered()
        await stage.clock.sleep(1)
    assert [bool(text.text) for text in stage.calls["call"].texts][-5:] == [True] * 5
    assert "the transcriber paced answers again" in caplog.records[-1].getMessage()
    await stage.transcribing.close()


async def test_one_that_never_answers_is_found_out_too() -> None:
    stage = Stage(delay_s=1e6)
    for turn in range(10):
        stage.ask(finished(turn))
        await stage.transcribing.answered()
    assert stage.clock.seconds == OPEN_AFTER * 10
    await stage.transcribing.close()


@pytest.mark.parametrize(
    ("script", "took"),
    [
        ([], Transcribed(1, 1.5, 0.15)),
        ([saying("")], Transcribed(1, 1.5, 0.15)),
        ([failing("timeout")], Transcribed(2, 3.0, 0.3)),  # the one that timed out may well be on the bill
        ([failing("rate_limit")], Transcribed(2, 1.5, 0.15)),
        ([failing("refusal")], Transcribed(1, 1.5, 0.15)),
        ([failing("configuration")], Transcribed(1, 0.0, 0.0)),
    ],
)
async def test_the_words_of_a_turn_say_what_they_took(script: list[Answering], took: Transcribed) -> None:
    (text,) = (await Stage(*script, usd_per_minute=6.0).told(finished())).texts
    assert text.took is not None
    assert text.took.requests == took.requests
    assert (text.took.seconds, text.took.cost_usd) == pytest.approx((took.seconds, took.cost_usd))


async def test_a_turn_that_nobody_was_asked_about_took_nothing() -> None:
    stage = Stage(failing("configuration"), max_in_flight=1)
    texts = (await stage.told(finished(1), finished(2))).texts
    assert [text.took is None for text in texts] == [False, True]


async def test_what_is_given_up_at_the_deadline_says_what_it_may_have_taken() -> None:
    (text,) = (await Stage(delay_s=60, usd_per_minute=6.0).told(finished())).texts
    assert text.took == Transcribed(1, 1.5, pytest.approx(0.15))
