"""What a transcript beside a recording says, and what is said of one that is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.base import ConnectorError
from connectors.transcript_file import MAX_BYTES, MAX_TURNS, Spoken, Transcript, read_transcript, transcript_beside

LABELLED = Path(__file__).parents[4] / "shared" / "data" / "calls"


def turn(role: Any = "user", start: Any = 1.0, text: Any = "Hello", **more: Any) -> dict[str, Any]:
    return {"role": role, "start_time": start, "text": text, **more}


def written(folder: Path, content: Any, name: str = "call.json") -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def read(folder: Path, content: Any, name: str = "call.json") -> Transcript:
    return read_transcript(str(written(folder, content, name)))


def refusal(path: Path) -> str:
    with pytest.raises(ConnectorError) as raised:
        read_transcript(str(path))
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)
    return str(raised.value)


def told(transcript: Transcript) -> list[tuple[int, str]]:
    return [(remark.count, remark.message) for remark in transcript.remarks]


def test_turns_of_json_have_their_speaker_their_times_and_their_words(tmp_path: Path) -> None:
    turns = [
        turn("assistant", 0.5, "Swift Parcel, hello.", duration=2),
        turn("User", 2.8314, " My\n parcel?", duration=1.25),
    ]
    assert read(tmp_path, {"turns": turns, "call": "x"}) == Transcript(
        "call.json",
        (Spoken("agent", 500, 2500, "Swift Parcel, hello."), Spoken("caller", 2831, 4081, "My parcel?")),
    )


def test_caller_and_agent_are_names_of_speakers_as_well(tmp_path: Path) -> None:
    words = read(tmp_path, {"turns": [turn("CALLER", 1), turn(" Agent ", 5)]}).words
    assert [spoken.track for spoken in words] == ["caller", "agent"]


def test_without_a_duration_it_is_guessed_from_the_words_and_ends_where_the_speaker_goes_on(tmp_path: Path) -> None:
    turns = [turn("user", 1, "x" * 100), turn("user", 3, "x" * 100), turn("assistant", 4, "Yes")]
    words = read(tmp_path, {"turns": turns}).words
    assert [(spoken.start, spoken.end) for spoken in words] == [(1000, 3000), (4000, 4500), (3000, 9500)]


def test_words_come_in_the_order_in_which_they_had_been_said(tmp_path: Path) -> None:
    turns = [turn("assistant", 1, "long", duration=9), turn("user", 2, "short", duration=1)]
    assert [spoken.text for spoken in read(tmp_path, {"turns": turns}).words] == ["short", "long"]


def test_what_makes_no_sense_is_counted_and_the_rest_is_used(tmp_path: Path) -> None:
    bad = [
        *(turn(start=start) for start in (-0.001, float("nan"), float("inf"), -float("inf"), "1.5", None, True, 1e300)),
        turn("narrator"),
        turn(None),
        "not a turn",
        turn(text=""),
        turn(text=None),
        turn(text=7),
    ]
    odd = [turn(start=30, text="third", duration=-1), turn(start=20, text="second", duration=float("nan"))]
    transcript = read(tmp_path, {"turns": [turn(start=1, text="first"), *bad, *odd]})
    assert [(spoken.start, spoken.text) for spoken in transcript.words] == [
        (1000, "first"),
        (20000, "second"),
        (30000, "third"),
    ]
    assert told(transcript) == [
        (
            14,
            "call.json: 14 of its 17 turns are not used: "
            "8 at an impossible time, 3 that name no speaker, 3 without words",
        ),
        (2, "call.json: 2 durations make no sense; they are guessed from the words"),
        (1, "call.json: 1 turn is out of order; it is taken by its time"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_of_other_systems_are_read(tmp_path: Path, encoding: str) -> None:
    text = 'Grüße, "ça va" 😀'
    content = json.dumps({"turns": [turn(text=text)]}, ensure_ascii=False).encode(encoding)
    assert read(tmp_path, content) == Transcript("call.json", (Spoken("caller", 1000, 2040, text),))
    cues = f"WEBVTT\r\n\r\n00:01.000 --> 00:02.000\r\n<v user>{text}\r\n".encode(encoding)
    assert read(tmp_path, cues, "call.vtt").words == (Spoken("caller", 1000, 2000, text),)


def test_bytes_that_are_not_utf_8_cost_a_character_and_a_remark(tmp_path: Path) -> None:
    transcript = read(tmp_path, b'{"turns": [{"role": "user", "start_time": 0, "text": "caf\xe9"}]}')
    assert transcript.words[0].text == "caf\N{REPLACEMENT CHARACTER}"
    assert told(transcript) == [(1, "call.json is not all UTF-8: 1 character is lost")]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "neither JSON nor WebVTT"),
        ("{", "neither JSON nor WebVTT"),
        ("[" * 100_000, "neither JSON nor WebVTT"),
        ('{"turns": ' + "9" * 5000 + "}", "neither JSON nor WebVTT"),
        ("[]", "has no turns"),
        ({"turns": 7}, "has no turns"),
        ({"turns": [{"role": "user", "start_time": 1.0, "duration": 2.0}]}, "has no turns"),
        ("WEBVTTX\n\n00:01.000 --> 00:02.000\n<v user>Hello", "neither JSON nor WebVTT"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\nHello", "voice tags"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Roger Bingham>Hello", "voice tags"),
        (b" " * (MAX_BYTES + 1), "longer than 4 MiB"),
        ("WEBVTT", "it holds no words"),
        ("WEBVTT\n\nsoon --> later\n<v user>Hello", "none of its turns can be used: 1 that cannot be read"),
        ({"turns": [turn(text=" ")]}, "none of its turns can be used: 1 without words"),
        ({"turns": [turn("narrator"), turn("narrator")]}, "can be used: 2 that name no speaker"),
    ],
)
def test_a_broken_transcript_that_was_named_is_one_line(tmp_path: Path, content: Any, why: str) -> None:
    assert why in refusal(written(tmp_path, content))


def test_a_transcript_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "nothing.json")
    assert "directory" in refusal(tmp_path).casefold()


def test_turns_without_end_are_bounded(tmp_path: Path) -> None:
    transcript = read(tmp_path, {"turns": [turn(start=n) for n in range(MAX_TURNS + 5)]})
    assert len(transcript.words) == MAX_TURNS
    assert told(transcript) == [
        (5, f"call.json: 5 of its {MAX_TURNS + 5} turns are not used: 5 beyond the first {MAX_TURNS}")
    ]


def test_what_lies_beside_a_recording_is_taken_json_before_vtt(tmp_path: Path) -> None:
    recording = str(tmp_path / "call.v2.wav")
    assert transcript_beside(recording) is None
    written(tmp_path, "WEBVTT\n\n00:01.000 --> 00:02.000\n<v user>from vtt", "call.v2.vtt")
    found = transcript_beside(recording)
    assert found is not None
    assert [spoken.text for spoken in found.words] == ["from vtt"]
    written(tmp_path, {"turns": [turn(text="from json")]}, "call.v2.json")
    found = transcript_beside(recording)
    assert found is not None
    assert [spoken.text for spoken in found.words] == ["from json"]


def test_json_of_another_shape_beside_a_recording_is_no_transcript(tmp_path: Path) -> None:
    written(tmp_path, {"turns": [{"role": "user", "start_time": 1.0, "duration": 2.0}]})
    assert transcript_beside(str(tmp_path / "call.wav")) is None
    written(tmp_path, "WEBVTT\n\n00:01.000 --> 00:02.000\n<v agent>Hello", "call.vtt")
    assert transcript_beside(str(tmp_path / "call.wav")) == Transcript(
        "call.vtt", (Spoken("agent", 1000, 2000, "Hello"),)
    )


def test_the_label_files_of_the_test_calls_are_no_transcripts() -> None:
    recordings = sorted(LABELLED.glob("*.flac"))
    assert recordings
    assert [transcript_beside(str(path)) for path in recordings] == [None] * len(recordings)


def test_a_broken_file_beside_a_recording_is_remarked_on_and_the_next_is_taken(tmp_path: Path) -> None:
    written(tmp_path, "{")
    written(tmp_path, "WEBVTT\n\n00:01.000 --> 00:02.000\n<v user>Hello", "call.vtt")
    found = transcript_beside(str(tmp_path / "call.wav"))
    assert found is not None
    assert [spoken.text for spoken in found.words] == ["Hello"]
    assert [remark.message.partition(":")[0] for remark in found.remarks] == [
        "call.json beside the recording is not used"
    ]


def test_a_file_beside_a_recording_of_which_nothing_can_be_used_is_remarked_on(tmp_path: Path) -> None:
    written(tmp_path, {"turns": [turn(text="")]})
    found = transcript_beside(str(tmp_path / "call.wav"))
    assert found is not None
    assert (found.words, told(found)) == (
        (),
        [(1, "call.json beside the recording is not used: none of its turns can be used: 1 without words")],
    )


def test_one_turn_of_several_that_is_not_used_is_said_in_the_singular(tmp_path: Path) -> None:
    transcript = read(tmp_path, {"turns": [turn(), turn("narrator", 5)]})
    assert told(transcript) == [(1, "call.json: 1 of its 2 turns is not used: 1 that names no speaker")]


def test_a_recording_is_not_its_own_transcript(tmp_path: Path) -> None:
    written(tmp_path, {"turns": [turn()]}, "call.json")
    assert transcript_beside(str(tmp_path / "call.json")) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "start_time", "duration", "text", "turns"]) | st.text(max_size=3), inner
        )
    ),
    max_leaves=12,
)
TURN = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]) | JSON, "start_time": st.floats() | JSON, "text": st.text() | JSON},
    optional={"duration": st.floats() | JSON},
)


@given(content=st.binary() | JSON | st.fixed_dictionaries({"turns": st.lists(TURN | JSON)}))
def test_nothing_in_a_file_does_more_than_be_refused(tmp_path_factory: Any, content: Any) -> None:
    """Whatever it holds, it is a transcript with words in order, each at a time that is one, or it is refused."""
    try:
        transcript = read(tmp_path_factory.getbasetemp(), content, "any.json")
    except ConnectorError:
        return
    assert [spoken.end for spoken in transcript.words] == sorted(spoken.end for spoken in transcript.words)
    assert all(0 <= spoken.start <= spoken.end and spoken.text.strip() for spoken in transcript.words)
