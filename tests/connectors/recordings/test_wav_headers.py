"""WAV headers that lie, or are of the rarer kinds (B33)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.base import ConnectorError
from connectors.inputs import CallEnded, Notice
from tests.connectors.recordings.takes import (
    BOTH,
    BYTES,
    TALK,
    chunk,
    extensible,
    notices_of,
    save,
    seconds_of,
    take,
    tracks_of,
    wav,
)

AUDIO = BYTES


def written(folder: Path, content: bytes) -> Path:
    path = folder / "call.wav"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(wav(AUDIO, size=0), id="size 0"),
        pytest.param(wav(AUDIO, size=0xFFFFFFFF), id="size unknown"),
        pytest.param(wav(AUDIO, size=0xFFFFFFD8), id="size unknown, less the header"),
        pytest.param(wav(AUDIO, size=1000), id="size of the first second only"),
        pytest.param(wav(AUDIO, size=3 * len(AUDIO)), id="size of more than there is"),
        pytest.param(wav(AUDIO, tag=0xFFFE), id="extensible without its extension"),
    ],
)
def test_a_lying_header_costs_nothing_but_a_notice(tmp_path: Path, content: bytes) -> None:
    inputs = take(written(tmp_path, content))
    assert tracks_of(inputs) == BOTH
    assert notices_of(inputs) == ["bad_header"]
    assert inputs[-1] == CallEnded(4000, "end_of_file")


def test_what_was_cut_off_ends_at_the_last_whole_frame(tmp_path: Path) -> None:
    inputs = take(written(tmp_path, wav(AUDIO)[:-3]))
    assert {track: len(pcm) // 2 for track, pcm in tracks_of(inputs).items()} == {"caller": 31999, "agent": 31999}
    assert inputs[-1] == CallEnded(4000, "end_of_file")
    (notice,) = [given for given in inputs if isinstance(given, Notice)]
    assert (notice.kind, notice.at) == ("bad_header", 0)
    assert "ends early" in notice.message


def test_half_a_file_is_half_a_call(tmp_path: Path) -> None:
    inputs = take(written(tmp_path, wav(AUDIO)[: 44 + len(AUDIO) // 2 + 1]))
    assert seconds_of(inputs) == {"caller": 2.0, "agent": 2.0}
    assert notices_of(inputs) == ["bad_header"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(wav(AUDIO), id="plain"),
        pytest.param(wav(AUDIO, tag=0xFFFE, extra=extensible(16)), id="extensible"),
        pytest.param(wav(AUDIO, before=chunk(b"LIST", b"INFOx")), id="odd chunk before"),
        pytest.param(wav(AUDIO, before=chunk(b"LIST", b"INFOx", pad=False)), id="odd chunk without its pad byte"),
        pytest.param(wav(AUDIO, after=chunk(b"LIST", b"INFOISFT")), id="chunk behind"),
        pytest.param(wav(AUDIO, after=b"\0" * 7), id="a few stray bytes behind"),
    ],
)
def test_rarer_headers_are_read_without_a_word(tmp_path: Path, content: bytes) -> None:
    inputs = take(written(tmp_path, content))
    assert tracks_of(inputs) == BOTH
    assert notices_of(inputs) == []


@pytest.mark.parametrize(
    ("subtype", "error"), [("PCM_U8", 256), ("PCM_24", 1), ("ULAW", 700), ("ALAW", 700), ("FLOAT", 1)]
)
def test_every_depth_sounds_the_same(tmp_path: Path, subtype: str, error: int) -> None:
    inputs = take(save(tmp_path / "call.wav", TALK / 32768, subtype=subtype))
    for track, pcm in tracks_of(inputs).items():
        heard, meant = np.frombuffer(pcm, "<i2").astype(int), np.frombuffer(BOTH[track], "<i2").astype(int)
        assert np.abs(heard - meant).max() <= error
    assert notices_of(inputs) == []


def test_floats_beyond_full_scale_are_clipped_and_no_number_is_silence(tmp_path: Path) -> None:
    samples = np.array([[0.5, -2.0], [np.nan, np.inf], [-0.25, 3e38]] * 800, np.float32)
    inputs = take(save(tmp_path / "call.wav", samples, subtype="FLOAT"))
    tracks = {track: list(np.frombuffer(pcm, "<i2")[:3]) for track, pcm in tracks_of(inputs).items()}
    assert tracks == {"caller": [16384, 0, -8192], "agent": [-32768, 32767, 32767]}


@pytest.mark.parametrize(
    ("tag", "name"), [(0x83, "G.729"), (0x45, "G.726"), (0x704F, "Opus"), (0x1234, "format 0x1234")]
)
def test_an_encoding_that_is_not_read_is_named(tmp_path: Path, tag: int, name: str) -> None:
    with pytest.raises(ConnectorError) as caught:
        take(written(tmp_path, wav(AUDIO, tag=tag)))
    message = str(caught.value)
    assert name in message
    assert "ffmpeg" in message
    assert "\n" not in message


def test_a_header_without_audio_is_no_call(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="holds no audio"):
        take(written(tmp_path, wav(b"")))
    with pytest.raises(ConnectorError, match="holds no audio"):
        take(written(tmp_path, wav(b"", after=chunk(b"LIST", b"INFOISFT"))))


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.integers(0, 59), st.integers(0, 255), min_size=1, max_size=6), st.integers(0, 400))
def test_no_header_breaks_more_than_its_own_call(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[int, int], length: int
) -> None:
    content = bytearray(wav(AUDIO[:320], before=chunk(b"LIST", b"INFOx"))[:length])
    for place, value in changes.items():
        if place < len(content):
            content[place] = value
    path = written(tmp_path_factory.mktemp("call"), bytes(content))
    refused = ""
    try:
        assert set(tracks_of(take(path))) <= {"caller", "agent"}
    except ConnectorError as error:
        refused = str(error)
    assert "\n" not in refused
