"""Tapes, recordings and pipes that hold anything: a call with a notice, or a refusal in one line."""

from __future__ import annotations

import asyncio
import struct
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.base import ConnectorError
from connectors.inputs import Audio, CallEnded, CallStarted, Elapsed, Input, Notice, Stall, TrackFormat
from connectors.source import SourceOptions
from monitor.core.events import Event
from monitor.runtime.tape import MAGIC, Header, TapeWriter
from monitor.runtime.watch import watch
from tests.builders import speech, voice
from tests.cli.process import events as lines
from tests.cli.process import run
from tests.connectors.recordings.pipes import piped
from tests.connectors.recordings.takes import save, stereo, wav
from tests.pipeline.contract import check_stream
from tests.pipeline.hearing import about, assert_one_line, heard, live, notices, watched

ANY_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
HEADER = Header("0", "energy", {})
STARTED = CallStarted("call", "test", tracks={"caller": TrackFormat(), "agent": TrackFormat(timing="delivered")})


def told_or_refused(source: str) -> list[Event]:
    """The call that a source is, or nothing where it is refused in a line that can be shown."""
    try:
        return asyncio.run(watched(source, detector="energy"))
    except ConnectorError as refusal:
        assert_one_line(refusal)
        return []


def record(body: bytes) -> bytes:
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


ANYTHING: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=9)
    | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.fixed_dictionaries(
    {
        "input": st.sampled_from(
            ["Audio", "Elapsed", "Stall", "Cut", "Text", "Notice", "CallEnded", "Verdicts", "No", 5]
        )
    },
    optional={
        "track": st.sampled_from(["caller", "agent", "nobody"]) | ANYTHING,
        "at": st.integers(-100, 5000) | st.sampled_from([2**63, -(2**63), 10**15]) | ANYTHING,
        "until": st.integers(0, 5000) | ANYTHING,
        "pcm": st.binary(max_size=400) | ANYTHING,
        "rate": st.sampled_from([8000, 16_000, 0, -1, 2**63]) | ANYTHING,
        "kind": st.sampled_from(["transcript", "response"]) | ANYTHING,
        "text": st.text(max_size=20) | ANYTHING,
        "message": st.text(max_size=20) | ANYTHING,
        "cause": st.sampled_from(["hangup", "failed"]) | ANYTHING,
        "response": ANYTHING,
        "count": ANYTHING,
    },
)


@settings(max_examples=60, deadline=None, suppress_health_check=ANY_FIXTURE)
@given(st.lists(st.one_of(FIELDS, FIELDS, ANYTHING), max_size=12))
def test_a_forged_tape_is_a_call_as_far_as_it_can_be_read(tmp_path: Path, records: list[Any]) -> None:
    """Every record has its right length and checksum, and holds anything."""
    path = tmp_path / "forged.tape"
    begin = MAGIC + record(msgspec.msgpack.encode(HEADER)) + record(msgspec.msgpack.encode(STARTED))
    path.write_bytes(begin + b"".join(record(msgspec.msgpack.encode(one)) for one in records))
    events = told_or_refused(f"tape:{path}")
    assert events[0].type == "call.started"


@settings(max_examples=30, deadline=None, suppress_health_check=ANY_FIXTURE)
@given(ANYTHING, ANYTHING)
def test_a_forged_beginning_is_refused_or_works(tmp_path: Path, header: Any, started: Any) -> None:
    path = tmp_path / "forged.tape"
    for begin in (header, {"program": "0", "detector": "energy", "settings": header}):
        path.write_bytes(MAGIC + record(msgspec.msgpack.encode(begin)) + record(msgspec.msgpack.encode(started)))
        told_or_refused(f"tape:{path}")


@pytest.mark.parametrize("speed", [None, 50.0])
async def test_a_tape_from_the_far_future_takes_no_longer_than_it_should(speed: float | None, tmp_path: Path) -> None:
    """Times of years, at full speed and at a pace: what is impossible is not waited for, nor laid out in frames."""
    writer = TapeWriter(tmp_path, "call", HEADER)
    odd: list[Input] = [
        Elapsed(10**15),
        Stall("caller", 5, 10**14),
        Audio("caller", 10**13, voice(20)),
        Audio("caller", 40, voice(20), rate=0),
        Audio("agent", 60, voice(20), rate=-5),
    ]
    writer.write([STARTED, Audio("caller", 0, voice(2000)), *odd, Audio("caller", 2000, voice(500))])
    writer.write([Notice(10**16, "gap", "m"), CallEnded(10**17, "hangup")])
    writer.close()
    began = time.monotonic()
    events = [event async for event in watch(f"tape:{writer.path}", speed=speed)]
    check_stream(events)
    assert time.monotonic() - began < 5
    assert live(events).cause == "hangup"
    assert live(events).summary["duration"] == about(2.5, 0.1)
    assert notices(events)["bad_payload"] >= 5


TALK = stereo(speech("caller", 400, 900), speech("agent", 1300, 1900), length=2500).astype("<i2").tobytes()


@settings(max_examples=60, deadline=None, suppress_health_check=ANY_FIXTURE)
@given(
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), max_size=6),
    st.integers(0, len(TALK) + 44),
    st.sampled_from([b"RIFF", b"RIFX", b"RF64", b"fLaC", b"OggS", b"FORM", b"ID3\x03", b""]),
)
def test_a_recording_of_any_bytes_is_a_call_or_a_refusal(
    tmp_path: Path, changes: list[tuple[int, int]], length: int, magic: bytes
) -> None:
    content = bytearray(wav(TALK)[:length])
    for place, value in changes:
        if place < len(content):
            content[place] = value
    path = tmp_path / "call.wav"
    path.write_bytes(magic + content[len(magic) :])
    events = told_or_refused(f"wav:{path}")
    if events:
        assert live(events).summary["duration"] < 30


@pytest.mark.parametrize("kind", ["flac", "ogg", "aiff", "au", "w64"])
def test_a_recording_damaged_in_the_middle_is_a_call_or_a_refusal(kind: str, tmp_path: Path) -> None:
    """Twelve damages of each container that is read: bytes change, or are left out."""
    path = save(tmp_path / f"call.{kind}", np.frombuffer(TALK, "<i2").reshape(-1, 2))
    content, dice = path.read_bytes(), np.random.default_rng(1)
    for number in range(12):
        damaged = bytearray(content)
        at = int(dice.integers(4, len(content) - 8))
        if number % 3:
            damaged[at : at + 8] = dice.bytes(8)
        else:
            del damaged[at : at + int(dice.integers(1, 3000))]
        path.write_bytes(damaged)
        told_or_refused(f"wav:{path}")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.binary(max_size=3000), max_size=12),
    st.sampled_from(["s16le", "mulaw", "alaw", "f32le"]),
    st.sampled_from([8000, 11_025, 24_000, 44_100]),
    st.sampled_from([("caller", "agent"), ("agent",), ("caller", None, "agent")]),
)
def test_any_bytes_through_a_pipe_are_a_call_or_a_refusal(
    chunks: list[bytes], encoding: str, rate: int, channels: tuple[Any, ...]
) -> None:
    options = SourceOptions(encoding=encoding, rate=rate, channels=channels)
    try:
        inputs = piped(chunks, options)
    except ConnectorError as refusal:
        assert_one_line(refusal)
    else:
        heard(inputs)


def test_the_program_survives_rubbish_on_its_standard_input() -> None:
    rubbish = np.random.default_rng(4).bytes(64_001)
    done = run("watch", "pcm:-", "--json", stdin=rubbish)
    told = lines(done.stdout)
    check_stream(told)
    assert (done.returncode, done.stderr) == (0, b"")
    for magic, name in ((b"RIFF", b"WAV"), (b"fLaC", b"FLAC")):
        done = run("watch", "pcm:-", "--json", stdin=magic + rubbish)
        assert (done.returncode, done.stdout) == (3, b"")
        assert name in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_longest_record_costs_its_own_length_and_no_more(tmp_path: Path) -> None:
    """A length of 4 GB that is not there, one of 30 MB that is not there, and a real one of 4 MB."""
    path = tmp_path / "long.tape"
    begin = MAGIC + record(msgspec.msgpack.encode(HEADER)) + record(msgspec.msgpack.encode(STARTED))
    for claim in (2**32 - 1, 30 * 2**20):
        path.write_bytes(begin + struct.pack("<II", claim, 0) + b"x" * 100)
        tracemalloc.start()
        events = told_or_refused(f"tape:{path}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert notices(events)["torn_tape"] == 1
        assert peak < 40_000_000
    path.write_bytes(begin + record(msgspec.msgpack.encode(Audio("caller", 0, bytes(4 * 2**20)))))
    assert live(told_or_refused(f"tape:{path}")).summary["duration"] == pytest.approx(262.144)
