"""What every detector of the table promises, whichever library it stands on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from monitor.core.speech import Detector
from monitor.detectors import DETECTORS, new_detector
from tests.builders import call, noise, of, speech, voice, watch

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(params=sorted(DETECTORS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


by_sound = pytest.mark.parametrize("name", ["energy", "webrtc"])
"""Those that take a steady noise for a voice, as the builders' is; Silero does not (`test_silero.py`)."""


@pytest.fixture
def detector(name: str) -> Detector:
    return new_detector(name)(8000)


def test_it_says_one_byte_for_each_frame(detector: Detector) -> None:
    told = detector.voiced(voice(400))
    assert len(told) == 20
    assert set(told) <= {0, 1}


@by_sound
def test_it_hears_a_voice_and_hears_none_in_silence(detector: Detector) -> None:
    assert sum(detector.voiced(voice(1000))) >= 45
    detector.reset()
    detector.voiced(noise(1000, 2, 5))
    assert sum(detector.voiced(noise(1000, 2, 6))) == 0


def test_it_says_the_same_however_the_frames_are_batched(name: str) -> None:
    pcm = noise(600, 3000, 1) + noise(600, 2, 2) + noise(600, 900, 3)
    make = new_detector(name)
    together, alone = make(8000), make(8000)
    parts = [pcm[at : at + 320] for at in range(0, len(pcm), 320)]
    assert together.voiced(pcm) == b"".join(alone.voiced(part) for part in parts)


def test_after_a_reset_it_is_as_new(name: str) -> None:
    make = new_detector(name)
    used, new = make(8000), make(8000)
    pcm = noise(800, 1500, 9)
    used.voiced(noise(2000, 9000, 1))
    used.reset()
    assert used.voiced(pcm) == new.voiced(pcm)


def test_two_of_them_do_not_hear_each_other(name: str) -> None:
    make = new_detector(name)
    one, other, alone = make(8000), make(8000), make(8000)
    pcm = noise(800, 1500, 9)
    told = []
    for at in range(0, len(pcm), 320):
        other.voiced(voice(20, at))
        told.append(one.voiced(pcm[at : at + 320]))
    assert b"".join(told) == alone.voiced(pcm)


@pytest.mark.parametrize("size", [0, 1, 319, 321, 400, 3201], ids="{} bytes".format)
def test_it_refuses_what_is_not_a_whole_number_of_frames(detector: Detector, size: int) -> None:
    """B19: 25 ms, half a sample, nothing at all."""
    with pytest.raises(ValueError, match="whole number of 20 ms frames"):
        detector.voiced(bytes(size))


@pytest.mark.parametrize("rate", [0, 11025, 22050, 24000, 44100])
def test_it_refuses_a_rate_that_is_not_its_own(name: str, rate: int) -> None:
    """B19: such audio is brought to 8 or 16 kHz before it comes here; never is it swallowed."""
    with pytest.raises(ValueError, match=str(rate)):
        new_detector(name)(rate)


@by_sound
def test_wide_audio_is_heard_as_it_is(name: str) -> None:
    wide = np.random.default_rng(1).integers(-5000, 5000, 16000, "<i2").tobytes()
    told = new_detector(name)(16000).voiced(wide)
    assert len(told) == 50
    assert sum(told) >= 45


@by_sound
def test_a_whole_call_can_be_watched_with_it(name: str) -> None:
    turns = [event.turn for event in of(watch(call(speech("caller", 1000, 3000)), detector=name), "turn.ended")]
    assert len(turns) == 1
    assert abs(turns[0].start_ms - 1000) <= 120
    assert abs(turns[0].end_ms - 3000) <= 120


@pytest.mark.parametrize("mode", [-1, 4])
def test_the_webrtc_detector_has_four_modes(mode: int) -> None:
    with pytest.raises(ValueError, match="mode"):
        new_detector("webrtc", mode=mode)(8000)


def test_a_name_that_is_not_in_the_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        new_detector("crystal ball")


def test_without_its_library_the_detector_says_what_to_install_and_is_never_silent() -> None:
    """B21: the import fails in a fresh environment."""
    program = """
import sys
sys.modules["_webrtcvad"] = None
from monitor import CallMonitor
from connectors import inputs
monitor = CallMonitor()
monitor.feed(inputs.CallStarted(call="c", source="test", tracks={"caller": inputs.TrackFormat()}))
print("watching")
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert ran.returncode != 0
    assert "watching" not in ran.stdout
    assert "install webrtcvad-wheels" in ran.stderr.strip().splitlines()[-1]


def test_the_program_without_the_library_ends_with_one_clear_line() -> None:
    program = """
import sys
sys.modules["_webrtcvad"] = None
from monitor.cli import main
sys.argv[0] = "turnwatch"
sys.exit(main(["watch", sys.argv[1], "--speed", "max", "--json"]))
"""
    call_file = REPOSITORY.parent / "shared" / "data" / "calls" / "03_barge_in.flac"
    ran = subprocess.run(
        [sys.executable, "-c", program, f"wav:{call_file}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode not in (0, 130)
    assert "Traceback" not in ran.stderr
    assert "webrtcvad-wheels" in ran.stderr
    assert "turn." not in ran.stdout
