"""Alerts as a user sees and hears them: on a terminal, in a file, and at `/metrics` of a program that serves."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys

import httpx
import pytest

from tests.cli.process import LIMIT_S, run, start

DEMO = ("demo", "--speed", "max", "--judge", "off", "--set", "rules.dead_air.warning_after_s=1.0")


def on_a_terminal(*arguments: str) -> bytes:
    """What the program writes to a terminal."""
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "monitor", *arguments],
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:  # Linux says so once nobody holds the other end
            pass
        assert process.wait(LIMIT_S) == 0
        return shown
    finally:
        os.close(master)


@pytest.mark.parametrize(("options", "rings"), [(("--bell",), 1), ((), 0)])
def test_the_bell_rings_once_for_an_alert_where_it_is_asked_for(options: tuple[str, ...], rings: int) -> None:
    shown = on_a_terminal(*DEMO, *options)
    assert shown.count(b"ALERT warning") == 1
    assert shown.count(b"\a") == rings


def test_in_a_file_an_alert_is_a_plain_line() -> None:
    done = run(*DEMO, "--bell", PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, b"")
    assert re.search(rb"^\d\d:\d\d\.\d{3}  call    ! ALERT warning dead_air: ", done.stdout, re.MULTILINE)
    assert b"alert over dead_air" in done.stdout
    assert b"\a" not in done.stdout
    assert b"\x1b" not in done.stdout


def test_a_program_that_serves_has_a_page_for_prometheus() -> None:
    process = start("serve", "--json", "--ingest", "127.0.0.1:0", "--console", "127.0.0.1:0", "--judge", "off")
    assert process.stderr is not None
    found = re.search(r"for you: http://([\d.:]+)", process.stderr.readline().decode())
    assert found
    page = httpx.get(f"http://{found[1]}/metrics", trust_env=False)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, stderr) == (143, b"")
    assert page.status_code == 200
    for line in ("turnwatch_calls_live 0.0", 'turnwatch_sink_up{sink="prometheus"} 1.0'):
        assert line in page.text.splitlines()
