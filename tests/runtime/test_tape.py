"""The tape: what was heard comes back as it was, and damage is told."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.base import ConnectorError
from connectors.inputs import (
    Audio,
    CallEnded,
    CallStarted,
    Cut,
    Elapsed,
    Input,
    Notice,
    PlayoutPolicy,
    Stall,
    Text,
    TrackFormat,
)
from monitor.core.call import CoreSettings
from monitor.core.giving_way import TimelineSettings
from monitor.runtime import tape
from monitor.runtime.tape import Header, Tape, TapeWriter, cleaned, file_name
from tests.runtime.stand_ins import STARTED, audio

HEADER = Header("1.2.3", "webrtc", {"speech": {"open_ms": 50}})

times = st.integers(0, 2**40)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
tracks = st.sampled_from(["caller", "agent"])
inputs = st.lists(
    st.one_of(
        st.builds(Audio, tracks, times, st.binary(max_size=400).map(lambda b: b[: len(b) // 2 * 2])),
        st.builds(Cut, tracks, times, st.none() | st.integers(-(2**31), 2**31)),
        st.builds(Text, tracks, times, texts, st.sampled_from(["transcript", "response", "correction"])),
        st.builds(Stall, tracks, times, times),
        st.builds(Elapsed, times),
        st.builds(Notice, times, texts, texts, st.none() | tracks, st.integers(0, 10**6)),
    ),
    max_size=30,
)
starts = st.builds(
    CallStarted,
    texts,
    texts,
    st.none() | texts,
    st.none() | texts,
    st.dictionaries(texts, texts, max_size=3),
    st.dictionaries(tracks, st.builds(TrackFormat, st.none() | texts, st.none() | st.integers(0, 48000))),
    st.builds(PlayoutPolicy, texts, st.integers(0, 500), st.sampled_from(["immediate", "message", "fade"])),
)


def record(folder: Path, *given: Input, call: str = "call") -> Path:
    writer = TapeWriter(folder, call, HEADER)
    for one in given:
        writer.write([one])
    writer.close()
    assert writer.failure is None
    return writer.path


async def heard(path: Path) -> list[Input]:
    return [one async for one in Tape(path).inputs()]


@given(starts, inputs, times)
async def test_every_input_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, started: CallStarted, between: list[Input], end: int
) -> None:
    given_inputs = [started, *between, CallEnded(end, "hangup", "bye")]
    path = record(tmp_path_factory.mktemp("tapes"), *given_inputs)
    assert await heard(path) == given_inputs


async def test_the_header_says_who_recorded_it_and_how(tmp_path: Path) -> None:
    recorded = Tape(record(tmp_path, STARTED))
    assert recorded.header == HEADER
    assert recorded.settings(CoreSettings).speech.open_ms == 50
    with pytest.raises(ConnectorError, match=r"recorded by turnwatch 1\.2\.3 with settings"):
        recorded.settings(TimelineSettings)


async def test_every_torn_tape_is_read_up_to_the_tear(tmp_path: Path) -> None:
    whole = record(tmp_path, STARTED, *[audio("caller", 20 * i) for i in range(3)], CallEnded(60, "hangup"))
    content = whole.read_bytes()
    began = len(record(tmp_path, STARTED).read_bytes())
    torn = tmp_path / "torn.tape"
    lengths = set()
    for size in range(len(tape.MAGIC), len(content)):
        torn.write_bytes(content[:size])
        if size < began:
            with pytest.raises(ConnectorError, match=re.escape(str(torn))):
                await heard(torn)
            continue
        *before, told, ended = await heard(torn)
        assert before == (await heard(whole))[: len(before)]
        assert isinstance(told, Notice)
        assert told.kind == "torn_tape"
        assert isinstance(ended, CallEnded)
        assert ended.cause == "disconnected"
        lengths.add(len(before))
    assert lengths == {1, 2, 3, 4}


async def test_a_damaged_record_ends_the_tape(tmp_path: Path) -> None:
    path = record(tmp_path, STARTED, audio("caller", 0), CallEnded(20, "hangup"))
    content = bytearray(path.read_bytes())
    content[-60] ^= 1
    path.write_bytes(content)
    assert [type(one).__name__ for one in await heard(path)] == ["CallStarted", "Notice", "CallEnded"]


@given(st.binary(max_size=300))
async def test_any_bytes_behind_the_magic_are_a_call_or_a_clean_refusal(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("tapes") / "junk.tape"
    path.write_bytes(tape.MAGIC + junk)
    with pytest.raises(ConnectorError):
        await heard(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not a tape"),
        (b"RIFF....WAVE", "is not a tape"),
        (tape.MAGIC[:-1] + b"\x09", "a tape of version 9"),
        (tape.MAGIC, "no readable beginning"),
        (tape.MAGIC + b"\xff\xff\xff\xff\0\0\0\0", "a record claims 4294967295 bytes"),
    ],
)
def test_what_is_no_tape_is_refused_in_words(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "x.tape"
    path.write_bytes(content)
    with pytest.raises(ConnectorError, match=why):
        Tape(path)


def test_a_tape_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="No such file"):
        Tape(tmp_path / "none.tape")


async def test_words_that_utf8_cannot_hold_are_written_as_they_are_told(tmp_path: Path) -> None:
    started = CallStarted("call", "test", labels={"k\ud83d": "v\ud83d"})
    words = Text("caller", 0, "caf\u00e9 \ud83d", "transcript")
    path = record(tmp_path, *[cleaned(one) for one in (started, words, CallEnded(0, "hangup", "\ud83d"))])
    got = await heard(path)
    assert got[0] == CallStarted("call", "test", labels={"k\ufffd\ufffd\ufffd": "v\ufffd\ufffd\ufffd"})
    assert got[2] == CallEnded(0, "hangup", "\ufffd\ufffd\ufffd")
    assert got[1] == Text("caller", 0, "caf\u00e9 \ufffd\ufffd\ufffd", "transcript")


@given(st.text(max_size=300))
def test_a_call_id_cannot_lead_out_of_its_folder(call: str) -> None:
    name = file_name(call)
    assert Path(name).name == name
    assert not name.startswith(".")
    assert len(name) <= 130
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


@pytest.mark.parametrize("call", ["../../etc/passwd", "a/b", "..", "", "con", "NUL.x", "call\n2", "x" * 5000, "\0"])
def test_hostile_call_ids_get_a_tape_in_the_folder(tmp_path: Path, call: str) -> None:
    path = record(tmp_path, STARTED, call=call)
    assert path.parent == tmp_path
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_second_call_of_the_same_name_overwrites_nothing(tmp_path: Path) -> None:
    first, second, third = (record(tmp_path, STARTED, call="a/b") for _ in range(3))
    assert [first.name, second.name, third.name] == ["a_b.tape", "a_b-2.tape", "a_b-3.tape"]


def test_only_its_owner_may_read_a_tape(tmp_path: Path) -> None:
    assert stat.S_IMODE(record(tmp_path, STARTED).stat().st_mode) == 0o600


def test_a_full_disk_ends_the_tape_and_says_so() -> None:
    writer = TapeWriter.__new__(TapeWriter)
    writer.path, writer.failure = Path("/dev/full"), None
    writer._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    writer.write([STARTED])
    assert writer.failure == "the tape full ends here: No space left on device"
    writer.write([STARTED])
    writer.close()


def test_a_folder_that_cannot_be_is_a_clean_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConnectorError, match="cannot write a tape into"):
        TapeWriter(tmp_path / "file" / "tapes", "call", HEADER)
