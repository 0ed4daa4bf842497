"""Rates are lowered without aliases, without lag, and to the same bytes for any chunking (B19)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from connectors.pcm import ENCODINGS, PcmDecoder

RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 96000)
LOWERED = [(rate, target) for target in (8000, 16000) for rate in RATES if rate > target]


def tone(hz: float, rate: int, seconds: float = 1.0, size: float = 16000) -> bytes:
    return np.rint(np.sin(2 * np.pi * hz * np.arange(int(rate * seconds)) / rate) * size).astype("<i2").tobytes()


def lowered(pcm: bytes, rate: int, target: int = 8000) -> NDArray[np.float64]:
    decoder = PcmDecoder("s16le", rate, target=target)
    return np.frombuffer(decoder.decode(pcm)[0] + decoder.finish()[0], "<i2").astype(float)


def level(heard: NDArray[np.float64]) -> float:
    """dB against the tone's own level, without the ends."""
    inner = heard[400:-400]
    return float(20 * np.log10(np.sqrt(np.mean(inner**2)) / (16000 / 2**0.5) + 1e-9))


@pytest.mark.parametrize(("rate", "target"), LOWERED)
def test_telephone_band_passes(rate: int, target: int) -> None:
    for hz in (100, 300, 1000, 2000, 3000, 3400):
        assert abs(level(lowered(tone(hz * target / 8000, rate), rate, target))) < 0.5


@pytest.mark.parametrize(("rate", "target"), LOWERED)
def test_what_the_lower_rate_cannot_hold_is_gone(rate: int, target: int) -> None:
    for hz in (4000, 4150, 4500, 5000, 5400, 7000, 7900, 11000, 20000):
        if hz * target / 8000 < rate / 2:
            assert level(lowered(tone(hz * target / 8000, rate), rate, target)) < -50


@pytest.mark.parametrize(("rate", "target"), LOWERED)
def test_a_click_stays_where_it_was(rate: int, target: int) -> None:
    for ms in (0, 100, 333, 1000):
        pcm = np.zeros(rate + rate // 10, "<i2")
        pcm[ms * rate // 1000] = 30000
        heard = lowered(pcm.tobytes(), rate, target)
        assert abs(int(np.argmax(np.abs(heard))) * 1000 / target - ms) <= 1000 / target


@pytest.mark.parametrize(("rate", "target"), LOWERED)
def test_a_constant_stays_that_constant(rate: int, target: int) -> None:
    heard = lowered(np.full(rate, 12345, "<i2").tobytes(), rate, target)
    assert set(heard[100:-100]) == {12345.0}


@pytest.mark.parametrize(("rate", "target"), [*LOWERED, (8000, 8000), (16000, 16000)])
def test_a_second_is_a_second(rate: int, target: int) -> None:
    assert len(lowered(tone(440, rate), rate, target)) == target


@pytest.mark.parametrize(("rate", "target"), LOWERED)
def test_no_sample_waits_for_more_than_the_filter(rate: int, target: int) -> None:
    decoder = PcmDecoder("s16le", rate, target=target)
    frame, came, left = rate // 50, 0, 0
    pcm = tone(440, rate, 0.5)
    for begin in range(0, len(pcm) - 2 * frame, 2 * frame):
        came += frame
        left += len(decoder.decode(pcm[begin : begin + 2 * frame])[0]) // 2
        assert came / rate - left / target <= 0.003


def test_too_loud_clips_and_does_not_wrap() -> None:
    square = np.where(np.arange(16000) % 40 < 20, 32767, -32768).astype("<i2")
    heard = lowered(square.tobytes(), 16000)
    assert (heard.max(), heard.min()) == (32767, -32768)
    assert np.abs(np.diff(heard)).max() < 65535


def test_silence_is_exactly_silence() -> None:
    assert not lowered(bytes(44100), 44100).any()


def test_after_its_end_a_decoder_is_as_new() -> None:
    decoder = PcmDecoder("s16le", 24000)
    pcm = tone(700, 24000, 0.1)
    first = decoder.decode(pcm)[0] + decoder.finish()[0]
    assert decoder.decode(pcm)[0] + decoder.finish()[0] == first


def test_a_large_block_is_the_same_as_its_frames() -> None:
    noise = np.random.default_rng(8).integers(-20000, 20000, 200_001).astype("<i2").tobytes()
    for rate in (16000, 44100):
        whole, framed = PcmDecoder("s16le", rate), PcmDecoder("s16le", rate)
        pieces = [framed.decode(noise[begin : begin + 640])[0] for begin in range(0, len(noise), 640)]
        assert whole.decode(noise)[0] + whole.finish()[0] == b"".join(pieces) + framed.finish()[0]


@settings(deadline=None)
@given(
    encoding=st.sampled_from(ENCODINGS),
    rate=st.sampled_from(RATES),
    channels=st.integers(1, 3),
    data=st.binary(max_size=3000),
    cuts=st.lists(st.integers(0, 3000), max_size=12),
)
def test_any_chunking_gives_the_same_bytes(
    encoding: str, rate: int, channels: int, data: bytes, cuts: list[int]
) -> None:
    whole = PcmDecoder(encoding, rate, channels=channels)
    first, rest = whole.decode(data), whole.finish()
    expected = [a + b for a, b in zip(first, rest, strict=True)]

    chunked = PcmDecoder(encoding, rate, channels=channels)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [chunked.decode(data[a:b]) for a, b in itertools.pairwise(edges)]
    pieces.append(chunked.finish())
    assert [b"".join(track) for track in zip(*pieces, strict=True)] == expected
    assert chunked.spare_bytes == whole.spare_bytes == len(data) % (channels * {"f": 4, "s": 2}.get(encoding[0], 1))


@settings(max_examples=20, deadline=None)
@given(rate=st.sampled_from(RATES), data=st.binary(max_size=700))
def test_single_bytes_give_the_same_bytes(rate: int, data: bytes) -> None:
    whole, single = PcmDecoder("s16le", rate), PcmDecoder("s16le", rate)
    pieces = [single.decode(data[at : at + 1])[0] for at in range(len(data))]
    assert b"".join(pieces) + single.finish()[0] == whole.decode(data)[0] + whole.finish()[0]
