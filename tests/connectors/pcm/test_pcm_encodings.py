"""Every encoding of a wire becomes the right samples, whatever the chunks (B22, B25, B26)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors import g711
from connectors.pcm import ENCODINGS, PcmDecoder, UnknownFormat


def samples(pcm: bytes) -> list[int]:
    return [int(value) for value in np.frombuffer(pcm, "<i2")]


def decoded(encoding: str, data: bytes) -> list[int]:
    return samples(PcmDecoder(encoding, 8000).decode(data)[0])


def test_mulaw_knows_its_zeros_and_its_loudest() -> None:
    assert decoded("mulaw", b"\xff\x7f\x80\x00") == [0, 0, 32124, -32124]


def test_alaw_knows_its_smallest_and_its_loudest() -> None:
    assert decoded("alaw", b"\xd5\x55\xaa\x2a") == [8, -8, 32256, -32256]


def test_the_tables_hold_the_values_of_g711() -> None:
    # The first and the last code of each segment, from tables 2a and 1a of G.711 (scaled to 16 bits).
    ends = [(0xFE, 8), (0xF0, 120), (0xEF, 132), (0xE0, 372), (0xDF, 396), (0xD0, 876), (0xCF, 924), (0xC0, 1884)]
    assert [(code, int(g711.MULAW[code])) for code, _ in ends] == ends
    ends = [(0xD4, 24), (0xDA, 248), (0xC5, 264), (0xCA, 504), (0xF5, 528), (0xFA, 1008), (0xE5, 1056), (0xEA, 2016)]
    assert [(code, int(g711.ALAW[code])) for code, _ in ends] == ends
    for table in (g711.MULAW, g711.ALAW):
        assert sorted(-table.astype(int)) == sorted(table.astype(int))


@pytest.mark.parametrize("table", [g711.MULAW, g711.ALAW], ids=["mulaw", "alaw"])
def test_every_code_survives_expanding_and_compressing(table: g711.Samples) -> None:
    every = bytes(range(256))
    levels = g711.expand(table, every)
    again = g711.expand(table, g711.compress(table, levels.tobytes()))
    assert again.tolist() == levels.tolist()


def test_compressed_silence_is_what_carriers_send() -> None:
    assert g711.compress(g711.MULAW, bytes(4)) == bytes([g711.MULAW_SILENCE]) * 2
    assert g711.compress(g711.ALAW, bytes(4)) == bytes([g711.ALAW_SILENCE]) * 2


@settings(deadline=None)
@given(st.lists(st.integers(-32768, 32767), min_size=1, max_size=50))
def test_compressing_takes_the_nearest_level(wanted: list[int]) -> None:
    pcm = np.array(wanted, "<i2").tobytes()
    for table in (g711.MULAW, g711.ALAW):
        got = g711.expand(table, g711.compress(table, pcm)).astype(int)
        nearest = [min(abs(table.astype(int) - value)) for value in wanted]
        assert abs(got - np.array(wanted)).tolist() == nearest


def test_16_bit_words_are_read_in_either_byte_order() -> None:
    words = [0, 1, -1, 32767, -32768]
    assert decoded("s16le", struct.pack("<5h", *words)) == words
    assert decoded("s16be", struct.pack(">5h", *words)) == words
    assert decoded("pcm_s16le", struct.pack("<5h", *words)) == words


def test_floats_are_scaled_clipped_and_never_crash() -> None:
    data = struct.pack("<7f", 0.0, 0.5, -0.5, 1.5, -1.5, float("nan"), float("inf"))
    assert decoded("f32le", data) == [0, 16384, -16384, 32767, -32768, 0, 32767]


def test_channels_are_taken_apart() -> None:
    left, right = PcmDecoder("s16le", 8000, channels=2).decode(struct.pack("<6h", 1, -1, 2, -2, 3, -3))
    assert (samples(left), samples(right)) == ([1, 2, 3], [-1, -2, -3])


def test_near_silence_in_odd_chunks_stays_near_silence() -> None:
    quiet = np.random.default_rng(25).normal(0, 3, 24000).astype("<i2")
    data, decoder = quiet.tobytes() + b"\x01", PcmDecoder("s16le", 8000)
    heard, size = b"", 641
    while data:
        heard += decoder.decode(data[:size])[0]
        data, size = data[size:], 1280 - size
    heard += decoder.finish()[0]
    assert samples(heard) == quiet.tolist()
    assert decoder.spare_bytes == 1


def test_nothing_in_is_nothing_out() -> None:
    for encoding in ENCODINGS:
        decoder = PcmDecoder(encoding, 16000, channels=2)
        assert decoder.decode(b"") == (b"", b"")
        assert decoder.finish() == (b"", b"")
        assert decoder.spare_bytes == 0


@pytest.mark.parametrize(
    ("encoding", "rate", "channels", "target", "says"),
    [
        ("opus", 8000, 1, 8000, "'opus' is not known; known are s16le"),
        ("x" * 5000, 8000, 1, 8000, "is not known"),
        ("mulaw", 7999, 1, 8000, "must have 8000 to"),
        ("mulaw", 8000, 1, 16000, "cannot be watched at 16000 Hz"),
        ("mulaw", 0, 1, 8000, "must have 8000 to"),
        ("mulaw", 10**9, 1, 8000, "must have 8000 to"),
        ("mulaw", 47999, 1, 8000, "no small common measure"),
        ("mulaw", 8000, 0, 8000, "0 channels"),
        ("mulaw", 8000, 1, 11025, "only of 8000 or 16000"),
    ],
)
def test_an_unknown_format_is_refused_in_one_plain_line(
    encoding: str, rate: int, channels: int, target: int, says: str
) -> None:
    with pytest.raises(UnknownFormat, match=says) as refusal:
        PcmDecoder(encoding, rate, channels=channels, target=target)
    assert len(str(refusal.value)) < 200
