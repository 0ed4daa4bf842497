"""A steady background is not speech, whatever the detector says; a clean line is left alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
import soundfile as sf
from hypothesis import given
from hypothesis import strategies as st

from connectors import inputs
from connectors.inputs import TRACKS
from monitor.core.background import HALVE_AT, Background, BackgroundSettings, level_step
from monitor.core.call import CoreSettings
from monitor.core.speech import SpeechSettings, full_scale
from tests.builders import even, started, turns_of, watch

CALLS = Path(__file__).resolve().parents[4] / "shared" / "data" / "calls"
FLOOR = int(full_scale(8000) * 10**-5.5)


def energies(dbfs: float, spread_db: float, frames: int, seed: int = 1) -> list[int]:
    """Frames around a level, spread evenly over so many dB."""
    levels = np.random.default_rng(seed).uniform(dbfs - spread_db / 2, dbfs + spread_db / 2, frames)
    return [int(full_scale(8000) * 10 ** (level / 10)) for level in levels]


def mixed(*parts: list[int], seed: int = 2) -> list[int]:
    """All of them, shuffled."""
    every = [energy for part in parts for energy in part]
    np.random.default_rng(seed).shuffle(every)
    return every


def gate_db(heard: list[int]) -> float | None:
    """The gate after these frames in dBFS; None if there is none."""
    background = Background(BackgroundSettings(), FLOOR)
    background.gates(heard)
    return 10 * np.log10(background.gate / full_scale(8000)) if background.gate else None


def test_a_voice_alone_has_no_background() -> None:
    assert gate_db(energies(-30, 30, 900)) is None


def test_steady_noise_under_a_voice_is_one() -> None:
    gate = gate_db(mixed(energies(-25, 24, 400), energies(-45, 3, 400)))
    assert gate is not None
    assert -44 < gate < -40


def test_before_two_seconds_nothing_is_said() -> None:
    assert gate_db(mixed(energies(-25, 24, 45), energies(-45, 3, 45))) is None


def test_noise_alone_is_no_background_for_want_of_anything_louder() -> None:
    assert gate_db(energies(-45, 3, 500)) is None


def test_noise_under_the_floor_is_no_concern() -> None:
    assert gate_db(mixed(energies(-25, 24, 400), energies(-60, 3, 400))) is None


def test_a_heap_near_the_loud_frames_is_the_voice_itself() -> None:
    assert gate_db(mixed(energies(-20, 4, 400), energies(-28, 3, 400))) is None


def test_what_is_past_counts_half_after_twenty_seconds() -> None:
    background = Background(BackgroundSettings(), FLOOR)
    background.gates(mixed(energies(-25, 24, 2 * HALVE_AT), energies(-45, 3, 2 * HALVE_AT)))
    assert background.gate
    background.gates(energies(-25, 24, 2 * HALVE_AT))
    assert not background.gate


@given(st.lists(st.integers(0, 10**11), max_size=300), st.data())
def test_any_batches_give_the_same_gates(heard: list[int], data: st.DataObject) -> None:
    quick = BackgroundSettings(min_frames=10)
    whole = Background(quick, FLOOR).gates(heard)
    background, cut = Background(quick, FLOOR), []
    at = 0
    while at < len(heard):
        count = data.draw(st.integers(1, 35))
        cut += background.gates(heard[at : at + count])
        at += count
    assert cut == whole


def test_levels_rise_in_steps_of_less_than_1_db() -> None:
    steps = [level_step(int(10 ** (k / 40))) for k in range(80, 440)]
    assert steps == sorted(steps)
    assert set(np.diff(steps)) <= {0, 1}


def with_comfort_noise(name: str, under_db: float) -> dict[inputs.Track, bytes]:
    """A labelled call with noise switched on at both ends wherever the sender is silent for 200 ms or more."""
    samples, _ = sf.read(CALLS / f"{name}.flac", dtype="int16", always_2d=True)
    rng = np.random.default_rng(5)
    out: dict[inputs.Track, bytes] = {}
    for side, track in enumerate(TRACKS):
        voice = samples[: len(samples) // 160 * 160, side].astype(float)
        level = np.sqrt((voice.reshape(-1, 160) ** 2).mean(axis=1))
        loud = level > 0.02 * level.max()
        near = np.convolve(loud, np.ones(21), "same") > 0
        speech = np.sqrt((level[loud] ** 2).mean())
        noise = rng.normal(0, speech * 10 ** (-under_db / 20), len(voice)) * np.repeat(~near, 160)
        out[track] = (voice + noise).clip(-32768, 32767).astype("<i2").tobytes()
    return out


def turns(tracks: dict[inputs.Track, bytes], background: BackgroundSettings | None) -> list[tuple[str, int, int]]:
    length = len(tracks["caller"]) // 16
    settings = CoreSettings(speech=msgspec.structs.replace(SpeechSettings(), background=background))
    both = zip(*(even(track, tracks[track], 500) for track in TRACKS), strict=True)
    tape = [started(), *(piece for pair in both for piece in pair), inputs.CallEnded(length, "end_of_file")]
    return turns_of(watch(tape, settings, detector="webrtc"))


def clean(name: str) -> dict[inputs.Track, bytes]:
    samples, _ = sf.read(CALLS / f"{name}.flac", dtype="int16", always_2d=True)
    return {track: samples[:, side].tobytes() for side, track in enumerate(TRACKS)}


@pytest.mark.parametrize("name", ["01_clean_mulaw", "02_gaps", "03_barge_in", "05_agent_overlap"])
def test_a_clean_call_is_heard_the_same_with_and_without_the_gate(name: str) -> None:
    assert turns(clean(name), BackgroundSettings()) == turns(clean(name), None)


@pytest.mark.parametrize("name", ["01_clean_mulaw", "02_gaps"])
def test_comfort_noise_makes_no_turns_and_hides_no_pauses(name: str) -> None:
    noisy, quiet = with_comfort_noise(name, 25), turns(clean(name), BackgroundSettings())
    assert found(turns(noisy, BackgroundSettings()), quiet) >= 0.8 * len(quiet)
    assert found(turns(noisy, None), quiet) < 0.5 * len(quiet)


def found(heard: list[tuple[str, int, int]], true: list[tuple[str, int, int]]) -> int:
    """How many of the true turns were heard, both ends within 250 ms."""
    return sum(
        any(r == role and abs(s - start) <= 250 and abs(e - end) <= 250 for r, s, e in heard)
        for role, start, end in true
    )
