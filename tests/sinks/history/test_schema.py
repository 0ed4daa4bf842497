"""The file itself: its version, and whose it is."""

from __future__ import annotations

import sqlite3
import stat
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from monitor.sinks import SinkError
from monitor.sinks.history import schema
from monitor.sinks.history.reading import History
from monitor.sinks.history.seen import Seen
from tests.sinks.history.told import a_call, calls, keep


def pragma(path: Path, name: str) -> object:
    with closing(sqlite3.connect(path)) as file:
        return file.execute(f"PRAGMA {name}").fetchone()[0]


async def test_a_history_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    await keep(path, a_call())
    assert pragma(path, "user_version") == len(schema.MIGRATIONS)
    assert pragma(path, "application_id") == schema.APPLICATION
    assert pragma(path, "journal_mode") == "wal"
    assert pragma(path, "auto_vacuum") == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_history_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    await keep(path, a_call())
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 99")
    for attempt in (lambda: schema.connect(path, busy_ms=10), lambda: History(path)):
        with pytest.raises(SinkError, match=r"version 99.*a later turnwatch has written it"):
            attempt()
    assert pragma(path, "user_version") == 99


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_file_of_another_program_is_left_alone(version: int, tmp_path: Path) -> None:
    path = tmp_path / "cookies.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE cookies (name)")
        file.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    for attempt in (lambda: schema.connect(path, busy_ms=10), lambda: History(path)):
        with pytest.raises(SinkError, match="another program"):
            attempt()
    assert path.read_bytes() == before


async def test_an_older_history_is_brought_up_and_keeps_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h.db"
    await keep(path, a_call())
    step = "ALTER TABLE calls ADD COLUMN mood TEXT;\nCREATE INDEX by_mood ON calls (mood);\n"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    assert [call.call for call in calls(path)] == ["call"]  # reading brings it up as well
    await keep(path, a_call("another"))
    assert pragma(path, "user_version") == len(schema.MIGRATIONS)
    assert {call.call for call in calls(path)} == {"call", "another"}


async def test_a_step_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h.db"
    await keep(path, a_call())
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE more (a);\nCREATE NONSENSE;\n"))
    with pytest.raises(sqlite3.Error):
        schema.connect(path, busy_ms=10)
    monkeypatch.undo()
    assert pragma(path, "user_version") == len(schema.MIGRATIONS)
    assert len(calls(path)) == 1


def test_many_programs_may_make_the_file_at_once(tmp_path: Path) -> None:
    path, failed = tmp_path / "h.db", list[BaseException]()
    together = threading.Barrier(8)

    def make() -> None:
        together.wait()
        try:
            schema.connect(path, busy_ms=10_000).close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert calls(path) == []


@pytest.mark.parametrize("moment", ["user_version", "application_id", "sqlite_master"])
def test_a_file_that_another_program_is_making_is_not_taken_for_somebody_elses(moment: str, tmp_path: Path) -> None:
    path = tmp_path / "h.db"

    def make(statement: str) -> None:
        if moment in statement:
            with suppress(sqlite3.OperationalError):  # it is being read: the other has to wait
                schema.connect(path, busy_ms=10).close()

    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.set_trace_callback(make)
        assert schema.version_of(file, path) in (0, len(schema.MIGRATIONS))


async def test_a_history_in_a_folder_that_cannot_be_written_to_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "h.db", sqlite3.connect
    await keep(path, a_call())

    def connect(name: str, **how: Any) -> sqlite3.Connection:
        # There, SQLite cannot make the index of a write-ahead log, which it wants for reading as well.
        return real("/nowhere/h.db" if name.endswith("mode=ro") else name, **how)

    monkeypatch.setattr(schema.sqlite3, "connect", connect)
    with closing(schema.connect_to_read(path)) as file:
        assert file.execute("SELECT count(*) FROM calls").fetchone()[0] == 1


def test_an_empty_file_is_a_history_without_calls(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    path.touch()
    assert calls(path) == []


@pytest.mark.parametrize(
    ("numbers", "text", "missing"),
    [([], "", 0), ([0, 1, 2], "0-2", 0), ([3, 1, 0], "0-1,3", 1), ([5], "5", 5), ([2, 2, 0, 1], "0-2", 0)],
)
def test_numbers_that_were_seen(numbers: list[int], text: str, missing: int) -> None:
    seen, plain = Seen(), set[int]()
    for number in numbers:
        assert seen.add(number) == (number not in plain)
        plain.add(number)
    assert (str(seen), seen.missing, len(seen)) == (text, missing, len(plain))
    assert str(Seen(text)) == text


def test_a_sieve_of_numbers_stays_small() -> None:
    seen = Seen()
    for number in range(0, 10_000, 2):
        seen.add(number)
    assert len(str(seen)) < 12_000
    assert 9998 in seen
    other = Seen("0-20000")
    seen.merge(other)
    assert str(seen) == "0-20000"
