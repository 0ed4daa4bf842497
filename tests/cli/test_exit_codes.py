"""What a shell learns from how the program ends, and the one line that says why."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.process import ROOT, command, environment, events, run, types


def one_line(stderr: bytes) -> str:
    lines = stderr.decode().splitlines()
    assert len(lines) == 1, stderr.decode()
    assert lines[0].startswith("turnwatch: ")
    return lines[0]


def test_a_recording_is_watched_to_its_end(recording: Path) -> None:
    done = run("watch", f"wav:{recording}", "--speed", "max", "--json")
    assert done.returncode == 0
    assert done.stderr == b""
    told = events(done.stdout)
    assert types(told)[0] == "call.started"
    assert types(told)[-1] == "call.ended"
    assert "transition.scored" in types(told)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["wach"], "invalid choice: 'wach'"),
        (["watch"], "SOURCE"),
        (["watch", "x.wav", "--spede", "max"], "unrecognized arguments: --spede"),
        (["watch", "x.wav", "--speed", "0"], "0 is neither max nor a number above 0"),
        (["watch", "x.wav", "--speed", "nan"], "nan is neither max nor a number above 0"),
        (["watch", "x.wav", "--fail-under", "60"], "60 is not a score"),
        (["watch", "x.wav", "--channels", "left,right"], "--channels=left,right: say whose voice"),
        (["watch", "vapor:x"], "there is no source vapor:"),
        (["watch", "nothing-there"], "no such file, and not a source either"),
        (["watch", "tape:"], "tape: names no file"),
        (["watch", "pcm:-", "pcm:-?rate=8000"], "standard input can be read only once"),
        (
            ["watch", "x.wav", "--set", "speech.opne_ms=1"],
            "there is no setting speech.opne_ms; did you mean speech.open_ms?",
        ),
        (["watch", "x.wav", "--config", "none.toml"], "cannot read the configuration none.toml: No such file"),
        (["watch", "x.wav", "--tape", "/dev/null/tapes"], "cannot make that folder"),
        (["serve", "--ingest", "8765"], "8765 is no address to listen on"),
        (["serve", "--ingest", "0.0.0.0:8765"], "0.0.0.0:8765 can be reached from other machines: give --token"),
        (["serve", "--console", "[::]:8765"], "[::]:8765 can be reached from other machines: give --token"),
        (["serve", "--elevenlabs-upstream", "gopher://x"], "is no upstream"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_why(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert words in one_line(done.stderr)


def test_a_wrong_setting_in_the_environment_ends_with_2() -> None:
    done = run("watch", "x.wav", TURNWATCH_SPEECH__OPEN_MS="soon")
    assert done.returncode == 2
    assert "TURNWATCH_SPEECH__OPEN_MS: speech.open_ms: it takes a whole number" in one_line(done.stderr)


def test_a_source_that_cannot_be_opened_ends_with_3(tmp_path: Path) -> None:
    done = run("watch", f"wav:{tmp_path}/none.wav", "--json")
    assert done.returncode == 3
    assert done.stdout == b""
    one_line(done.stderr)
    (tmp_path / "text.wav").write_text("this is no recording")
    done = run("watch", f"wav:{tmp_path}/text.wav", "--json")
    assert done.returncode == 3
    one_line(done.stderr)


def test_a_port_that_is_taken_ends_with_3() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--ingest", f"127.0.0.1:{port}", "--console", "127.0.0.1:0")
    assert done.returncode == 3
    assert one_line(done.stderr) == f"turnwatch: cannot listen on 127.0.0.1:{port}: Address already in use"


def test_one_bad_source_does_not_take_the_others_along(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "torn.tape").write_bytes(b"TWTAPE\x00\x01")
    done = run("watch", f"wav:{recording}", "pcm:-", "--speed", "max", "--json", stdin=b"")
    assert done.returncode == 3
    assert types(events(done.stdout))[-1] == "call.ended"
    assert "ended without any audio" in one_line(done.stderr)


def test_a_threshold_decides_between_0_and_1(recording: Path) -> None:
    watch = ["watch", f"wav:{recording}", "--speed", "max", "--json", "--fail-under"]
    assert run(*watch, "0.1").returncode == 0
    missed = run(*watch, "0.99")
    assert missed.returncode == 1
    assert "is under 0.99" in one_line(missed.stderr)


def test_a_call_without_a_score_misses_every_threshold() -> None:
    silence = bytes(8000 * 2 * 2 * 3)
    done = run("watch", "pcm:-", "--speed", "max", "--json", "--fail-under", "0", stdin=silence)
    assert events(done.stdout)[-1]["summary"]["turn_taking"]["score"] is None
    assert done.returncode == 1
    assert "there is no turn-taking score, so --fail-under 0 is missed" in one_line(done.stderr)


def test_without_a_detector_there_is_an_error_and_no_silent_call(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "_webrtcvad.py").write_text("raise ImportError('no such library')\n")
    done = run("watch", f"wav:{recording}", "--speed", "max", "--json", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.returncode == 3
    assert done.stdout == b""
    assert "install webrtcvad-wheels" in one_line(done.stderr)
    done = run("serve", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.returncode == 3
    assert "install webrtcvad-wheels" in one_line(done.stderr)


def test_a_missing_sound_library_hurts_nobody_who_does_not_use_it(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')\n")
    path = f"{tmp_path}:{ROOT}"
    assert run("--help", PYTHONPATH=path).returncode == 0
    assert run("watch", f"wav:{recording}", "--speed", "max", PYTHONPATH=path).returncode == 0


@pytest.mark.parametrize("how", [["--json"], []])
def test_an_output_that_fails_is_told_and_ends_with_3(recording: Path, how: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("watch", f"wav:{recording}", "--speed", "max", *how),
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=60,
            check=False,
        )
    assert done.returncode == 3
    assert "standard output gets no more events: OSError: [Errno 28]" in one_line(done.stderr)
