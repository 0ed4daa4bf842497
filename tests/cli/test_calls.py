"""`turnwatch calls`: what the history has, for people and for programs."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from monitor.core.events import Event
from tests.cli.process import run, start
from tests.sinks.history.told import Script, a_call, keep, sink

HEAD = "when call agent length turns score answers p50/p95 barge-ins relevancy alerts cause"
FIRST = "2026-02-01 09:00:00 conv_quiet other 0:01 0+1 0.75 – – – – hangup"


def told() -> list[Event]:
    quiet = Script("conv_quiet", "2026-02-01T09:00:00Z", agent="other")
    quiet.turn(0, "assistant", 900)
    return [*a_call("conv_loud"), *quiet.end(barge_in=None, response_time=None)]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "calls.db"
    asyncio.run(keep(path, told()))
    return path


def lines(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def names(*options: str) -> list[str]:
    done = run("calls", "--json", *options)
    assert done.returncode == 0, done.stderr
    return [call["call"] for call in lines(done.stdout)]


def test_the_newest_call_stands_first_in_plain_columns(history: Path) -> None:
    done = run("calls", "--history", str(history), TZ="UTC")
    assert (done.returncode, done.stderr) == (0, b"")
    head, first, second = done.stdout.decode().splitlines()
    assert " ".join(head.split()) == HEAD
    assert " ".join(first.split()) == FIRST
    assert second.startswith("2026-01-31 12:00:00  conv_loud ")
    assert "0.30/0.90 s" in second
    assert "1 critical" in second
    assert b"\x1b" not in done.stdout


def test_the_history_of_the_settings_is_shown(history: Path, tmp_path: Path) -> None:
    config = tmp_path / "turnwatch.toml"
    config.write_text(f'[history]\nfile = "{history}"\n')
    both = ["conv_quiet", "conv_loud"]
    assert names("--config", str(config)) == both
    assert names("--set", f"history.file={history}") == both
    done = run("calls", "--json", TURNWATCH_HISTORY__FILE=str(history))
    assert [call["call"] for call in lines(done.stdout)] == both


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--agent", "other"], ["conv_quiet"]),
        (["--alerts"], ["conv_loud"]),
        (["--limit", "1"], ["conv_quiet"]),
        (["--limit", "0"], ["conv_quiet", "conv_loud"]),
        (["--since", "2026-02-01T00:00:00+00:00"], ["conv_quiet"]),
        (["--since", "9000d"], ["conv_quiet", "conv_loud"]),
        (["--since", "1s"], []),
        (["--agent", "nobody"], []),
    ],
)
def test_calls_can_be_chosen(options: Sequence[str], found: list[str], history: Path) -> None:
    assert names("--history", str(history), *options) == found


def test_a_call_as_json_has_all_that_is_known(history: Path) -> None:
    loud = lines(run("calls", "--json", "--history", str(history)).stdout)[1]
    assert loud["turns"] == {"user": 2, "assistant": 2}
    assert loud["turn_taking"] == {"score": 0.75, "transitions": 3}
    assert loud["response_time"] == {"p50": 0.3, "p95": 0.9}
    assert loud["alerts"] == {"critical": 1, "warning": 0, "info": 0, "open": 0}
    assert (loud["state"], loud["cause"], loud["duration"]) == ("ended", "hangup", 4.0)
    (one,) = lines(run("calls", "--json", "--history", str(history), "conv_loud").stdout)
    assert [turn["text"] for turn in one["turns"]] == [f"turn {n} of conv_loud" for n in range(4)]
    assert [verdict["verdict"] for verdict in one["verdicts"]] == ["yes"]
    assert one["alerts"][0]["because"] == [0, 1]
    assert len(one["transitions"]) == 3
    assert [notice["kind"] for notice in one["notices"]] == ["gap"]


def test_one_call_is_shown_by_the_beginning_of_its_id(history: Path) -> None:
    done = run("calls", "--history", str(history), "conv_l", TZ="UTC")
    shown = done.stdout.decode()
    assert shown.startswith("conv_loud   2026-01-31 12:00:00   hangup\n")
    assert "agent bot" in shown
    assert "line 7" in shown
    assert "turn 2 of conv_loud   [gap +0.30 s, 0.50]" in shown
    assert "[relevant: yes (because)]" in shown
    assert "alert  00:00.100  critical dead_air: silence (turns 0, 1), until 00:04.000" in shown
    assert "notice 00:04.000  gap: a gap" in shown


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, "no history is named: say --history FILE"),
        (["--history", "/nowhere/h.db"], 3, "there is no history /nowhere/h.db"),
        (["--history", __file__], 3, "is no SQLite file"),
        (["--history", "{history}", "nothing"], 3, "has no call nothing"),
        (["--history", "{history}", "conv"], 2, "several calls begin with conv: conv_quiet, conv_loud"),
        (["--history", "{history}", "--since", "yesterday"], 2, "yesterday is no time"),
        (["--history", "{history}", "--limit", "-1"], 2, "-1 is no number of calls"),
        (["--history", ""], 2, "history.file is empty"),
        (["--set", "history.flie=x"], 2, "did you mean history.file?"),
    ],
)
def test_what_is_wrong_is_said_on_one_line(options: list[str], code: int, words: str, history: Path) -> None:
    done = run("calls", *(option.replace("{history}", str(history)) for option in options))
    assert (done.returncode, done.stdout) == (code, b"")
    (line,) = done.stderr.decode().splitlines()
    assert words in line


@pytest.mark.parametrize("made", ["empty file", "no calls"])
def test_a_history_without_calls_says_so(made: str, tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    if made == "empty file":
        path.touch()
    else:
        asyncio.run(keep(path, []))
    done = run("calls", "--history", str(path))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"turnwatch: the history {path} has no calls yet\n"


def test_whoever_reads_may_leave(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    asyncio.run(keep(path, [event for number in range(3) for event in a_call(f"call-{number}")]))
    with closing(sqlite3.connect(path)) as file:
        for copy in range(2000):
            row = "INSERT INTO calls (site, call, begun_at, touched_at, writer) VALUES ('', ?, ?, 0, 0)"
            file.execute(row, (f"c{copy}", copy))
        file.commit()
    program = start("calls", "--history", str(path), "--limit", "0")
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.readline()
    program.stdout.close()
    assert program.wait(timeout=60) == 0
    assert program.stderr.read() == b""
    program.stderr.close()


def test_a_call_that_goes_on_is_shown_while_it_is_written(tmp_path: Path) -> None:
    written = tmp_path / "h.db"

    async def look() -> list[dict[str, Any]]:
        history = sink(written, commit_ms=0)
        await history.open()
        for event in a_call("live")[:-1]:
            await history.deliver(event)
        shown = await asyncio.to_thread(run, "calls", "--json", "--history", str(written))
        await history.close()
        return lines(shown.stdout)

    (live,) = asyncio.run(look())
    assert (live["state"], live["cause"], live["turns"]) == ("running", None, {"user": 2, "assistant": 2})
    (left,) = lines(run("calls", "--json", "--history", str(written)).stdout)
    assert left["state"] == "unfinished"


def test_what_was_watched_is_shown(recording: Path, tmp_path: Path) -> None:
    path, lined = tmp_path / "h.db", tmp_path / "events.jsonl"
    options = ("--speed", "max", "--json", "--history", str(path), "--set", f"events_file.path={lined}")
    watched = run("watch", f"wav:{recording}", *options)
    assert watched.returncode == 0
    assert lined.read_bytes() == watched.stdout
    ended = lines(watched.stdout)[-1]
    (call,) = lines(run("calls", "--json", "--history", str(path)).stdout)
    assert call["turn_taking"]["score"] == ended["summary"]["turn_taking"]["score"]
    assert (call["call"], call["cause"], call["missing_events"]) == ("short", "end_of_file", 0)
    (call,) = lines(run("calls", "--json", "--history", str(path), "short").stdout)
    assert call["summary"] == ended["summary"]


def test_an_alert_of_a_monitor_that_was_killed_is_not_called_open(tmp_path: Path) -> None:
    written = tmp_path / "h.db"

    async def look() -> bytes:
        history = sink(written, commit_ms=0)
        await history.open()
        for event in a_call("live"):
            if event.type in ("alert.cleared", "call.ended"):
                break
            await history.deliver(event)
        shown = await asyncio.to_thread(run, "calls", "--history", str(written), "live")
        await history.close()
        return shown.stdout

    assert b", still open" in asyncio.run(look())
    left = run("calls", "--history", str(written), "live").stdout
    assert b", open when the monitor stopped" in left
    assert b"still open" not in left
