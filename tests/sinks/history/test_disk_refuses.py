"""The disk is full, read-only, or somebody has the file locked: calls go on, and so does the history once it can."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from monitor.core.events import Event
from monitor.sinks import SinkError
from monitor.sinks.history import held
from monitor.sinks.history import sink as room
from monitor.sinks.history import store as store_room
from monitor.sinks.history.held import Held
from monitor.sinks.history.schema import connect
from monitor.sinks.history.settings import HistorySettings
from monitor.sinks.history.sink import HistorySink, make
from monitor.sinks.history.store import Told
from tests.sinks.history.told import Script, a_call, calls, known, sink, until


class Disk:
    """What every connection finds: `refuse` is a pragma that makes SQLite itself refuse to write."""

    def __init__(self) -> None:
        self.open: list[sqlite3.Connection] = []
        self.refuse: str | None = None

    def connect(self, path: Path, *, busy_ms: int) -> sqlite3.Connection:
        connection = connect(path, busy_ms=busy_ms)
        self.open.append(connection)
        if self.refuse:
            connection.execute(self.refuse)
        return connection

    def fill(self) -> None:
        self.say("PRAGMA max_page_count = 1")  # which SQLite takes for: as many as there are

    def make_read_only(self) -> None:
        self.say("PRAGMA query_only = 1")

    def say(self, pragma: str) -> None:
        self.refuse = pragma
        self.open[-1].execute(pragma)

    def mend(self) -> None:
        self.refuse = None  # what was refused is tried with a connection of its own


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    found = Disk()
    monkeypatch.setattr(store_room, "connect", found.connect)
    monkeypatch.setattr(room, "TRY_AGAIN_S", 0.02)
    monkeypatch.setattr(store_room, "BUSY_MS", 20)
    return found


def a_long_call() -> list[Event]:
    """More than fits into the pages that there are."""
    script = Script()
    for index in range(200):
        script.turn(index, "user", 100, "word " * 100)
    return script.end()


async def give(history: HistorySink, told: list[Event]) -> None:
    for event in told:
        await history.deliver(event)


@pytest.mark.parametrize("kind", ["full", "read-only", "locked"])
async def test_what_the_disk_refuses_is_held_and_written_once_it_can(
    kind: str, disk: Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, told = tmp_path / "h.db", a_long_call()
    history = sink(path, commit_ms=0)
    await history.open()
    await give(history, told[:10])
    other = sqlite3.connect(path, isolation_level=None)
    if kind == "full":
        disk.fill()
    elif kind == "read-only":
        disk.make_read_only()
    else:
        other.execute("BEGIN EXCLUSIVE")
    await give(history, told[10:])
    assert history.figures()["connected"] == 0
    assert history.figures()["held"] > 500
    if kind == "locked":
        other.execute("ROLLBACK")
    else:
        disk.mend()
    await until(lambda: not history.figures()["held"])
    assert history.figures()["connected"] == 1
    await history.close()
    other.close()
    assert (known(path)["missing_events"], len(known(path)["turns"])) == (0, 200)
    first, last = [record.getMessage() for record in caplog.records]
    assert f"the history {path} cannot be written: " in first
    assert {"full": "full", "read-only": "readonly", "locked": "locked"}[kind] in first
    assert last == f"the history {path} is written again: nothing was lost"


async def test_what_is_too_much_is_lost_counted_and_told_once(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(held, "_SWEPT", 10)
    path, told = tmp_path / "h.db", a_long_call()
    history = sink(path, commit_ms=0)
    history._held = Held(100)
    await history.open()
    await give(history, told[:1])
    disk.make_read_only()
    await give(history, told[1:])
    lost = history.figures()["lost"]
    assert history.figures()["held"] + lost == len(told) - 1
    assert 0 < history.figures()["held"] <= 100
    disk.mend()
    await until(lambda: not history.figures()["held"])
    await history.close()
    (call,) = calls(path)
    assert (call.missing, call.state) == (lost, "ended")
    assert f"{lost:.0f} events were lost" in caplog.records[-1].getMessage()
    assert len(caplog.records) == 2


def test_alerts_and_the_ends_of_calls_are_given_up_last() -> None:
    few = Held(8)
    for event in a_call():
        few.add(Told("", event))
    assert {"call.started", "alert.raised", "alert.cleared", "call.ended"} <= {
        told.event.type for told in few.first(100)
    }
    for _ in range(50):
        for event in Script().told:
            few.add(Told("", event))
    assert len(few) == 8


async def test_a_disk_that_never_comes_back_is_told_at_the_end(
    disk: Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history, told = sink(tmp_path / "h.db"), a_call()
    await history.open()
    disk.make_read_only()
    await give(history, told)
    await history.close()
    assert f"{len(told)} events are lost" in caplog.records[-1].getMessage()


async def test_a_history_that_cannot_be_opened_yet_is_opened_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "TRY_AGAIN_S", 0.02)
    path = tmp_path / "folder" / "h.db"
    path.parent.write_text("in the way")
    history = sink(path)
    await history.open()
    await give(history, a_call())
    path.parent.unlink()
    await until(lambda: not history.figures()["held"])
    await history.close()
    assert calls(path)[0].state == "ended"


async def test_a_disk_that_takes_and_refuses_by_turns_is_told_once(
    disk: Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history, told = sink(tmp_path / "h.db", commit_ms=0), a_long_call()
    await history.open()
    await give(history, told[:1])
    for place in range(1, 100, 10):
        disk.make_read_only()
        await give(history, told[place : place + 10])
        assert history.figures()["connected"] == 0
        disk.mend()
        await until(lambda: not history.figures()["held"])
        assert history.figures()["connected"] == 1
    assert len(caplog.records) == 1
    await history.close()
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


@pytest.mark.parametrize("there", ["a folder", "a text", "a damaged file", "a folder in the way"])
def test_what_cannot_be_a_history_is_refused_at_the_start(there: str, tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    if there == "a folder":
        path.mkdir()
    elif there == "a text":
        path.write_text("dear diary " * 100)
    elif there == "a damaged file":
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    else:
        path.write_text("")
        path = path / "h.db"
    with pytest.raises(SinkError) as caught:
        make(HistorySettings(file=str(path)))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file_no_history() -> None:
    assert make(HistorySettings()) == []


@pytest.mark.parametrize(
    "wrong", [{"file": " "}, {"commit_ms": -1}, {"keep_days": 0.0}, {"keep_days": float("nan")}, {"max_mb": 0.5}]
)
def test_settings_beyond_reason_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"history.{next(iter(wrong))}"):
        HistorySettings(**wrong)


async def test_a_file_that_is_locked_at_the_start_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    with closing(connect(path, busy_ms=100)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ((name, history),) = make(HistorySettings(file=str(path)))
        assert name == "history"
        await history.open()
        await history.deliver(a_call()[0])
        other.execute("ROLLBACK")
    await history.close()
    assert len(calls(path)) == 1
