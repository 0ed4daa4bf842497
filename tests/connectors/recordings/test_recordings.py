"""Recordings of all kinds, as calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connectors.inputs import Audio, CallEnded, CallStarted, TrackFormat
from connectors.source import SourceOptions
from tests.builders import of, speech, transitions_of, turns_of, watch
from tests.connectors.recordings.takes import TALK, at_rate, notices_of, save, seconds_of, stereo, take, tracks_of


@pytest.mark.parametrize(
    ("name", "how", "encoding"),
    [
        ("call.flac", {}, "flac"),
        ("call.aiff", {}, "pcm_s16le"),
        ("call.au", {"subtype": "ULAW"}, "mulaw"),
        ("call.rf64", {}, "pcm_s16le"),
        ("call.w64", {"subtype": "PCM_24"}, "pcm_s24le"),
        ("call.ogg", {}, "vorbis"),
        ("call.opus", {"format": "OGG", "subtype": "OPUS"}, "opus"),
    ],
)
def test_whatever_libsndfile_reads_is_a_call(tmp_path: Path, name: str, how: dict[str, Any], encoding: str) -> None:
    inputs = take(save(tmp_path / name, TALK, **how))
    form = TrackFormat(encoding, 8000)
    assert inputs[0] == CallStarted("call", "wav", tracks={"caller": form, "agent": form})
    assert inputs[-1] == CallEnded(4000, "end_of_file")
    assert seconds_of(inputs) == {"caller": 4.0, "agent": 4.0}
    assert notices_of(inputs) == []
    turns = turns_of(watch(inputs))
    assert [role for role, _, _ in turns] == ["user", "assistant"]
    # What is coded with loss smears an edge a little.
    assert [time for turn in turns for time in turn[1:]] == pytest.approx([500, 1500, 1800, 3600], abs=60)


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 24000, 44100, 48000, 96000])
def test_any_rate_gives_the_same_turn(tmp_path: Path, rate: int) -> None:
    """B19."""
    talk = at_rate(stereo(speech("caller", 1000, 3000), length=4000), rate)
    inputs = take(save(tmp_path / "call.wav", talk, rate))
    ((role, start, end),) = turns_of(watch(inputs, detector="webrtc"))
    assert role == "user"
    assert start == pytest.approx(1000, abs=120)
    assert end == pytest.approx(3000, abs=120)
    assert inputs[-1] == CallEnded(4000, "end_of_file")


@pytest.mark.parametrize("piece_ms", [1, 7, 20, 333, 5000])
@pytest.mark.parametrize("rate", [8000, 11025, 44100])
def test_the_size_of_the_pieces_changes_no_sample(tmp_path: Path, rate: int, piece_ms: int) -> None:
    path = save(tmp_path / "call.wav", TALK[:20001], rate)
    whole, cut = take(path), take(path, SourceOptions(piece_ms=piece_ms))
    assert tracks_of(cut) == tracks_of(whole)
    assert cut[-1] == whole[-1]
    longest = max(len(given.pcm) for given in cut if isinstance(given, Audio))
    assert longest <= 16 * (piece_ms + 5)


def test_speech_at_the_end_of_the_file_is_a_turn(tmp_path: Path) -> None:
    """B16."""
    path = save(tmp_path / "call.wav", stereo(speech("caller", 3000, 5000), length=5000))
    events = watch(take(path))
    assert turns_of(events) == [("user", 3000, 5000)]
    (ended,) = of(events, "turn.ended")
    assert ended.turn.ended_by == "call_end"
    assert events.index(ended) < len(events) - 1


def test_swapped_channels_swap_the_barge_in(tmp_path: Path) -> None:
    """B41: the left channel holds the agent."""
    talk = stereo(speech("agent", 100, 3000), speech("caller", 2500, 5000), length=7000)[:, ::-1]
    path = save(tmp_path / "call.wav", talk)
    assert transitions_of(watch(take(path))) == [("agent_overlap", -500)]
    assert transitions_of(watch(take(f"wav:{path}?channels=agent,caller"))) == [("user_barge_in", -500)]
    options = SourceOptions(channels=("agent", "caller"))
    assert transitions_of(watch(take(path, options))) == [("user_barge_in", -500)]


def test_two_files_may_differ_in_rate_and_length(tmp_path: Path) -> None:
    long = stereo(speech("caller", 500, 1500), speech("caller", 4000, 5500), length=6000)[:, 0]
    short = at_rate(TALK, 16000)[:, 1]
    caller = save(tmp_path / "left.wav", long)
    agent = save(tmp_path / "right.flac", short, 16000)
    inputs = take(f"wav:{caller},{agent}")
    assert isinstance(inputs[0], CallStarted)
    assert inputs[0].call == "left+right"
    assert inputs[0].tracks == {"caller": TrackFormat("pcm_s16le", 8000), "agent": TrackFormat("flac", 16000)}
    assert seconds_of(inputs) == {"caller": 6.0, "agent": 6.0}
    assert notices_of(inputs) == ["length"]
    assert inputs[-1] == CallEnded(6000, "end_of_file")
    roles = [role for role, _, _ in turns_of(watch(inputs))]
    assert roles == ["user", "assistant", "user"]
    swapped = tracks_of(take(f"wav:{agent},{caller}?channels=agent,caller"))
    assert swapped == tracks_of(inputs)


def test_one_channel_is_one_speaker(tmp_path: Path) -> None:
    path = save(tmp_path / "call.wav", TALK.sum(axis=1).astype(np.int16))
    inputs = take(path)
    assert isinstance(inputs[0], CallStarted)
    assert list(inputs[0].tracks) == ["caller"]
    assert notices_of(inputs) == ["mono"]
    (ended,) = of(watch(inputs), "call.ended")
    assert ended.summary["turn_taking"]["score"] is None
    agent = take(f"wav:{path}?channels=agent")
    assert list(tracks_of(agent)) == ["agent"]


@pytest.mark.parametrize("how", [{}, {"subtype": "ULAW"}])
@pytest.mark.parametrize("loudness", [1.0, 0.9])
def test_twice_the_same_signal_is_one_speaker_and_no_overlap(
    tmp_path: Path, how: dict[str, Any], loudness: float
) -> None:
    mixed = TALK.sum(axis=1)
    twice = np.stack([mixed, mixed * loudness], axis=1).astype(np.int16)
    inputs = take(save(tmp_path / "call.wav", twice, **how))
    assert list(tracks_of(inputs)) == ["caller"]
    assert notices_of(inputs) == ["mono"]
    (ended,) = of(watch(inputs), "call.ended")
    assert ended.summary["talk"]["overlap"] is None
    assert ended.summary["turn_taking"]["score"] is None


def test_the_same_file_twice_is_one_speaker(tmp_path: Path) -> None:
    path = save(tmp_path / "call.wav", TALK[:, 0])
    inputs = take(f"wav:{path},{path}")
    assert list(tracks_of(inputs)) == ["caller"]
    assert notices_of(inputs) == ["mono"]


def test_an_announcement_on_both_channels_does_not_make_a_call_mono(tmp_path: Path) -> None:
    announcement = np.repeat(stereo(speech("caller", 0, 12000), length=12000)[:, :1], 2, axis=1)
    inputs = take(save(tmp_path / "call.wav", np.concatenate((announcement, TALK))))
    assert set(tracks_of(inputs)) == {"caller", "agent"}
    assert notices_of(inputs) == []


def test_of_many_channels_the_first_two_or_those_named_are_watched(tmp_path: Path) -> None:
    many = np.stack([TALK[:, 0], TALK[:, 1], np.zeros(len(TALK)), TALK[:, 0] // 2], axis=1).astype(np.int16)
    path = save(tmp_path / "call.wav", many)
    inputs = take(path)
    assert tracks_of(inputs) == {"caller": TALK[:, 0].tobytes(), "agent": TALK[:, 1].tobytes()}
    assert notices_of(inputs) == ["channels"]
    named = tracks_of(take(f"wav:{path}?channels=-,agent,-,caller"))
    assert named == {"caller": many[:, 3].tobytes(), "agent": TALK[:, 1].tobytes()}


def test_a_damaged_file_is_watched_up_to_the_damage(tmp_path: Path) -> None:
    path = save(tmp_path / "call.flac", np.tile(TALK, (5, 1)))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    inputs = take(path)
    assert notices_of(inputs) == ["bad_payload"]
    end = inputs[-1]
    assert isinstance(end, CallEnded)
    assert 8000 < end.at < 11000
    assert seconds_of(inputs) == {"caller": end.at / 1000, "agent": end.at / 1000}
    heard = np.frombuffer(tracks_of(inputs)["caller"], "<i2")
    assert np.array_equal(heard, np.tile(TALK, (5, 1))[: len(heard), 0])


def test_what_the_options_say_goes_into_the_start_of_the_call(tmp_path: Path) -> None:
    path = save(tmp_path / "call.wav", TALK)
    options = SourceOptions(rate=16000, encoding="mulaw", agent_id="ada", labels={"team": "east"})
    inputs = take(f"wav:{path}?call=monday&label.line=7", options)
    started = inputs[0]
    assert isinstance(started, CallStarted)
    assert (started.call, started.agent_id) == ("monday", "ada")
    assert started.labels == {"team": "east", "line": "7"}
    assert notices_of(inputs) == ["ignored_option", "ignored_option"]
    assert seconds_of(inputs) == {"caller": 4.0, "agent": 4.0}


def test_a_file_without_a_header_is_raw_where_the_options_say_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "call.wav"
    path.write_bytes(TALK.tobytes())
    inputs = take(f"wav:{path}?encoding=s16le&rate=8000")
    assert tracks_of(inputs) == {"caller": TALK[:, 0].tobytes(), "agent": TALK[:, 1].tobytes()}


def test_a_home_directory_and_a_comma_in_a_name_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    save(tmp_path / "one,two.wav", TALK)
    assert seconds_of(take("wav:~/one,two.wav")) == {"caller": 4.0, "agent": 4.0}
