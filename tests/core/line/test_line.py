"""A line's noise: steady, never quiet, or a sound that never dips. A clean line is left alone."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.line.settings import LineSettings
from monitor.core.line.steps import energy_of, level_steps
from monitor.core.line.track import Line
from monitor.core.speech import frame_energies, full_scale

CALLS = Path(__file__).resolve().parents[4] / "shared" / "data" / "calls"
FULL = full_scale(8000)
FLOOR = int(FULL * 10**-5.5)


def energies(levels: list[float]) -> list[int]:
    """Frames of these levels in dBFS."""
    return [int(FULL * 10 ** (level / 10)) for level in levels]


def spread(dbfs: float, spread_db: float, frames: int, seed: int = 1) -> list[int]:
    """Frames around a level, spread evenly over so many dB, each by itself."""
    return energies(np.random.default_rng(seed).uniform(dbfs - spread_db / 2, dbfs + spread_db / 2, frames).tolist())


@cache
def recorded() -> list[int]:
    """The agent's frames in a clean call, pauses of more than 100 ms left out."""
    samples, _ = sf.read(CALLS / "01_clean_mulaw.flac", dtype="int16", always_2d=True)
    frames = frame_energies(samples[: len(samples) // 160 * 160, 1].tobytes(), 160)
    return [energy for k, energy in enumerate(frames) if max(frames[max(0, k - 2) : k + 3]) >= FLOOR]


def voice(seconds: float, first: float = 0.0) -> list[int]:
    """So much of a voice, from so many seconds on."""
    frames = recorded()
    return [frames[k % len(frames)] for k in range(int(first * 50), int((first + seconds) * 50))]


def after(*parts: list[int], settings: LineSettings | None = None) -> Line:
    """The line after these frames."""
    line = Line(settings or LineSettings(), FLOOR, FULL)
    for energy in (one for part in parts for one in part):
        line.hear([energy])
    return line


def gate_db(line: Line) -> float | None:
    """Its gate in dBFS; None if there is none."""
    return 10 * np.log10(line.gate / FULL) if line.gate else None


def test_a_voice_alone_has_no_noise_and_is_not_doubted() -> None:
    line = after([0] * 25, voice(20))
    assert gate_db(line) is None
    assert not line.doubtful


def test_noise_before_the_first_word_is_known_in_400_ms() -> None:
    gate = gate_db(after(spread(-45, 2, 20)))
    assert gate is not None
    assert -44 < gate < -40
    assert not after(spread(-45, 2, 20)).doubtful


def test_comfort_noise_in_the_pauses_of_a_long_talk_is_known() -> None:
    talk = [part for k in range(5) for part in (voice(4, 4 * k), spread(-48, 2, 25, k))]
    gate = gate_db(after([0] * 10, *talk))
    assert gate is not None
    assert -47 < gate < -43


def test_noise_under_the_floor_is_no_concern() -> None:
    assert gate_db(after(voice(5), spread(-60, 2, 400))) is None


def test_a_steady_sound_near_the_loud_frames_is_the_voice_itself() -> None:
    assert gate_db(after(spread(-18, 4, 100), [0] * 25, spread(-26, 2, 100), [0] * 25)) is None


def test_what_is_past_counts_half_after_twenty_seconds_and_is_forgotten_in_the_end() -> None:
    line = after(spread(-45, 2, 100))
    assert line.gate
    for energy in [0] * 500 + voice(240):
        line.hear([energy])
    assert not line.gate


def test_a_line_that_is_never_quiet_is_doubted_before_anybody_speaks() -> None:
    babble = spread(-40, 14, 20)
    line = after(babble)
    assert line.doubtful
    assert line.gate


@pytest.mark.parametrize(("seconds", "doubted"), [(1.2, False), (2.2, True)])
def test_a_sound_that_does_not_dip_for_long_may_be_music(seconds: float, doubted: bool) -> None:
    line = after([0] * 50, voice(6), [0] * 100, spread(-24, 9, int(seconds * 50)))
    assert line.doubtful is doubted


def test_the_doubt_of_music_ends_five_seconds_after_it() -> None:
    line = after([0] * 50, voice(6), [0] * 100, spread(-24, 9, 200), [0] * 200)
    assert line.doubtful
    for energy in [0] * 100:
        line.hear([energy])
    assert not line.doubtful


@given(st.lists(st.integers(0, 10**11), max_size=400), st.data())
def test_any_batches_give_the_same_answers(heard: list[int], data: st.DataObject) -> None:
    settings = LineSettings(min_frames=3, no_dip_ms=200, no_quiet_ms=300)
    alone, cut, at = Line(settings, FLOOR, FULL), Line(settings, FLOOR, FULL), 0
    answers = []
    for energy in heard:
        alone.hear([energy])
        answers.append((alone.gate, alone.doubtful))
    while at < len(heard):
        count = data.draw(st.integers(1, cut.left))
        cut.hear(heard[at : at + count])
        at = min(len(heard), at + count)
        assert (cut.gate, cut.doubtful) == answers[at - 1]


def test_levels_rise_in_steps_of_less_than_1_db() -> None:
    steps = level_steps([int(10 ** (k / 40)) for k in range(80, 440)]).tolist()
    assert steps == sorted(steps)
    assert set(np.diff(steps)) <= {0, 1}
    assert list(accumulate(steps, max)) == steps


@given(st.integers(13, 160))
def test_a_step_begins_at_its_least_energy(step: int) -> None:
    assert level_steps([energy_of(step), energy_of(step) - 1]).tolist() == [step, step - 1]
