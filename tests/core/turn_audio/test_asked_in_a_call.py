"""A call asks for the words of its finished turns, with the sound in which they were heard."""

from __future__ import annotations

import random

import numpy as np
import pytest

from connectors.inputs import Audio, CallEnded, Cut, Elapsed, Input, Text, Track, Transcribed
from monitor.core import turn_audio
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import Event
from monitor.core.questions import TranscribeRequest
from monitor.core.words import WordsSettings
from monitor.detectors import new_detector
from tests.builders import Speech, call, even, interleave, of, pieces, sound, speech, started, voice

SAID = (speech("agent", 600, 1800), speech("caller", 2300, 3600), speech("agent", 4100, 6000))
LENGTH = 9000


def asked_in(tape: list[Input], transcribed: bool = True) -> list[TranscribeRequest]:
    settings = CoreSettings(words=WordsSettings(wait_s=7, transcribed=transcribed))
    monitor = CallMonitor(settings, new_detector("energy"))
    out: list[TranscribeRequest] = []
    for given in tape:
        monitor.feed(given)
        out += monitor.untranscribed()
    return out


def around(said: Speech) -> bytes:
    """The sound of a turn with what goes with it."""
    return sound(SAID, LENGTH)[said.track][(said.start - 200) * 16 : (said.end + 300) * 16]


def test_each_finished_turn_is_asked_about_with_its_own_sound() -> None:
    asked = asked_in(call(*SAID, length=LENGTH))
    assert [(one.call, one.turn, one.role) for one in asked] == [
        ("call", 0, "assistant"),
        ("call", 1, "user"),
        ("call", 2, "assistant"),
    ]
    assert [one.pcm for one in asked] == [around(said) for said in SAID]
    assert [one.due_ms - one.at_ms for one in asked] == [7000] * 3


def test_nothing_is_asked_or_kept_unless_there_is_a_transcriber() -> None:
    assert asked_in(call(*SAID, length=LENGTH), transcribed=False) == []


@pytest.mark.parametrize("seed", range(5))
def test_the_same_is_asked_however_the_audio_comes(seed: int) -> None:
    rng = random.Random(seed)
    tracks = sound(SAID, LENGTH)
    parts = [pieces(track, pcm, [rng.randint(1, 4000) for _ in range(200)]) for track, pcm in tracks.items()]
    tape = [started(), *interleave(parts, rng), CallEnded(LENGTH, "hangup")]
    assert asked_in(tape) == asked_in(call(*SAID, length=LENGTH))


def test_of_delivered_audio_it_is_what_was_heard() -> None:
    """The agent's answer of four seconds comes at once at 1000 ms and is cut at 3000 ms."""
    caller: list[Input] = list(even("caller", sound((), 6000)["caller"]))
    tape: list[Input] = [started(timing="delivered"), *caller[:50], Audio("agent", 1000, voice(4000))]
    tape += [*caller[50:150], Elapsed(3000), Cut("agent", 3000), *caller[150:], Elapsed(6000)]
    (asked,) = asked_in([*tape, CallEnded(6000, "hangup")])
    played = np.frombuffer(asked.pcm, "<i2")
    played = np.trim_zeros(played)
    assert played.tobytes() == voice(4000)[: len(played) * 2]
    assert 1900 <= len(played) / 8 <= 2000


def test_the_words_of_the_source_are_not_asked_for() -> None:
    tape = call(*SAID, length=LENGTH)
    at = next(n for n, given in enumerate(tape) if isinstance(given, Audio) and given.at >= 1900)
    words = Text("agent", 1900, "Swift Parcel, how can I help?", "response")
    assert [one.turn for one in asked_in([*tape[:at], words, *tape[at:]])] == [1]


def test_sixteen_khz_of_one_track_stay_sixteen_khz() -> None:
    tracks: dict[Track, bytes] = sound(SAID, LENGTH)
    wide = np.repeat(np.frombuffer(tracks["caller"], "<i2"), 2).astype("<i2").tobytes()
    caller = [Audio("caller", at, wide[at * 32 : (at + 20) * 32], 16_000) for at in range(0, LENGTH, 20)]
    both = zip(caller, even("agent", tracks["agent"]), strict=True)
    asked = asked_in([started(), *(piece for pair in both for piece in pair), CallEnded(LENGTH, "hangup")])
    assert [(one.turn, one.rate) for one in asked] == [(0, 8000), (1, 16_000), (2, 8000)]
    assert asked[1].pcm == wide[(2300 - 200) * 32 : (3600 + 300) * 32]


def ended(tape: list[Input]) -> tuple[list[Event], CallMonitor]:
    monitor = CallMonitor(CoreSettings(words=WordsSettings(transcribed=True)), new_detector("energy"))
    return [event for given in tape for event in monitor.feed(given)], monitor


def test_the_summary_says_what_the_words_took_and_none_without_a_transcriber() -> None:
    told, monitor = ended(call(*SAID, length=LENGTH))
    answers = [
        Text("agent", LENGTH, "Hello.", "transcript", turn=0, took=Transcribed(2, 3.4, 0.25)),
        Text("caller", LENGTH, "", "transcript", turn=1, took=Transcribed(1, 1.7, 0.5)),
        Text("agent", LENGTH, "", "transcript", turn=2),
    ]
    told += [event for given in answers for event in monitor.feed(given)]
    (last,) = of(told, "call.ended")
    assert last.summary["transcription"] == {
        "turns": 3,
        "worded": 1,
        "lost": 0,
        "requests": 3,
        "seconds": 5.1,
        "cost_usd": 0.75,
    }
    plain = CallMonitor(CoreSettings(), new_detector("energy"))
    (last,) = of([event for given in call(*SAID) for event in plain.feed(given)], "call.ended")
    assert last.summary["transcription"] is None


def test_a_cost_of_which_a_part_is_not_known_is_not_known() -> None:
    _, monitor = ended(call(*SAID, length=LENGTH))
    for turn, cost in enumerate((0.25, None)):
        monitor.feed(Text("agent", LENGTH, "Hello.", "transcript", turn=turn, took=Transcribed(1, 1.0, cost)))
    (last,) = of(monitor.finish(), "call.ended")
    assert last.summary["transcription"]["cost_usd"] is None
    _, monitor = ended(call(*SAID, length=LENGTH))
    (last,) = of(monitor.finish(), "call.ended")
    assert (last.summary["transcription"]["requests"], last.summary["transcription"]["cost_usd"]) == (0, None)


def test_turns_whose_sound_is_not_kept_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_audio, "MAX_ASKED_BYTES", 30_000)  # nobody takes what is asked: room for one turn
    told, _ = ended(call(*SAID, length=LENGTH))
    (notice,) = (event for event in of(told, "notice") if event.kind == "untranscribed")
    assert (notice.count, notice.message[:29]) == (2, "2 turns were not transcribed:")
