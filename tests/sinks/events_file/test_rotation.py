"""A file that is full is put aside, packed, and one day deleted; and others may rotate it as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.core.encode import encode
from monitor.sinks.events_file import rotation
from monitor.sinks.events_file import sink as room
from tests.runtime.stand_ins import notice
from tests.sinks.events_file.lines import aside, keep, numbers, sink
from tests.sinks.history.told import until

A_KB = 0.001
SIZE = len(encode(notice(0))) + 1


async def test_a_full_file_is_put_aside_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    await keep(path, map(notice, range(100)), max_mb=A_KB, keep_files=None)
    files = [*aside(path), path]
    assert len(files) > 10
    assert numbers(*files) == list(range(100))
    assert all(file.stat().st_size <= 1000 for file in files)
    assert all(file.suffix == ".jsonl" for file in files)


async def test_only_so_many_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    other = tmp_path / "events-of-somebody-else.jsonl"
    other.write_text("mine")
    await keep(path, map(notice, range(200)), max_mb=A_KB, keep_files=3)
    kept = aside(path)
    assert len(kept) == 3
    found = numbers(*kept, path)
    assert found == list(range(found[0], 200))
    assert other.read_text() == "mine"


async def test_none_is_kept_if_none_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    await keep(path, map(notice, range(100)), max_mb=A_KB, keep_files=0)
    assert aside(path) == []
    assert numbers(path)[-1] == 99


async def test_a_line_is_never_cut_however_long(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    from msgspec.structs import replace

    await keep(path, [replace(notice(seq), message="x" * 5000) for seq in range(3)], max_mb=A_KB)
    assert numbers(*aside(path), path) == [0, 1, 2]


async def test_what_is_put_aside_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    file = sink(path, max_mb=A_KB, keep_files=None, gzip=True)
    await file.open()
    for seq in range(60):
        await file.deliver(notice(seq))
    await until(lambda: all(one.suffix == ".gz" for one in aside(path)))
    await file.close()
    assert numbers(*aside(path), path) == list(range(60))


async def test_what_a_killed_program_did_not_pack_is_packed_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    await keep(path, map(notice, range(30)), max_mb=A_KB)
    plain = aside(path)
    half = plain[0].with_name(plain[0].name + ".gz.part")
    half.write_bytes(b"\x1f\x8b half")
    await keep(path, [notice(30)], gzip=True)
    await until(lambda: all(one.suffix == ".gz" for one in aside(path)))
    assert numbers(*aside(path), path) == list(range(31))


async def test_names_of_one_second_come_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation.time, "strftime", lambda *_: "20260131T120000Z")
    path = tmp_path / "events.jsonl"
    await keep(path, map(notice, range(150)), max_mb=A_KB, keep_files=None)
    assert numbers(*aside(path), path) == list(range(150))


@pytest.mark.parametrize("how", ["moved away", "deleted", "moved and made anew", "cut short"])
async def test_a_file_that_others_rotate_is_opened_anew(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_LOOK_S", 0.0)
    path, old = tmp_path / "events.jsonl", tmp_path / "events.jsonl.1"
    file = sink(path)
    await file.open()
    await file.deliver(notice(0))
    if how == "deleted":
        path.unlink()
    elif how == "cut short":  # copytruncate
        os.truncate(path, 0)
    else:
        path.rename(old)
        if how == "moved and made anew":
            path.touch()
    await file.deliver(notice(1))
    await file.close()
    assert numbers(path) == [1]
    assert not old.exists() or numbers(old) == [0]


async def test_a_file_that_others_moved_is_not_put_aside_a_second_time(tmp_path: Path) -> None:
    path, old = tmp_path / "events.jsonl", tmp_path / "old"
    file = sink(path, max_mb=(SIZE * 2) / 1_000_000 if SIZE * 2 >= 1000 else A_KB)
    await file.open()
    for seq in range(3):
        await file.deliver(notice(seq))
    path.rename(old)
    for seq in range(3, 40):
        await file.deliver(notice(seq))
    await file.close()
    assert numbers(old, *aside(path), path) == list(range(40))


async def test_a_file_that_cannot_be_put_aside_grows_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(rotation.os, "rename", refuse)
    path = tmp_path / "events.jsonl"
    await keep(path, map(notice, range(100)), max_mb=A_KB)
    assert numbers(path) == list(range(100))
    (told,) = caplog.records
    assert "cannot be put aside: Permission denied" in told.getMessage()
