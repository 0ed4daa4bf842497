"""What is told of a line, and when; and that a call is heard the same with a second detector however it comes."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
import soundfile as sf

from connectors import inputs
from connectors.inputs import TRACKS, Input, Track
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.detectors import new_detector
from monitor.detectors.silero import SileroDetector
from tests.builders import even, interleave, of, pieces, started

CALLS = Path(__file__).resolve().parents[4] / "shared" / "data" / "calls"


@cache
def tracks(name: str, seconds: int) -> dict[Track, bytes]:
    """The beginning of a labelled call."""
    samples, _ = sf.read(CALLS / f"{name}.flac", dtype="int16", always_2d=True, stop=seconds * 8000)
    return {track: samples[:, side].tobytes() for side, track in enumerate(TRACKS)}


def watched(tape: list[Input], *, second: bool = True) -> list[Event]:
    monitor = CallMonitor(CoreSettings(), new_detector("webrtc"), SileroDetector if second else None)
    return [event for given in tape for event in monitor.feed(given)]


def seconds_of(name: str, seconds: int, ms: int = 1000) -> list[Input]:
    both = interleave([even(t, pcm, ms) for t, pcm in tracks(name, seconds).items()], random.Random(1))
    return [started(), *both, inputs.CallEnded(seconds * 1000, "end_of_file")]


def told(name: str, seconds: int, *, second: bool = True) -> list[tuple[str | None, str]]:
    notices = of(watched(seconds_of(name, seconds), second=second), "notice")
    return [(notice.track, notice.message) for notice in notices if notice.kind == "line"]


def test_nothing_is_told_of_a_clean_line() -> None:
    assert told("01_clean_mulaw", 40) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("07_noise_20db", "steady noise of -44 dBFS"),
        ("09_babble_15db", "never quiet"),
        ("11_comfort_noise", "noise of -46 dBFS"),
        ("13_tones_and_music", "a sound without pauses"),
    ],
)
def test_a_line_is_known_by_its_noise(name: str, words: str) -> None:
    assert any(words in message for _, message in told(name, 28))


@pytest.mark.parametrize("second", [True, False])
def test_a_line_that_needs_silero_is_told_with_what_to_do(second: bool) -> None:
    messages = [message for _, message in told("09_babble_15db", 8, second=second)]
    assert len(messages) == 2
    for message in messages:
        assert ("Silero is asked as well" in message) is second
        assert ("turnwatch[silero]" in message) is not second


@pytest.mark.parametrize("name", ["09_babble_15db", "11_comfort_noise"])
def test_pieces_and_their_order_change_nothing_where_silero_is_asked(name: str) -> None:
    rng, sound = random.Random(3), tracks(name, 16)
    end = inputs.CallEnded(16_000, "end_of_file")
    sizes = [[rng.choice((1, 80, 160, 160, 160, 333, 8000)) for _ in range(6000)] for _ in TRACKS]
    odd = [started(), *interleave([pieces(t, sound[t], s) for t, s in zip(TRACKS, sizes, strict=True)], rng), end]
    packets = [
        started(),
        *(one for pair in zip(*(even(t, sound[t], 20) for t in TRACKS), strict=True) for one in pair),
        end,
    ]
    lines = [encode(event) for event in watched(seconds_of(name, 16))]
    assert [encode(event) for event in watched(odd)] == lines
    assert [encode(event) for event in watched(packets)] == lines
