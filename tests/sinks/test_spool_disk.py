"""The spool on a disk that is full, read-only or damaged: told once, kept in memory, brought to disk later."""

from __future__ import annotations

import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from monitor.sinks.spool import Spool
from tests.sinks.test_spool import keys


@contextmanager
def full_disk(bytes_at_most: int) -> Iterator[None]:
    """No file of this program may become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_at_most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A call lets two seconds go by for the spool, which asks a bad disk again only after one."""
    passed = [0.0]
    clock = time.monotonic
    monkeypatch.setattr("monitor.sinks.spool.time.monotonic", lambda: clock() + passed[0])

    def let_pass() -> None:
        passed[0] += 2

    return let_pass


def test_a_full_disk_is_told_once_and_used_again(
    tmp_path: Path, later: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.spool"
    spool = Spool(path)
    spool.put("a#0", b"on disk", {})
    with full_disk(bytes_at_most=16_384):
        for number in range(1, 50):
            spool.put(f"a#{number}", b"x" * 2000, {})
            later()
        assert not spool.on_disk
        assert keys(spool) == [f"a#{number}" for number in range(50)]
    assert caplog.text.count("what waits is in memory") == 1
    later()
    spool.put("a#50", b"", {})
    assert spool.on_disk
    assert "works again" not in caplog.text  # the next one might be refused again
    for _ in range(3):
        later()
    assert spool.head() is not None
    assert "works again" in caplog.text
    spool.close()
    spool = Spool(path)
    assert keys(spool) == [f"a#{number}" for number in range(51)]
    spool.close()


def test_what_is_done_on_a_full_disk_does_not_come_again(tmp_path: Path, later: Callable[[], None]) -> None:
    path = tmp_path / "a.spool"
    spool = Spool(path)
    numbers = [spool.put(f"a#{number}", b"x" * 2000, {}) for number in range(20)]
    with full_disk(bytes_at_most=4096):
        for number in numbers[:10]:
            spool.done(number)
        assert keys(spool) == [f"a#{number}" for number in range(10, 20)]
    later()
    spool.put("a#20", b"", {})
    spool.close()
    spool = Spool(path)
    assert keys(spool) == [f"a#{number}" for number in range(10, 21)]
    spool.close()


def test_memory_is_bounded_while_the_disk_is_full(tmp_path: Path, later: Callable[[], None]) -> None:
    spool = Spool(tmp_path / "a.spool", max_items=100)
    with full_disk(bytes_at_most=0):
        for number in range(1000):
            spool.put(f"a#{number}", b"", {})
        assert (len(spool), spool.dropped) == (100, 900)
        assert keys(spool)[0] == "a#900"
        spool.close()


def test_what_never_came_to_disk_is_told_at_the_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool(tmp_path / "a.spool")
    with full_disk(bytes_at_most=0):
        spool.put("a#1", b"", {})
        spool.close()
    assert "1 items are lost" in caplog.text


def test_a_disk_that_is_full_from_the_start(
    tmp_path: Path, later: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.spool"
    former = Spool(path)
    former.put("a#0", b"of a former program", {})
    former.close()
    path.rename(tmp_path / "aside")
    path.mkdir()  # the file cannot be opened
    spool = Spool(path)
    spool.put("a#1", b"", {})
    assert keys(spool) == ["a#1"]
    assert caplog.text.count("could not be opened") == 1
    path.rmdir()
    (tmp_path / "aside").rename(path)
    later()
    spool.put("a#2", b"", {})
    assert keys(spool) == ["a#0", "a#1", "a#2"]
    assert spool.on_disk
    spool.close()


def test_a_damaged_file_is_put_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.spool"
    path.write_bytes(b"this is no database" * 100)
    spool = Spool(path)
    spool.put("a#1", b"", {})
    assert keys(spool) == ["a#1"]
    assert "damaged" in caplog.text
    assert [file.read_bytes()[:19] for file in tmp_path.glob("a.damaged-*")] == [b"this is no database"]
    spool.close()


def test_what_cannot_be_read_is_not_overtaken(
    tmp_path: Path, later: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path / "a.spool")
    spool.put("a#0", b"on disk", {})

    def broken(*_: object) -> Iterator[None]:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken_disk:
        broken_disk.setattr("monitor.sinks.spool_file.SpoolFile.behind", broken)
        broken_disk.setattr("monitor.sinks.spool_file.SpoolFile.write", broken)
        spool.put("a#1", b"in memory", {})
        assert spool.head() is None
    later()
    assert keys(spool) == ["a#0", "a#1"]
    spool.close()


def test_in_memory_only_is_told(caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool(None)
    spool.put("a#1", b"", {})
    assert keys(spool) == ["a#1"]
    assert "in memory only" in caplog.text
    spool.close()
