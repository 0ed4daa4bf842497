"""The transcriber behind OpenAI's audio endpoint, through the real client and a real server on loopback."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from starlette.responses import JSONResponse, PlainTextResponse

from monitor.transcribers import TranscribeFailure, Transcription, new_transcriber
from monitor.transcribers.openai import MAX_BODY, OpenAITranscriber, openai_transcriber
from monitor.transcribers.settings import TranscriberSettings
from tests.judges.loopback import CutAnswer, unused_address
from tests.transcribers.audio_server import Answering, AudioServer, error, silence, words
from tests.transcribers.turns import finished

KEY = "sk-secret-4711"


async def transcribed(server: AudioServer, request: Any = None, **more: Any) -> Transcription:
    """What comes of a turn."""
    async with server.listening() as url:
        transcriber = OpenAITranscriber("m", base_url=url, api_key=KEY, **more)
        try:
            return await transcriber.transcribe(request or finished())
        finally:
            await transcriber.close()


async def failure(answering: Answering, **more: Any) -> TranscribeFailure:
    """What comes of a turn that the server answers like this."""
    with pytest.raises(TranscribeFailure) as raised:
        await transcribed(AudioServer([answering]), **more)
    assert KEY not in str(raised.value)
    assert "\n" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("rate", [8000, 16000])
async def test_a_turn_is_one_request_with_its_sound_as_a_wav_file(rate: int) -> None:
    server, request = AudioServer([words(" Where is it? ")]), finished(rate=rate)
    found = await transcribed(server, request, language="en", usd_per_minute=0.006)
    assert found.text.strip() == "Where is it?"
    assert found.seconds == len(request.pcm) / 2 / rate
    assert found.cost_usd == pytest.approx(0.006 * found.seconds / 60)
    (sent,) = server.sent
    assert sent.fields == {"model": "m", "response_format": "json", "language": "en"}
    assert (sent.name, sent.rate, sent.key) == ("turn.wav", rate, f"Bearer {KEY}")
    assert np.array_equal(sent.samples, np.frombuffer(request.pcm, "<i2"))


async def test_without_a_price_the_cost_is_unknown_and_no_language_is_named() -> None:
    server = AudioServer()
    assert (await transcribed(server)).cost_usd is None
    assert "language" not in server.sent[0].fields


async def test_nothing_recognised_is_an_answer() -> None:
    assert (await transcribed(AudioServer([words("")]))).text == ""


@pytest.mark.parametrize(
    ("answering", "kind"),
    [
        (error(401, message=f"wrong key {KEY}"), "configuration"),
        (error(404, "model_not_found"), "configuration"),
        (error(429, "insufficient_quota"), "quota"),
        (error(429, "rate_limit_exceeded"), "rate_limit"),
        (error(500), "server"),
        (error(400, message="Audio file might be corrupted"), "refusal"),
        (words(None), "broken"),
        (words(7), "broken"),
        (lambda _: PlainTextResponse("<html>hello</html>"), "broken"),
        (lambda _: PlainTextResponse("x" * (MAX_BODY + 1)), "broken"),
        (lambda _: JSONResponse({"error": {"code": 503, "message": "busy"}}), "server"),
        (lambda _: CutAnswer(b'{"text": "Hel'), "unreachable"),
    ],
)
async def test_what_is_no_transcription_is_a_failure_of_its_kind(answering: Answering, kind: str) -> None:
    assert (await failure(answering)).kind == kind


async def test_the_servers_wish_to_be_left_alone_is_passed_on() -> None:
    assert (await failure(error(429, retry_after="7"))).retry_after_s == 7


async def test_a_server_that_never_answers_is_left_after_the_time_out() -> None:
    assert (await failure(silence, timeout_s=0.05)).kind == "timeout"


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    transcriber = OpenAITranscriber("m", base_url=unused_address())
    with pytest.raises(TranscribeFailure) as raised:
        await transcriber.transcribe(finished())
    await transcriber.close()
    assert raised.value.kind == "unreachable"


async def test_without_a_key_openai_is_not_asked() -> None:
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        openai_transcriber(TranscriberSettings(kind="openai"), {})
    transcriber = OpenAITranscriber()
    assert transcriber.name == "gpt-4o-mini-transcribe"
    with pytest.raises(TranscribeFailure, match="OPENAI_API_KEY") as raised:
        await transcriber.transcribe(finished())
    assert raised.value.kind == "configuration"
    assert raised.value.spent is not None
    assert raised.value.spent.requests == 0


async def test_settings_and_environment_make_the_transcriber() -> None:
    server = AudioServer()
    async with server.listening() as url:
        settings = TranscriberSettings(kind="openai", model="whisper-1", language="fr")
        transcriber = openai_transcriber(settings, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url})
        await transcriber.transcribe(finished())
        await transcriber.close()
    (sent,) = server.sent
    assert (sent.fields["model"], sent.fields["language"], sent.key) == ("whisper-1", "fr", f"Bearer {KEY}")


def test_nothing_heavy_is_loaded_before_the_first_turn() -> None:
    code = """
import sys
from monitor.transcribers import new_transcriber
from monitor.transcribers.settings import TranscriberSettings
for kind in ("openai", "whisper"):
    new_transcriber(TranscriberSettings(kind=kind, base_url="http://127.0.0.1:1/v1"))
assert not {"openai", "faster_whisper", "ctranslate2", "av"} & set(sys.modules), "too early"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_off_is_nobody() -> None:
    assert new_transcriber(TranscriberSettings()) is None
