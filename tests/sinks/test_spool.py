"""The spool: what was put is there until it is done, in order, whatever happens to the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.sinks import SinkError
from monitor.sinks.spool import Item, Spool, spool_path

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder that is not there yet" / "target.spool"


def rest(spool: Spool) -> Iterator[Item]:
    item = spool.head()
    while item is not None:
        yield item
        item = spool.after(item.number)


def keys(spool: Spool) -> list[str]:
    return [item.key for item in rest(spool)]


def test_items_come_in_order_until_they_are_done(path: Path) -> None:
    spool = Spool(path)
    for key in ("a#1", "b#1", "a#2"):
        spool.put(key, key.encode(), {"type": "alert.raised"})
    first = spool.head()
    assert first is not None
    assert (first.key, first.body, first.meta) == ("a#1", b"a#1", {"type": "alert.raised"})
    spool.done(first.number)
    assert keys(spool) == ["b#1", "a#2"]
    assert len(spool) == 2
    spool.close()


def test_a_new_program_finds_what_waits_before_what_it_adds(path: Path) -> None:
    spool = Spool(path)
    spool.put("a#1", b"1", {})
    spool.put("a#2", b"2", {})
    spool.close()
    spool = Spool(path)
    spool.put("a#3", b"3", {})
    assert keys(spool) == ["a#1", "a#2", "a#3"]
    spool.close()


def test_a_key_that_waits_is_not_taken_twice(path: Path) -> None:
    spool = Spool(path)
    first = spool.put("a#1", b"first", {})
    assert spool.put("a#1", b"second", {}) == first
    assert [item.body for item in rest(spool)] == [b"first"]
    spool.done(first)
    spool.put("a#1", b"anew", {})
    assert keys(spool) == ["a#1"]
    spool.close()


def test_done_for_what_is_gone_does_nothing(path: Path) -> None:
    spool = Spool(path, max_items=1)
    oldest = spool.put("a#1", b"", {})
    spool.put("a#2", b"", {})
    spool.done(oldest)
    spool.done(oldest)
    assert keys(spool) == ["a#2"]
    spool.close()


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_too_many_drop_the_oldest_and_it_is_told_once(path: Path, place: str, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool(path if place == "disk" else None, max_items=3)
    for number in range(10):
        spool.put(f"a#{number}", b"", {})
    assert keys(spool) == ["a#7", "a#8", "a#9"]
    assert (len(spool), spool.dropped) == (3, 7)
    assert caplog.text.count("its oldest are dropped") == 1
    spool.close()


def test_the_bytes_are_bounded_too(path: Path) -> None:
    spool = Spool(path, max_bytes=10_000)
    for number in range(100):
        spool.put(f"a#{number}", b"x" * 1000, {})
    assert 5 <= len(spool) < 10
    assert spool.dropped == 100 - len(spool)
    spool.close()
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < 200_000


def test_one_item_beyond_the_bound_is_dropped_alone(path: Path) -> None:
    spool = Spool(path, max_bytes=1000)
    spool.put("a#1", b"x" * 2000, {})
    assert (len(spool), spool.dropped) == (0, 1)
    spool.put("a#2", b"x", {})
    assert keys(spool) == ["a#2"]
    spool.close()


def test_a_smaller_bound_holds_for_what_a_former_program_left(path: Path) -> None:
    spool = Spool(path)
    for number in range(5):
        spool.put(f"a#{number}", b"", {})
    spool.close()
    spool = Spool(path, max_items=2)
    assert keys(spool) == ["a#3", "a#4"]
    spool.close()


def test_two_programs_cannot_share_a_file(path: Path) -> None:
    spool = Spool(path)
    program = f"from pathlib import Path\nfrom monitor.sinks.spool import Spool\nSpool(Path({str(path)!r}))"
    other = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert other.returncode == 1
    assert "SinkError: another turnwatch uses" in other.stderr
    with pytest.raises(SinkError, match="another turnwatch uses"):
        Spool(path)
    spool.close()
    Spool(path).close()


def test_a_killed_program_loses_nothing_that_was_put(path: Path) -> None:
    program = (
        "from pathlib import Path\n"
        "from monitor.sinks.spool import Spool\n"
        f"spool = Spool(Path({str(path)!r}))\n"
        "for number in range(10**9):\n"
        "    place = spool.put(f'a#{number}', b'x' * 300, {})\n"
        "    if number % 3 == 0: spool.done(place)\n"
        "    print(number, flush=True)\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    told = [int(killed.stdout.readline()) for _ in range(100)]
    killed.send_signal(signal.SIGKILL)
    told += [int(line) for line in killed.stdout if line.endswith("\n")]
    killed.wait(20)
    killed.stdout.close()
    spool = Spool(path)
    found = [int(key.removeprefix("a#")) for key in keys(spool)]
    wanted = [number for number in told if number % 3]
    assert found[: len(wanted)] == wanted
    assert all(number > told[-1] for number in found[len(wanted) :])
    assert len(found) <= len(wanted) + 1
    spool.close()


@settings(max_examples=30)
@given(
    key=st.text(st.characters(codec=None)),
    body=st.binary(max_size=300),
    meta=st.dictionaries(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)), max_size=3),
)
def test_any_text_goes_in_and_comes_out(
    tmp_path_factory: pytest.TempPathFactory, key: str, body: bytes, meta: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("spool") / "a.spool"
    spool = Spool(path)
    spool.put(key, body, meta)
    spool.close()
    spool = Spool(path)
    item = spool.head()
    assert item is not None
    assert (item.body, item.meta) == (body, meta)
    spool.put(key, b"again", {})
    assert len(spool) == 1
    spool.close()


def test_made_in_one_thread_and_used_in_another(path: Path) -> None:
    spool = Spool(path)
    thread = threading.Thread(target=spool.put, args=("a#1", b"", {}))
    thread.start()
    thread.join()
    assert keys(spool) == ["a#1"]
    spool.close()


def test_only_its_owner_may_read_it(path: Path) -> None:
    spool = Spool(path)
    spool.put("a#1", b"what was said in a call", {})
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file
    assert path.parent.stat().st_mode & 0o077 == 0
    spool.close()


def test_targets_have_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = spool_path(str(tmp_path), "webhook", "hooks.example/a/b?c")
    two = spool_path(str(tmp_path), "webhook", "hooks.example/a_b?c")
    assert one != two
    assert one.parent == tmp_path
    assert os.sep not in one.name
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert spool_path(None, "mqtt", "a").parent == Path("/state/turnwatch")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert spool_path(None, "mqtt", "a").parent == Path.home() / ".local" / "state" / "turnwatch"
