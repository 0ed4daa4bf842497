"""The demo and the service as a user starts them."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from connectors.simulator.twilio_frames import CarrierSettings, lines
from tests.cli.process import LIMIT_S, events, run, start, types


def test_the_demo_at_once_is_a_whole_call(tmp_path: Path) -> None:
    done = run("demo", "--speed", "max", "--json", "--tape", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, b"")
    told = events(done.stdout)
    kinds = told[-1]["summary"]["turn_taking"]["kinds"]
    assert all(kinds[kind] > 0 for kind in ("gap", "user_barge_in", "agent_overlap"))
    (tape,) = tmp_path.iterdir()
    assert run("watch", f"tape:{tape}", "--speed", "max", "--json").stdout == done.stdout


def test_the_demo_is_a_feed_for_people() -> None:
    done = run("demo", "--speed", "max", PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    assert "turn-taking" in done.stdout.decode()


def test_the_live_demo_can_be_stopped(tmp_path: Path) -> None:
    process = start("demo", "--json", "--tape", str(tmp_path))
    assert process.stdout is not None
    got = process.stdout.readline() + process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, stderr = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, stderr) == (130, b"")
    told = events(got + rest)
    assert types(told)[-1] == "call.ended"
    assert told[-1]["cause"] == "stopped"
    assert [event["turn"]["ended_by"] for event in told if event["type"] == "turn.ended"][-1] == "call_end"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_service_tells_the_calls_that_are_open_when_it_is_stopped(number: signal.Signals, code: int) -> None:
    process = start("serve", "--json", "--ingest", "127.0.0.1:0", "--console", "127.0.0.1:0")
    assert process.stdout is not None
    assert process.stderr is not None
    welcome = process.stderr.readline().decode()
    found = re.fullmatch(r"turnwatch: calls come in at ws://(\S+); for you: http://(\S+)/api/calls\n", welcome)
    assert found, welcome
    ingest, console = found.groups()
    for address in (ingest, console):
        assert httpx.get(f"http://{address}/healthz", trust_env=False).status_code == 200
    silence = bytes(16 * 1000)
    with connect(f"ws://{ingest}/twilio", proxy=None) as socket:
        for line in lines(silence, silence, stream_sid="MZ1", call_sid="CA1", settings=CarrierSettings(stop=False)):
            socket.send(line.text)
        got = process.stdout.readline()
        process.send_signal(number)
        rest, stderr = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, stderr) == (code, b"")
    told = events(got + rest)
    assert told[0]["call"] == told[-1]["call"] == "CA1"
    assert (told[-1]["type"], told[-1]["cause"]) == ("call.ended", "stopped")


def test_a_token_in_the_environment_opens_a_port_beyond_loopback() -> None:
    process = start("serve", "--ingest", "0.0.0.0:0", "--console", "127.0.0.1:0", TURNWATCH_TOKEN="open sesame")
    assert process.stderr is not None
    welcome = process.stderr.readline().decode()
    assert "0.0.0.0" in welcome
    assert "sesame" not in welcome
    port = welcome.partition("0.0.0.0:")[2].partition(";")[0]
    assert httpx.get(f"http://127.0.0.1:{port}/v1/convai/conversation", trust_env=False).status_code == 401
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 143
    assert b"sesame" not in stderr
