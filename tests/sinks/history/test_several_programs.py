"""Programs of their own, as they are run: killed in the middle, or several with one file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from monitor.sinks.history import writers
from monitor.sinks.history.schema import connect
from monitor.sinks.history.seen import Seen
from tests.cli.process import ROOT, environment
from tests.sinks.history.told import Script, calls, keep, known


def start(path: Path, call: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.sinks.history.writer_process", str(path), call, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment())


@pytest.mark.parametrize("after", [1, 40, 400])
async def test_nothing_that_was_acknowledged_is_lost_by_a_kill(after: int, tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    program = start(path, "call", 1_000_000)
    assert program.stdout is not None
    acknowledged = [int(program.stdout.readline()) for _ in range(after)]
    assert calls(path)[0].state == "running"
    program.kill()
    acknowledged += [int(line) for line in program.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
    program.wait()
    program.stdout.close()
    with closing(sqlite3.connect(path)) as file:
        seen = Seen(file.execute("SELECT seen FROM calls").fetchone()[0])
        assert file.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert set(acknowledged) <= set(range(seen.last + 1))
    assert seen.missing == 0
    kept = known(path)
    assert kept["state"] == "unfinished"  # known at once, since the process is gone
    whole = [turn for turn in kept["turns"] if turn["ended_by"]]
    assert [turn["text"] for turn in whole] == [f"turn {index}" for index in range(len(whole))]
    assert len(whole) == seen.last // 3

    script = Script()
    for index in range(len(whole) + 3):
        script.turn(index, "user", 100, f"turn {index}")
    await keep(path, script.end())  # the tape of the call
    assert (known(path)["state"], known(path)["missing_events"]) == ("ended", 0)


def test_several_programs_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    programs = {name: start(path, name, 300) for name in ("one", "two", "three")}
    for name, program in programs.items():
        output, _ = program.communicate(timeout=60)
        assert program.returncode == 0
        assert len(output.splitlines()) == 902, name
    for name in programs:
        kept = known(path, name)
        assert (kept["state"], kept["missing_events"], len(kept["turns"])) == ("ended", 0, 300)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM writers").fetchone()[0] == 0


async def test_a_writer_elsewhere_is_believed_for_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    await keep(path, Script().told)
    with closing(connect(path, busy_ms=100)) as file:
        writer = file.execute("SELECT writer FROM calls").fetchone()[0]
        for ago, state in ((0, "running"), (writers.SILENT_MS + 5000, "unfinished")):
            row = (writer, "another machine", 1, writers.now() - ago)
            file.execute("INSERT OR REPLACE INTO writers VALUES (?, ?, ?, ?)", row)
            assert calls(path)[0].state == state


async def test_a_call_that_nothing_was_told_of_for_a_day_does_not_go_on(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    await keep(path, Script().told)
    with closing(connect(path, busy_ms=100)) as file:
        writer = writers.enter(file)
        file.execute("UPDATE calls SET writer = ?", (writer,))
        assert calls(path)[0].state == "running"
        file.execute("UPDATE calls SET touched_at = touched_at - ?", (writers.QUIET_CALL_MS + 1,))
        assert calls(path)[0].state == "unfinished"
