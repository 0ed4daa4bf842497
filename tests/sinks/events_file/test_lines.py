"""Whole lines, whatever happens to the program, the file or the disk."""

from __future__ import annotations

import asyncio
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from monitor.core.encode import encode
from monitor.sinks import SinkError
from monitor.sinks.events_file import line_file
from monitor.sinks.events_file import sink as room
from monitor.sinks.events_file.settings import EventsFileSettings
from monitor.sinks.events_file.sink import make
from tests.cli.process import ROOT, environment
from tests.runtime.stand_ins import notice
from tests.sinks.events_file.lines import keep, numbers, sink
from tests.sinks.history.told import a_call, until


async def test_every_event_is_a_line_as_soon_as_it_is_taken(tmp_path: Path) -> None:
    path, told = tmp_path / "events.jsonl", a_call()
    file = sink(path)
    await file.open()
    for number, event in enumerate(told):
        await file.deliver(event)
        assert path.read_bytes().splitlines()[number:] == [encode(event)]
    await file.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert file.figures() == {"written": len(told), "held": 0, "lost": 0, "connected": 1}


async def test_it_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "events.jsonl"
    await keep(path, [notice(0)])
    await keep(path, [notice(1)])
    assert numbers(path) == [0, 1]


LINE = encode(notice(1))


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        (LINE[:40], b""),
        (LINE[:1], b""),
        (LINE[:-1], b""),
        (LINE, LINE + b"\n"),
        (LINE + b"\n" + LINE[:40], LINE + b"\n"),
        (LINE + b"\n", LINE + b"\n"),
        (b"", b""),
        (b"dear diary", b"dear diary\n"),
        (LINE + b"\n" + b'{"v":1,"message":"' + b"x" * 200_000, LINE + b"\n"),
        (b"\0\0\0", b"\0\0\0\n"),
    ],
    ids=["torn", "a byte", "nearly whole", "no break", "second torn", "whole", "empty", "not ours", "long", "zeroes"],
)
async def test_a_torn_last_line_is_mended_at_the_next_start(left: bytes, kept: bytes, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(left)
    await keep(path, [notice(7)])
    assert path.read_bytes() == kept + encode(notice(7)) + b"\n"


@pytest.mark.parametrize("sync_ms", [None, 0, 1])
async def test_the_disk_is_waited_for_as_the_settings_say(
    sync_ms: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    path = tmp_path / "events.jsonl"
    file = sink(path, sync_ms=sync_ms)
    await file.open()
    for seq in range(3):
        await file.deliver(notice(seq))
    if sync_ms == 1:
        await until(lambda: file._file is not None and file._file.synced)  # nothing comes behind the last line
        assert 1 <= len(synced) <= 3
    else:
        assert len(synced) == (0 if sync_ms is None else 3)
    await file.close()


async def test_a_full_disk_is_told_once_and_leaves_no_torn_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(room, "TRY_AGAIN_S", 0.02)
    path, real = tmp_path / "events.jsonl", os.write
    file = sink(path)
    await file.open()
    await file.deliver(notice(0))

    def full(descriptor: int, data: Any) -> int:
        if len(data) > 20:
            return real(descriptor, data[:20])  # as much as there is room for
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(line_file.os, "write", full)
    for seq in range(1, 50):
        await file.deliver(notice(seq))
    assert numbers(path) == [0]
    assert file.figures()["held"] == 49
    monkeypatch.setattr(line_file.os, "write", real)
    await until(lambda: not file.figures()["held"])
    await file.close()
    assert numbers(path) == list(range(50))
    first, last = [record.getMessage() for record in caplog.records]
    assert f"{path} cannot be written: No space left on device" in first
    assert last == f"{path} is written again: none was lost"


async def test_what_is_too_much_for_the_memory_is_lost_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(room, "TRY_AGAIN_S", 0.02)
    monkeypatch.setattr(room, "MAX_HELD_BYTES", 10 * (len(encode(notice(10))) + 1))
    path = tmp_path / "folder" / "events.jsonl"
    path.parent.write_text("in the way")
    file = sink(path)
    await file.open()
    for seq in range(10, 40):
        await file.deliver(notice(seq))
    path.parent.unlink()
    await until(lambda: not file.figures()["held"])
    await file.close()
    left, lost = numbers(path), int(file.figures()["lost"])
    assert 8 <= len(left) <= 10
    assert left == list(range(10 + lost, 40))
    assert f"{lost} events were lost" in caplog.records[-1].getMessage()
    assert len(caplog.records) == 2


_LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from tests.runtime.stand_ins import notice
from tests.sinks.events_file.lines import sink

async def main():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    file = sink(Path(sys.argv[1]))
    await file.open()
    for seq in range(40):
        await file.deliver(notice(seq))
    print(int(file.figures()["held"] > 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await file.close()
    print(int(file.figures()["lost"]))

asyncio.run(main())
"""


def test_a_limit_of_the_system_is_as_good_as_a_full_disk(tmp_path: Path) -> None:
    assert resource.RLIMIT_FSIZE is not None
    path = tmp_path / "events.jsonl"
    command = [sys.executable, "-c", _LIMITED, str(path)]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, env=environment(), timeout=60, check=True)
    assert done.stdout.split() == [b"1", b"0"]
    assert numbers(path) == list(range(40))


_ENDLESS = """
import asyncio, itertools, sys
from pathlib import Path
from tests.runtime.stand_ins import notice
from tests.sinks.events_file.lines import sink

async def main():
    file = sink(Path(sys.argv[1]), max_mb=0.01, keep_files=None)
    await file.open()
    for seq in itertools.count():
        await file.deliver(notice(seq))
        print(seq, flush=True)

asyncio.run(main())
"""


async def test_nothing_that_was_written_is_lost_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    command = [sys.executable, "-c", _ENDLESS, str(path)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment())
    assert program.stdout is not None
    for _ in range(500):
        program.stdout.readline()
    program.kill()
    rest = program.stdout.read()
    program.wait()
    program.stdout.close()
    await keep(path, [])  # mends what was torn
    from tests.sinks.events_file.lines import aside

    found = numbers(*aside(path), path)
    assert found == list(range(len(found)))
    assert len(found) >= 500 + rest.count(b"\n")


async def test_two_programs_do_not_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file = sink(path)
    await file.open()
    with pytest.raises(SinkError, match="another turnwatch writes to"):
        make(EventsFileSettings(path=str(path)))
    await file.close()
    ((name, _),) = make(EventsFileSettings(path=str(path)))
    assert name == "events_file"


@pytest.mark.parametrize("there", ["a folder", "a pipe", "a file in the way"])
def test_what_cannot_be_such_a_file_is_refused_at_the_start(there: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    if there == "a folder":
        path.mkdir()
    elif there == "a pipe":
        os.mkfifo(path)
    else:
        path.write_text("")
        path = path / "events.jsonl"
    with pytest.raises(SinkError) as caught:
        make(EventsFileSettings(path=str(path)))
    assert str(path) in str(caught.value)


def test_no_path_no_file() -> None:
    assert make(EventsFileSettings()) == []


@pytest.mark.parametrize("wrong", [{"path": ""}, {"max_mb": 0}, {"keep_files": -1}, {"sync_ms": -1}])
def test_settings_beyond_reason_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"events_file\.{next(iter(wrong))}"):
        EventsFileSettings(**wrong)


async def test_closing_without_opening_is_harmless(tmp_path: Path) -> None:
    file = sink(tmp_path / "events.jsonl")
    await asyncio.wait_for(file.close(), 5)
