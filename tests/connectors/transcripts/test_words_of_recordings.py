"""The words of a recording come where they had been said, however the recording is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import connectors
from connectors.base import ConnectorError
from connectors.inputs import Audio, CallEnded, CallStarted, Input, Notice, Text, TrackFormat
from connectors.source import SourceOptions
from connectors.spoken_words import WordsBetween
from connectors.transcript_file import Spoken, Transcript
from tests.builders import even, of, speech, watch
from tests.connectors.recordings.takes import notices_of, save, stereo, take, tracks_of

HELLO = {"role": "assistant", "start_time": 0.503, "duration": 1.004, "text": "Swift Parcel, how can I help?"}
PARCEL = {"role": "user", "start_time": 2.0, "duration": 1.5, "text": "Where is my parcel?"}
HERE = {"role": "assistant", "start_time": 4.2, "duration": 1.1, "text": "It is on a van."}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    said = (speech("agent", 500, 1500), speech("caller", 2000, 3500), speech("agent", 4200, 5300))
    return save(tmp_path / "call.wav", stereo(*said, length=6000))


def beside(recording: Path, *turns: dict[str, Any]) -> None:
    recording.with_suffix(".json").write_text(json.dumps({"turns": turns}), "utf-8")


def words_of(inputs: list[Input]) -> list[Text]:
    return [given for given in inputs if isinstance(given, Text)]


def heard_before(inputs: list[Input], text: Text) -> dict[str, int]:
    """How many ms of each track come before these words."""
    before = inputs[: inputs.index(text)]
    return {track: len(pcm) // 16 for track, pcm in tracks_of(before).items()}


@pytest.mark.parametrize("piece_ms", [7, 40, 1000, 60_000])
def test_words_stand_where_they_had_been_said_for_any_size_of_pieces(recording: Path, piece_ms: int) -> None:
    silent = take(recording, SourceOptions(piece_ms=piece_ms))
    beside(recording, HERE, HELLO, PARCEL)
    inputs = take(recording, SourceOptions(piece_ms=piece_ms))
    words = words_of(inputs)
    assert words == [
        Text("agent", 1507, "Swift Parcel, how can I help?", "transcript", start=503),
        Text("caller", 3500, "Where is my parcel?", "transcript", start=2000),
        Text("agent", 5300, "It is on a van.", "transcript", start=4200),
    ]
    assert [heard_before(inputs, text) for text in words] == [dict.fromkeys(("caller", "agent"), t.at) for t in words]
    assert tracks_of(inputs) == tracks_of(silent)
    assert notices_of(inputs) == ["transcript"]  # they are out of order in the file


def test_the_events_are_the_same_for_any_size_of_pieces_and_turns_have_their_words(recording: Path) -> None:
    beside(recording, HELLO, PARCEL, HERE)
    runs = [watch(take(recording, SourceOptions(piece_ms=size))) for size in (20, 33, 1000, 60_000)]
    assert all(run == runs[0] for run in runs)
    words = {e.turn.index: e.turn.text for e in of(runs[0], "turn.ended")}
    words |= {e.turn.index: e.text for e in of(runs[0], "turn.text")}
    assert words == {0: HELLO["text"], 1: PARCEL["text"], 2: HERE["text"]}


def test_a_transcript_that_is_named_goes_before_the_one_beside(recording: Path, tmp_path: Path) -> None:
    beside(recording, HELLO)
    other = tmp_path / "other.vtt"
    other.write_text("WEBVTT\n\n00:02.000 --> 00:03.500\n<v user>Where is it?")
    for inputs in (take(recording, SourceOptions(transcript=str(other))), take(f"wav:{recording}?transcript={other}")):
        assert [text.text for text in words_of(inputs)] == ["Where is it?"]


def test_no_transcript_is_taken_where_none_is_wanted(recording: Path) -> None:
    beside(recording, HELLO)
    assert words_of(take(f"wav:{recording}?transcript=")) == []


def test_a_named_transcript_that_is_broken_refuses_the_source(recording: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(ConnectorError, match="cannot be used"):
        connectors.open(str(recording), SourceOptions(transcript=str(broken)))


def test_raw_audio_takes_a_transcript_that_is_named(recording: Path, tmp_path: Path) -> None:
    beside(recording, HELLO)
    raw = tmp_path / "call.raw"
    raw.write_bytes(stereo(speech("agent", 500, 1500), length=3000).tobytes())
    assert [text.at for text in words_of(take(f"pcm:{raw}?transcript={recording.with_suffix('.json')}"))] == [1507]
    assert words_of(take(f"pcm:{raw}")) == []


def test_two_files_take_a_transcript_that_is_named(tmp_path: Path) -> None:
    both = stereo(speech("caller", 100, 900), speech("agent", 1000, 1900), length=2500)
    caller, agent = save(tmp_path / "caller.wav", both[:, 0]), save(tmp_path / "agent.wav", both[:1999, 1], 16000)
    beside(caller, HELLO)
    assert words_of(take(f"wav:{caller},{agent}")) == []
    inputs = take(f"wav:{caller},{agent}?transcript={caller.with_suffix('.json')}")
    assert heard_before(inputs, words_of(inputs)[0]) == {"caller": 1507, "agent": 1507}


def test_turns_of_a_speaker_who_is_not_there_and_behind_the_end_are_counted(tmp_path: Path) -> None:
    left = stereo(speech("caller", 100, 900), length=2500)[:, 0]
    recording = save(tmp_path / "call.wav", left)
    beside(recording, HELLO, PARCEL, {**PARCEL, "start_time": 2.5}, HERE)
    inputs = take(recording)
    assert [(text.start, text.at) for text in words_of(inputs)] == [(2000, 2500)]
    told = [(one.message, one.count) for one in inputs if isinstance(one, Notice) and one.kind == "transcript"]
    assert told == [
        ("call.json: 2 turns are of the agent, who is not in this recording", 2),
        ("call.json: 1 turn lies behind the end of the recording", 1),
    ]


def between(words: list[Spoken], inputs: list[Input]) -> list[Input]:
    merge = WordsBetween(Transcript("call.json", tuple(sorted(words, key=lambda spoken: spoken.end))))
    return [out for given in inputs for out in merge.take(given)]


def test_a_track_that_never_comes_does_not_hold_the_other_for_ever() -> None:
    forms = dict.fromkeys(("caller", "agent"), TrackFormat())
    merge = WordsBetween(Transcript("call.json", (Spoken("caller", 0, 10, "Hello"), Spoken("agent", 0, 500_000, "Hi"))))
    merge.take(CallStarted("call", "wav", tracks=forms))
    second, given, out = bytes(16000), 0, list[Input]()
    while not out or not words_of(out):
        out += merge.take(Audio("caller", given * 1000, second))
        given += 1
    assert given * len(second) < 3_000_000
    assert [text.text for text in words_of(out)] == ["Hello"]


SPOKEN = st.builds(
    lambda track, start, length: Spoken(track, start, start + length, f"{start}"),
    st.sampled_from(["caller", "agent"]),
    st.integers(0, 1200),
    st.integers(0, 400),
)


@given(words=st.lists(SPOKEN, max_size=12), sizes=st.tuples(st.integers(1, 400), st.integers(1, 400)))
def test_audio_and_words_are_all_there_in_their_places(words: list[Spoken], sizes: tuple[int, int]) -> None:
    pcm = {track: np.arange(8000 + n, dtype="<i2").tobytes() for n, track in enumerate(("caller", "agent"))}
    parts = [even(track, pcm[track], size) for track, size in zip(("caller", "agent"), sizes, strict=True)]
    audio = sorted((piece for part in parts for piece in part), key=lambda piece: piece.at)
    forms = dict.fromkeys(pcm, TrackFormat())
    inputs = between(words, [CallStarted("call", "wav", tracks=forms), *audio, CallEnded(1001, "end_of_file")])
    assert tracks_of(inputs) == pcm
    texts = words_of(inputs)
    assert sorted(text.text for text in texts) == sorted(spoken.text for spoken in words if spoken.start < 1001)
    assert [text.at for text in texts] == sorted(text.at for text in texts)
    for n, text in enumerate(inputs):
        if isinstance(text, Text):
            before = tracks_of(inputs[:n])
            assert all(len(before.get(track, b"")) // 16 == min(text.at, len(pcm[track]) // 16) for track in pcm)
    assert msgspec.structs.asdict(inputs[-1])["at"] == 1001
