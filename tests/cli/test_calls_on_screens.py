"""`turnwatch calls` on screens of all kinds."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
from pathlib import Path

import pytest
from rich.text import Text

from monitor.core import events
from tests.cli.process import command, environment, run
from tests.sinks.history.told import Script, a_call, keep


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "calls.db"
    quiet = Script("conv_quiet", "2026-02-01T09:00:00Z", agent="other").end()
    asyncio.run(keep(path, [*a_call("conv_loud"), *quiet]))
    return path


def test_words_of_calls_do_nothing_to_the_screen(tmp_path: Path) -> None:
    script = Script("\x1b[2Jcall [red]", agent="[bold]agent\x07")
    script.turn(0, "user", 100, "[link=x]clear \x1b[2J\u202e")
    script.say(events.Notice, kind="k\x1b[2J", track=None, count=1, message="m\r\x1b]0;x\x07")
    asyncio.run(keep(tmp_path / "h.db", script.end()))
    for output in (
        run("calls", "--history", str(tmp_path / "h.db")).stdout,
        run("calls", "--history", str(tmp_path / "h.db"), "\x1b[2J").stdout,
        on_terminal("calls", "--history", str(tmp_path / "h.db"), columns=200),
    ):
        assert b"\x1b[2J" not in output
        assert b"\x07" not in output
        assert b"\\x1b[2Jcall [red]" in output


def on_terminal(*arguments: str, columns: int) -> bytes:
    """What it shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    env = environment(COLUMNS=str(columns), TERM="xterm-256color", TZ="UTC")
    program = subprocess.Popen(command(*arguments), stdout=theirs, stdin=theirs, stderr=subprocess.PIPE, env=env)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other side has gone
        pass
    os.close(ours)
    _, complaints = program.communicate(timeout=60)
    assert (program.returncode, complaints) == (0, b"")
    return shown


@pytest.mark.parametrize("columns", [50, 80, 120, 200])
def test_a_terminal_gets_as_many_columns_as_fit(columns: int, history: Path) -> None:
    shown = Text.from_ansi(
        on_terminal("calls", "--history", str(history), columns=columns).decode().replace("\r", "")
    ).plain
    assert all(len(line.rstrip()) <= columns for line in shown.splitlines())
    assert ("conv_quiet" if columns > 50 else "conv") in shown
    assert ("p50/p95" in shown) == (columns > 80)
    assert "relevancy" in shown if columns == 200 else True


def test_a_plain_encoding_gets_plain_characters(history: Path) -> None:
    done = run("calls", "--history", str(history), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b" - " in done.stdout
