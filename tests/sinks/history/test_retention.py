"""What is old goes, the file stays as large as it may be, and calls that go on stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from monitor.sinks.history import retention, writers
from monitor.sinks.history.baselines import Baselines
from monitor.sinks.history.schema import OF_A_RUN, connect
from monitor.sinks.history.settings import HistorySettings
from tests.sinks.history.told import Script, a_call, calls, keep, sink, until

DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "h.db"


@pytest.fixture
def file(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path, busy_ms=1000)) as opened:
        yield opened


def age(file: sqlite3.Connection, call: str, days: float) -> None:
    file.execute("UPDATE calls SET touched_at = touched_at - ? WHERE call = ?", (int(days * DAY_MS), call))


def swept(file: sqlite3.Connection, settings: HistorySettings) -> int:
    steps = 0
    while retention.step(file, settings):
        steps += 1
    return steps


async def test_calls_go_by_age_with_all_that_is_kept_of_them(path: Path, file: sqlite3.Connection) -> None:
    await keep(path, [*a_call("old"), *a_call("young")])
    age(file, "old", 8)
    age(file, "young", 6)
    swept(file, HistorySettings(keep_days=7))
    assert [call.call for call in calls(path)] == ["young"]
    for table in OF_A_RUN:
        assert file.execute(f"SELECT count(DISTINCT run) FROM {table}").fetchone()[0] == 1


async def test_without_limits_nothing_goes(path: Path, file: sqlite3.Connection) -> None:
    await keep(path, a_call())
    age(file, "call", 3000)
    assert swept(file, HistorySettings(keep_days=None, max_mb=None)) == 0
    assert len(calls(path)) == 1


async def test_the_oldest_go_in_small_steps_where_the_file_is_too_large(path: Path, file: sqlite3.Connection) -> None:
    for number in range(40):
        script = Script(f"call-{number}")
        for index in range(60):
            script.turn(index, "user", 100, f"{number} " * 400)
        await keep(path, script.end())
        age(file, f"call-{number}", (40 - number) / 24)
    before = path.stat().st_size
    assert before > 2 << 20
    steps = swept(file, HistorySettings(max_mb=1))
    left = [call.call for call in calls(path)]
    assert 0 < len(left) < 40
    assert set(left) == {f"call-{number}" for number in range(40 - len(left), 40)}
    assert steps >= (40 - len(left)) / retention.CALLS_A_STEP
    assert retention.used(file) <= 1 << 20
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert path.stat().st_size < before / 1.5


@pytest.mark.parametrize("ended", [True, False])
async def test_a_call_that_goes_on_never_goes(ended: bool, path: Path, file: sqlite3.Connection) -> None:
    history = sink(path, commit_ms=0)
    await history.open()
    for event in a_call("live")[: None if ended else -1]:
        await history.deliver(event)
    age(file, "live", 0.9)
    swept(file, HistorySettings(keep_days=0.5))
    assert len(calls(path)) == (0 if ended else 1)
    await history.close()


async def test_an_unfinished_call_goes_once_its_writer_is_silent(path: Path, file: sqlite3.Connection) -> None:
    await keep(path, Script().told)
    writer = file.execute("SELECT writer FROM calls").fetchone()[0]
    age(file, "call", 0.9)
    row = (writer, writers.place(), 1, writers.now())
    file.execute("INSERT INTO writers VALUES (?, ?, ?, ?)", row)
    swept(file, HistorySettings(keep_days=0.5))
    assert len(calls(path)) == 1
    file.execute("UPDATE writers SET beat_at = beat_at - 400000")
    swept(file, HistorySettings(keep_days=0.5))
    assert calls(path) == []


async def test_baselines_go_by_age_alone(path: Path, file: sqlite3.Connection) -> None:
    known = Baselines(file)
    known.record("bot", "old", writers.now() - 8 * DAY_MS, 10, 1)
    known.record("bot", "young", writers.now() - 6 * DAY_MS, 20, 2)
    swept(file, HistorySettings(keep_days=7, max_mb=1))
    assert known.counts("bot") == (20, 2, 1)


async def test_a_running_program_sweeps_by_itself(
    path: Path, file: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(path, [event for number in range(25) for event in a_call(f"call-{number}")])
    file.execute("UPDATE calls SET touched_at = 0")
    history = sink(path)
    await history.open()
    await until(lambda: not calls(path))
    await history.deliver(Script().told[0])
    await history.close()
    assert len(calls(path)) == 1
