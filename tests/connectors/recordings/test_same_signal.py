"""When two channels are one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from connectors.same_signal import SameSignal
from tests.builders import noise, voice


def samples(pcm: bytes) -> NDArray[np.int16]:
    return np.frombuffer(pcm, "<i2")


VOICE, OTHER = samples(voice(2000, 1)), samples(voice(2000, 2))


def compared(left: NDArray[np.int16], right: NDArray[np.int16]) -> SameSignal:
    same = SameSignal(8000)
    same.add(left, right)
    return same


@pytest.mark.parametrize("gain_db", [0, -1, 1])
def test_a_copy_is_the_same_at_about_the_same_level(gain_db: float) -> None:
    copy = np.clip(VOICE * 10 ** (gain_db / 20) + samples(noise(2000, 20, 5)), -32768, 32767).astype(np.int16)
    assert compared(VOICE, copy).same


@pytest.mark.parametrize("gain_db", [-6, -12, -25, -40])
def test_side_tone_is_not_a_copy(gain_db: float) -> None:
    tone = (VOICE * 10 ** (gain_db / 20)).astype(np.int16)
    for left, right in ((VOICE, tone), (tone, VOICE)):
        assert compared(left, right).two_speakers
        assert not compared(left, right).same


def test_an_echo_is_not_a_copy() -> None:
    assert compared(VOICE, np.roll(VOICE, 480)).two_speakers


def test_silence_says_nothing() -> None:
    nothing = np.zeros(80_000, np.int16)
    assert not compared(nothing, nothing).same
    assert not compared(nothing, nothing).two_speakers


def test_one_silent_channel_is_not_a_copy() -> None:
    assert compared(VOICE, np.zeros_like(VOICE)).two_speakers


def test_a_dropout_in_one_channel_of_a_copy_does_not_make_it_two() -> None:
    long = np.tile(VOICE, 10)
    holed = long.copy()
    holed[:4000] = 0
    assert compared(long, holed).same


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 900), max_size=30))
def test_chunks_do_not_matter(sizes: list[int]) -> None:
    whole, pieces = compared(VOICE, OTHER), SameSignal(8000)
    at = 0
    for size in [*sizes, len(VOICE)]:
        pieces.add(VOICE[at : at + size], OTHER[at : at + size])
        at += size
    assert (pieces.same_ms, pieces.differing_ms) == (whole.same_ms, whole.differing_ms)
