"""Whatever the locale says: the feed replaces what it cannot show, and JSON is UTF-8."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.inputs import CallEnded, CallStarted, Text, TrackFormat
from monitor.runtime.tape import Header, TapeWriter, cleaned
from tests.cli.process import events, run

WORDS = "café → 你好 😀 e\u0301 \ud83d"


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A call whose name, labels and words no old code page holds."""
    tracks = {"caller": TrackFormat(), "agent": TrackFormat()}
    writer = TapeWriter(tmp_path_factory.mktemp("tapes"), "call", Header("0", "webrtc", {}))
    started = CallStarted("call 你好", "test", labels={"who": WORDS}, tracks=tracks)
    call = [started, Text("caller", 0, WORDS, "transcript"), CallEnded(500, "hangup", WORDS)]
    writer.write([cleaned(one) for one in call])
    writer.close()
    return writer.path


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8", "utf-16"])
def test_the_feed_never_fails_for_a_character(tape: Path, encoding: str) -> None:
    done = run("watch", f"tape:{tape}", "--speed", "max", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "ended" in done.stdout.decode(encoding)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_json_is_utf8_whatever_the_locale(tape: Path, encoding: str) -> None:
    done = run("watch", f"tape:{tape}", "--speed", "max", "--json", PYTHONIOENCODING=encoding, LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    told = events(done.stdout)
    assert told[0]["call"] == "call 你好"
    assert told[0]["labels"]["who"].startswith("café → 你好 😀 e\u0301 \ufffd")


def test_bytes_on_the_command_line_that_are_no_text_do_not_break_json(recording: Path) -> None:
    done = run("watch", f"wav:{recording}?label.x=\udcff", "--speed", "max", "--json")
    assert done.returncode == 0
    assert "\ufffd" in events(done.stdout)[0]["labels"]["x"]


def test_an_error_about_a_strange_name_can_be_told() -> None:
    done = run("watch", "wav:你好\udcff.wav", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 3
    assert done.stderr.startswith(b"turnwatch: ")
    assert len(done.stderr.splitlines()) == 1
