"""How the simulated agent hears its caller."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.simulator.hearing import HANGOVER_MS, Hearing

VOICE, HUSH = 3000, 10


def line(*stretches: tuple[int, int]) -> bytes:
    """A track of (loudness, ms) stretches, 8 kHz."""
    noise = np.random.default_rng(1)
    parts = [noise.normal(0, loud, ms * 8) for loud, ms in stretches]
    return np.concatenate(parts).astype("<i2").tobytes()


def hear(track: bytes, chunk_ms: int = 20, delay: float = 0.0) -> tuple[Hearing, list[tuple[float, float]]]:
    """What is heard of a track that comes in chunks in real time: the ear, and the utterances that were settled."""
    ear, found, size = Hearing(), [], chunk_ms * 16
    for number, start in enumerate(range(0, len(track), size)):
        now = (number + 1) * chunk_ms + delay
        ear.hear(now, track[start : start + size])
        if ear.settle(now) and ear.start is not None and ear.last is not None:
            found.append((ear.start, ear.last))
    return ear, found


@given(st.sampled_from([10, 20, 30, 40, 100]), st.floats(0, 300))
def test_an_utterance_is_found_where_it_was_whatever_the_chunks_and_the_delay(chunk_ms: int, delay: float) -> None:
    _, found = hear(line((HUSH, 400), (VOICE, 1000), (HUSH, 600)), chunk_ms, delay)
    assert len(found) == 1
    assert found[0] == (pytest.approx(400 + delay, abs=41), pytest.approx(1400 + delay, abs=41))


def test_a_pause_shorter_than_the_hangover_does_not_end_it() -> None:
    _, found = hear(line((VOICE, 500), (HUSH, HANGOVER_MS - 60), (VOICE, 500), (HUSH, 600)))
    assert found == [(0, pytest.approx(1000 + HANGOVER_MS - 60, abs=20))]


def test_a_click_is_no_utterance() -> None:
    _, found = hear(line((HUSH, 300), (VOICE, 30), (HUSH, 900)))
    assert found == []


def test_silence_counts_only_as_far_as_it_was_heard() -> None:
    ear, _ = hear(line((VOICE, 500), (HUSH, 100)))
    assert ear.silent_ms(600) == 100
    assert ear.silent_ms(1500) == 100  # the next chunk may hold speech
    assert ear.silent_ms(1700) == 1200  # nothing comes any more


def test_a_stall_of_the_network_shortens_no_utterance() -> None:
    track = line((HUSH, 200), (VOICE, 400), (HUSH, 100))
    ear = Hearing()
    for number, start in enumerate(range(0, len(track), 320)):
        ear.hear(max(900.0, (number + 1) * 20) if number else 20, track[start : start + 320])
    assert ear.speech_ms() == 400
    assert ear.start == pytest.approx(200, abs=1)


def test_a_microphone_that_was_off_for_a_while_is_placed_anew() -> None:
    ear, _ = hear(line((HUSH, 500)))
    for number in range(1, 31):
        ear.hear(5000 + number * 20, line((VOICE, 20)))
    assert ear.start == pytest.approx(5000, abs=20)


def test_a_written_message_is_an_utterance_that_is_over() -> None:
    ear = Hearing()
    ear.type(100)
    assert ear.speech_ms() == 0
    assert (ear.start, ear.last) == (100, 100)
    assert not ear.settle(100)
    assert ear.settle(100 + HANGOVER_MS)
