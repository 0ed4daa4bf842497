"""The words of a recording, as they are named on the command line or lie beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import events, run

TURN = {"role": "user", "start_time": 1.0, "duration": 2.0, "text": "Where is my parcel?"}
EMPTY = {"role": "user", "start_time": 1.0, "text": " "}


def written(file: Path, content: Any) -> Path:
    file.write_text(content if isinstance(content, str) else json.dumps({"turns": content}), "utf-8")
    return file


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ([EMPTY], "none of its turns can be used: 1 without words"),
        ([], "it has no turns as in"),
        ('{"turns": [', "it is neither JSON nor WebVTT"),
        ("WEBVTT\n", "it holds no words"),
        (None, "No such file or directory"),
    ],
)
def test_one_that_was_named_and_cannot_be_used_ends_with_2(
    recording: Path, tmp_path: Path, content: Any, why: str
) -> None:
    """As a script of verdicts that cannot be used does."""
    file = tmp_path / "words.json"
    if content is not None:
        written(file, content)
    for named in ([f"wav:{recording}", "--transcript", str(file)], [f"wav:{recording}?transcript={file}"]):
        done = run("watch", *named, "--speed", "max", "--json", "--judge", "off")
        assert (done.returncode, done.stdout) == (2, b"")
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith(f"turnwatch: the transcript {file} cannot be used: ")
        assert why in line


def test_one_that_only_lies_beside_the_recording_is_told_of_and_no_more(recording: Path, tmp_path: Path) -> None:
    own = tmp_path / "call.wav"
    own.write_bytes(recording.read_bytes())
    written(own.with_suffix(".json"), [EMPTY])
    done = run("watch", f"wav:{own}", "--speed", "max", "--json", "--judge", "off")
    assert (done.returncode, done.stderr) == (0, b"")
    (notice,) = (event for event in events(done.stdout) if event["type"] == "notice" and event["kind"] == "transcript")
    assert notice["message"].startswith("call.json beside the recording is not used")


def test_the_words_of_one_recording_are_not_those_of_several(recording: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "words.json", [TURN])
    done = run("watch", f"wav:{recording}", f"wav:{recording}", "--transcript", str(file), "--speed", "max")
    assert done.returncode == 2
    assert "wav:call.wav?transcript=FILE" in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_a_tape_has_its_words(tmp_path: Path, recording: Path) -> None:
    file = written(tmp_path / "words.json", [TURN])
    watch = ("watch", f"wav:{recording}", "--speed", "max", "--judge", "off")
    assert run(*watch, "--tape", str(tmp_path / "tapes"), "--transcript", str(file)).returncode == 0
    (tape,) = (tmp_path / "tapes").iterdir()
    for named in ([f"tape:{tape}", "--transcript", str(file)], [f"tape:{tape}?transcript={file}"]):
        done = run("watch", *named, "--speed", "max")
        assert done.returncode == 2
        assert "a tape has the words of its call on it" in done.stderr.decode()


def test_audio_from_a_pipe_may_have_words(tmp_path: Path) -> None:
    file = written(tmp_path / "words.json", [{**TURN, "start_time": 0.2, "duration": 0.5}])
    done = run("watch", "pcm:-", "--transcript", str(file), "--speed", "max", "--json", stdin=bytes(64_000))
    assert done.returncode == 0
    assert events(done.stdout)[-1]["summary"]["notices"] == {"unplaced_text": 1}
