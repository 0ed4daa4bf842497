"""Raw audio from pipes and files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors import g711
from connectors.inputs import Audio, CallEnded, CallStarted, Input, Notice, TrackFormat
from connectors.pcm_stream import PcmStream
from connectors.source import SourceOptions
from tests.builders import noise, speech, turns_of, watch
from tests.connectors.recordings.pipes import piped
from tests.connectors.recordings.takes import BOTH, BYTES, TALK, notices_of, seconds_of, stereo, tracks_of

MONO = SourceOptions(channels=("caller",))


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_a_pipe_is_a_live_call_of_two_channels() -> None:
    inputs = piped([BYTES])
    started = inputs[0]
    assert isinstance(started, CallStarted)
    assert started.call.startswith("stdin-2")
    assert started.started_at is not None
    form = TrackFormat("pcm_s16le", 8000)
    assert (started.source, started.tracks) == ("pcm", {"caller": form, "agent": form})
    assert tracks_of(inputs) == BOTH
    assert inputs[-1] == CallEnded(4000, "end_of_file")
    assert notices_of(inputs) == []
    assert turns_of(watch(inputs)) == [("user", 500, 1500), ("assistant", 1800, 3600)]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=40))
def test_any_chunks_give_the_same_samples(sizes: list[int]) -> None:
    """B25: odd chunks included."""
    chunks, at = [], 0
    for size in sizes:
        chunks.append(BYTES[at : at + size])
        at += size
    inputs = piped([chunk for chunk in [*chunks, BYTES[at:]] if chunk])
    assert tracks_of(inputs) == BOTH
    assert notices_of(inputs) == []


def test_a_lone_byte_at_the_end_is_dropped_and_counted() -> None:
    """B25: near-silence in chunks of 641 and 639 bytes stays near-silence."""
    quiet = noise(3000, 5, 1)
    chunks = [
        quiet[at + offset : at + offset + size]
        for at in range(0, len(quiet), 1280)
        for offset, size in ((0, 641), (641, 639))
    ]
    inputs = piped([chunk for chunk in [*chunks, b"\x7f"] if chunk], MONO)
    assert tracks_of(inputs) == {"caller": quiet}
    (dropped,) = [given for given in inputs if isinstance(given, Notice) and given.kind == "bad_payload"]
    assert (dropped.at, dropped.count) == (3000, 1)
    assert turns_of(watch(inputs, detector="webrtc")) == []


@pytest.mark.parametrize("name", ["mulaw", "alaw"])
def test_telephone_bytes(name: str) -> None:
    codes = np.random.default_rng(3).integers(0, 256, 16000, np.uint8).tobytes()
    inputs = piped(cut(codes, 999), SourceOptions(encoding=name, channels=("agent",)))
    table = g711.MULAW if name == "mulaw" else g711.ALAW
    assert tracks_of(inputs) == {"agent": g711.expand(table, codes).tobytes()}
    assert isinstance(inputs[0], CallStarted)
    assert inputs[0].tracks == {"agent": TrackFormat(name, 8000)}


def test_the_order_of_the_channels_can_be_turned() -> None:
    inputs = piped([BYTES], SourceOptions(channels=("agent", "caller")))
    assert tracks_of(inputs) == {"caller": BOTH["agent"], "agent": BOTH["caller"]}
    assert [given.track for given in inputs if isinstance(given, Audio)][:2] == ["caller", "agent"]


def test_other_rates_are_lowered_and_end_where_they_end() -> None:
    inputs = piped(cut(np.repeat(TALK, 2, axis=0).tobytes(), 1001), SourceOptions(rate=16000))
    assert seconds_of(inputs) == {"caller": 4.0, "agent": 4.0}
    assert inputs[-1] == CallEnded(4000, "end_of_file")


def test_a_mono_call_on_two_channels_is_one_speaker() -> None:
    """What `ffmpeg -ac 2` makes of a mono recording."""
    twice = np.repeat(stereo(speech("caller", 500, 9500), length=10000)[:, :1], 2, axis=1)
    for data in (twice.tobytes(), twice[:24000].tobytes()):
        inputs = piped(cut(data, 4000))
        assert tracks_of(inputs) == {"caller": np.frombuffer(data, "<i2")[::2].tobytes()}
        assert notices_of(inputs) == ["mono"]
        assert isinstance(inputs[0], CallStarted)
        assert list(inputs[0].tracks) == ["caller"]


def test_long_silence_before_the_first_word_is_not_held_back_for_ever() -> None:
    """After 30 s without a sound the call begins; that both channels are the same is then told when it is over."""
    length = 40_000
    quiet = np.zeros((length * 8, 2), np.int16)
    quiet[-16000:] = np.repeat(stereo(speech("caller", 0, 2000), length=2000)[:, :1], 2, axis=1)
    inputs = piped(cut(quiet.tobytes(), 32000))
    assert notices_of(inputs) == ["mono"]
    assert isinstance(inputs[-2], Notice)
    assert set(tracks_of(inputs)) == {"caller", "agent"}


def test_a_call_begins_as_soon_as_the_channels_differ() -> None:
    """The pipe stays open: what has come so far must be on its way long before the end."""

    async def run() -> list[Input]:
        reader, writer = os.pipe()
        inputs = PcmStream(reader, SourceOptions(piece_ms=20)).inputs()
        os.write(writer, BYTES[: 32 * 720])  # 0.7 s, of which the caller has spoken for 0.2 s
        first = [await anext(inputs) for _ in range(73)]
        os.close(writer)
        rest = [given async for given in inputs]
        os.close(reader)
        return first + rest

    inputs = asyncio.run(run())
    assert isinstance(inputs[0], CallStarted)
    assert seconds_of(inputs[:73]) == {"caller": 0.72, "agent": 0.72}
    assert inputs[-1] == CallEnded(720, "end_of_file")


def test_a_pipe_that_pauses_is_told_once_and_costs_no_time_of_the_call() -> None:
    told = asyncio.Event()

    async def run() -> list[Input]:
        reader, writer = os.pipe()
        stream = PcmStream(reader, MONO, stall_s=0.02)
        os.write(writer, BOTH["caller"][:16000])
        inputs: list[Input] = []
        async for came in stream.inputs():
            inputs.append(came)
            if isinstance(came, Notice) and came.kind == "stalled" and not told.is_set():
                told.set()
                os.write(writer, BOTH["caller"][16000:32000])
                os.close(writer)
        os.close(reader)
        return inputs

    inputs = asyncio.run(run())
    (stalled,) = [given for given in inputs if isinstance(given, Notice) and given.kind == "stalled"]
    assert stalled.at == 1000
    assert tracks_of(inputs) == {"caller": BOTH["caller"][:32000]}
    assert inputs[-1] == CallEnded(2000, "end_of_file")


def test_a_call_that_is_left_reads_no_further() -> None:
    """The writer is not drained: it stops when the pipe and what is read ahead are full."""

    async def run(write: Callable[[bytes], int]) -> None:
        inputs = PcmStream(reader, MONO).inputs()
        write(bytes(1000))
        await anext(inputs)
        await inputs.aclose()  # type: ignore[attr-defined]

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        asyncio.run(run(lambda data: os.write(writer, data)))
        with pytest.raises(BlockingIOError):
            _fill(writer)
    finally:
        os.close(writer)
        os.close(reader)


def _fill(writer: int) -> None:
    for _ in range(1000):
        os.write(writer, bytes(4096))
