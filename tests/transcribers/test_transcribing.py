"""Every finished turn is answered exactly once, with words or with none, whatever the transcriber does."""

from __future__ import annotations

import asyncio

import pytest

from connectors.inputs import Text, Transcribed
from monitor.runtime.transcribing import Transcribing
from monitor.transcribers.openai import OpenAITranscriber
from monitor.transcribers.settings import TranscriberSettings
from tests.transcribers.audio_server import AudioServer, error, words
from tests.transcribers.paced import Answers, Stage, crashing, failing
from tests.transcribers.turns import finished


async def test_words_come_back_with_their_turn_and_their_track() -> None:
    answers = await Stage().told(finished(1), finished(2))
    assert answers.texts == [
        Text("caller", 6000, "call 1", "transcript", turn=1, took=Transcribed(1, 1.5, None)),
        Text("agent", 6000, "call 2", "transcript", turn=2, took=Transcribed(1, 1.5, None)),
    ]
    assert answers.notices == []


@pytest.mark.parametrize("kind", ["rate_limit", "server", "timeout", "unreachable"])
async def test_what_passes_is_waited_for_longer_each_time(kind: str) -> None:
    stage = Stage(*[failing(kind)] * 2)
    assert (await stage.told(finished())).texts[0].text == "call 1"
    pauses = [
        after - before for before, after in zip(stage.transcriber.times, stage.transcriber.times[1:], strict=False)
    ]
    assert pauses == pytest.approx([0.25, 0.5])


async def test_a_garbled_answer_is_asked_for_once_more() -> None:
    assert (await Stage(failing("broken")).told(finished())).texts[0].text == "call 1"
    answers = await Stage(*[failing("broken")] * 2).told(finished())
    assert [text.text for text in answers.texts] == [""]
    assert answers.kinds == ["transcriber_failed"]


async def test_a_failure_is_no_words_and_is_told_once() -> None:
    answers = await Stage(failing("refusal"), failing("refusal"), crashing).told(*map(finished, range(4)))
    assert [text.text for text in answers.texts] == ["", "", "", "call 3"]
    assert answers.kinds == ["transcriber_failed"]
    assert "refusal at the transcriber" in answers.notices[0].message


@pytest.mark.parametrize("kind", ["configuration", "quota"])
async def test_a_transcriber_that_is_no_good_is_asked_no_more_and_each_call_is_told_once(kind: str) -> None:
    stage = Stage(failing(kind), max_in_flight=1)
    await stage.told(finished(1), finished(2), finished(3, call="other"))
    assert len(stage.transcriber.times) == 1
    assert stage.transcribing.status.disabled
    assert [answers.kinds for answers in stage.calls.values()] == [["transcriber_disabled"]] * 2
    assert [text.text for answers in stage.calls.values() for text in answers.texts] == [""] * 3


async def test_a_quota_may_be_filled_up_again() -> None:
    stage = Stage(failing("quota"))
    stage.ask(finished(1))
    await stage.transcribing.answered()
    await stage.clock.sleep(901)
    assert [text.text for text in (await stage.told(finished(2))).texts] == ["", "call 2"]


async def test_all_calls_wait_as_long_as_the_server_wishes() -> None:
    stage = Stage(failing("rate_limit", retry_after_s=4), max_in_flight=1)
    await stage.told(finished(1), finished(1, call="other"))
    assert stage.transcriber.times == [0, 4, 4]
    stage = Stage(failing("rate_limit", retry_after_s=60), max_in_flight=1)
    await stage.told(finished(1), finished(1, call="other"))
    assert [text.text for answers in stage.calls.values() for text in answers.texts] == ["", ""]
    assert stage.clock.seconds < 60


async def test_after_the_deadline_a_turn_has_no_words_and_the_late_ones_are_nobodys() -> None:
    stage = Stage(delay_s=11)
    answers = await stage.told(finished())
    assert stage.clock.seconds == 10
    assert [text.text for text in answers.texts] == [""]
    assert answers.kinds == ["transcriber_failed"]
    assert "10 seconds" in answers.notices[0].message


async def test_a_call_that_gives_up_and_a_program_that_stops_get_no_words_at_once() -> None:
    stage = Stage(delay_s=5)
    stage.ask(finished(1), finished(2), finished(1, call="other"))
    stage.transcribing.cancel("call")
    assert [text.text for text in stage.calls["call"].texts] == ["", ""]
    assert (stage.transcribing.waiting("call"), stage.transcribing.waiting("other")) == (0, 1)
    await stage.transcribing.close()
    stage.ask(finished(2, call="other"))
    assert [text.text for text in stage.calls["other"].texts] == ["", ""]
    assert stage.calls["call"].notices == stage.calls["other"].notices == []


async def test_a_stop_waits_a_moment_for_what_is_on_its_way() -> None:
    stage = Stage(delay_s=0.001)
    stage.ask(finished(1))
    await stage.transcribing.close(within_s=5)
    assert [text.text for text in stage.calls["call"].texts] == ["call 1"]


async def test_a_call_that_cannot_take_its_words_does_no_harm_to_others(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(failing("refusal"), max_in_flight=1)

    def gone(_: object) -> None:
        raise RuntimeError("the call is gone")

    stage.transcribing.ask(finished(1), gone, gone)
    answers = await stage.told(finished(2))
    assert [text.text for text in answers.texts] == ["call 2"]
    assert "please report" in caplog.text


async def test_through_the_real_client_trouble_passes_and_the_words_come() -> None:
    script = [error(429, "rate_limit_exceeded", retry_after_ms="10"), error(500), words(None), words("Where is it?")]
    server = AudioServer(script)
    async with server.listening() as url:
        transcriber = OpenAITranscriber("m", base_url=url)
        transcribing = Transcribing(transcriber, TranscriberSettings(kind="openai"), jitter=lambda: 0.0)
        answers = Answers()
        transcribing.ask(finished(), answers.texts.append, answers.notices.append)
        async with asyncio.timeout(9):
            await transcribing.answered("call")
        await transcribing.close()
    assert [text.text for text in answers.texts] == ["Where is it?"]
    assert answers.notices == []
    assert len(server.sent) == 4
