"""Silero: what it takes for a voice, and that neither batches nor offers change a word."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import soundfile as sf

from monitor.detectors import DetectorUnavailable
from monitor.detectors.silero import SileroDetector
from monitor.detectors.silero_batches import MODEL
from tests.builders import noise, voice

REPOSITORY = Path(__file__).resolve().parents[2]
CALLS = REPOSITORY.parent / "shared" / "data" / "calls"
FRAME = 320


@cache
def track(name: str, side: int) -> bytes:
    """One side of a labelled call, in whole frames."""
    samples, _ = sf.read(CALLS / f"{name}.flac", dtype="int16", always_2d=True)
    pcm = samples[:, side].tobytes()
    return pcm[: len(pcm) // FRAME * FRAME]


def right(name: str, side: int) -> float:
    """The share of frames that are told as the labels have them."""
    told = SileroDetector().voiced(track(name, side))
    label = json.loads((CALLS / f"{name}.json").read_text("utf-8"))
    spans = [(one["start"], one["end"]) for one in label["speech"] if one["track"] == ("caller", "agent")[side]]
    true = [any(start <= k / 50 < end for start, end in spans) for k in range(len(told))]
    return sum(a == b for a, b in zip(told, true, strict=True)) / len(true)


@pytest.mark.parametrize("name", ["01_clean_mulaw", "09_babble_15db", "11_comfort_noise", "13_tones_and_music"])
@pytest.mark.parametrize("side", [0, 1])
def test_it_tells_voices_from_babble_comfort_noise_and_music(name: str, side: int) -> None:
    assert right(name, side) > 0.9


def test_no_steady_noise_is_a_voice_to_it() -> None:
    assert sum(SileroDetector().voiced(voice(2000))) == 0


def test_neither_pieces_nor_offers_nor_company_change_an_answer() -> None:
    """Three tracks side by side, in pieces of 1 to 9 frames, some of it offered ahead, against each by itself."""
    rng = random.Random(5)
    sounds = [track("09_babble_15db", 0)[: 900 * FRAME], track("03_barge_in", 1)[: 900 * FRAME], noise(18_000, 900, 3)]
    alone = [SileroDetector().voiced(pcm) for pcm in sounds]
    detectors, told = [SileroDetector() for _ in sounds], [b"" for _ in sounds]
    offered, at = [0] * 3, [0] * 3
    while any(at[n] < len(pcm) for n, pcm in enumerate(sounds)):
        n = rng.randrange(3)
        ahead = min(max(offered[n], at[n]) + rng.randrange(6) * FRAME, len(sounds[n]))
        detectors[n].offer(sounds[n][max(offered[n], at[n]) : ahead])
        offered[n] = ahead
        piece = sounds[n][at[n] : at[n] + rng.randrange(1, 10) * FRAME]
        if piece:
            told[n] += detectors[n].voiced(piece)
            at[n] += len(piece)
            offered[n] = max(offered[n], at[n])
    assert told == alone


def test_what_was_offered_before_a_reset_is_forgotten() -> None:
    pcm = track("03_barge_in", 1)[: 100 * FRAME]
    used, new = SileroDetector(), SileroDetector()
    used.offer(track("09_babble_15db", 0)[: 300 * FRAME])
    used.reset()
    assert used.voiced(pcm) == new.voiced(pcm)


@pytest.mark.parametrize("percent", [-1, 101])
def test_its_threshold_is_a_percentage(percent: int) -> None:
    with pytest.raises(ValueError, match="0 to 100 percent"):
        SileroDetector(percent=percent)


def test_the_model_stands_with_its_licence() -> None:
    assert "MIT License" in MODEL.with_suffix(".LICENSE").read_text("utf-8")


def test_without_onnxruntime_it_says_what_to_install() -> None:
    program = """
import sys
sys.modules["onnxruntime"] = None
from monitor.detectors import DetectorUnavailable
from monitor.detectors.silero import SileroDetector
try:
    SileroDetector()
except DetectorUnavailable as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert "install turnwatch[silero]" in ran.stdout
    assert issubclass(DetectorUnavailable, Exception)
