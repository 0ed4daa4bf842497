"""The recordings that come with the program."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from connectors.simulator import voices
from connectors.simulator.hearing import GATE, HANGOVER_MS
from connectors.simulator.scenario_demo import SCENARIOS
from connectors.simulator.wire_audio import FORMATS, decoder, duration_ms, encoded, piece, sample_bytes, wire_rate

FOLDER = Path(str(files(voices)))


def test_the_recordings_are_small_and_documented() -> None:
    assert sum(entry.stat().st_size for entry in FOLDER.glob("*.ogg")) < 600_000
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in voices.names():
        assert f"| `{name}` | " in readme
        assert f"| {voices.recording(name).duration_ms / 1000:.2f} |" in readme


def test_the_readme_quotes_every_line_as_it_is_spoken() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for scenario in SCENARIOS.values():
        for line in (*scenario.agent, *scenario.caller):
            assert f"| `{line.audio}` | {line.text} |" in readme


def test_a_licence_lies_beside_the_recordings() -> None:
    text = (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "Apache-2.0" in text
    assert "Kokoro-82M" in text


@pytest.mark.parametrize("name", voices.names())
def test_padding_is_short_so_that_a_cue_means_speech(name: str) -> None:
    voice = voices.recording(name)
    assert 0 < voice.voiced_from_ms <= 50
    assert 0 < voice.duration_ms - voice.voiced_to_ms <= 60


@pytest.mark.parametrize("name", [name for name in voices.names() if name.startswith("caller")])
def test_no_pause_inside_a_caller_line_ends_it_for_the_agent(name: str) -> None:
    sound = voices.recording(name).samples
    levels = np.sqrt(np.mean(sound[: len(sound) // 160 * 160].reshape(-1, 160).astype(float) ** 2, axis=1))
    voiced = np.flatnonzero(levels > GATE)
    assert np.diff(voiced).max() * 10 < HANGOVER_MS


def test_an_unknown_recording_names_the_known_ones() -> None:
    with pytest.raises(voices.UnknownRecording, match="agent_greeting"):
        voices.recording("agent_song")


@pytest.mark.parametrize("form", FORMATS)
def test_pieces_add_up_to_the_whole_in_every_format(form: str) -> None:
    whole = encoded("caller_mhm", form)
    length = voices.recording("caller_mhm").duration_ms
    pieces = [piece("caller_mhm", form, start, min(start + 7, length)) for start in range(0, length, 7)]
    assert whole.startswith(b"".join(pieces))
    assert duration_ms(b"".join(pieces), form) == pytest.approx(length, abs=1)
    assert len(whole) == round(5440 * wire_rate(form) / 16000) * sample_bytes(form)


@pytest.mark.parametrize("form", FORMATS)
def test_a_format_sounds_like_the_recording(form: str) -> None:
    reader = decoder(form)
    (head,), (tail,) = reader.decode(encoded("agent_noted", form)), reader.finish()
    got = np.frombuffer(head + tail, dtype="<i2").astype(float)
    wanted = voices.samples("agent_noted", 8000).astype(float)
    size = min(len(got), len(wanted))
    assert len(got) == pytest.approx(len(wanted), abs=40)
    likeness = max(np.corrcoef(got[lag : size - 50 + lag], wanted[50 - 25 : size - 25])[0, 1] for lag in range(50))
    assert likeness > 0.97


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="ulaw_8000"):
        encoded("caller_mhm", "mp3_44100")
