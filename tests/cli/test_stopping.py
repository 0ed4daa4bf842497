"""Signals: what is open is told, files end in whole lines, and nothing hangs."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from tests.cli.process import LIMIT_S, command, environment, events, run, start, types


def read_until(process: subprocess.Popen[bytes], wanted: str) -> bytes:
    """Lines of standard output up to an event of this type."""
    assert process.stdout is not None
    got = b""
    for line in process.stdout:
        got += line
        if msgspec.json.decode(line)["type"] == wanted:
            return got
    raise AssertionError(f"there was no {wanted} in {got!r}")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_tells_the_open_turn_and_the_summary(
    recording: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process = start("watch", f"wav:{recording}", "--json", "--tape", str(tmp_path))
    got = read_until(process, "turn.started")
    began = time.monotonic()
    process.send_signal(number)
    rest, stderr = process.communicate(timeout=LIMIT_S)
    assert time.monotonic() - began < 5
    assert process.returncode == code
    assert stderr == b""
    told = events(got + rest)
    (ended,) = [event for event in told if event["type"] == "turn.ended"]
    assert ended["turn"]["ended_by"] == "call_end"
    assert told[-1]["type"] == "call.ended"
    assert told[-1]["cause"] == "stopped"
    assert told[-1]["summary"]["duration"] < 5
    again = run("watch", f"tape:{tmp_path}/short.tape", "--speed", "max", "--json")
    assert again.stdout == got + rest


def stuck(*arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """A program whose standard output nobody reads and that is full."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(
        command(*arguments), stdout=writing, stderr=subprocess.PIPE, env=environment(), stdin=subprocess.DEVNULL
    )
    while process.poll() is None:
        queued = int.from_bytes(fcntl.ioctl(reading, 0x541B, bytes(4)), "little")  # FIONREAD
        if queued > 3000:
            os.close(writing)
            return process, reading
    raise AssertionError("the program has ended, and its output was not full")


def test_a_reader_who_never_reads_does_not_keep_the_program(recording: Path) -> None:
    process, reading = stuck("watch", f"wav:{recording}", "--speed", "max", "--json")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=LIMIT_S)
    os.close(reading)
    assert process.returncode == 130
    assert time.monotonic() - began < 5
    assert b"standard output was left behind" in stderr


def test_a_second_signal_ends_the_program_at_once(recording: Path) -> None:
    process, reading = stuck("watch", f"wav:{recording}", "--speed", "max", "--json")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(LIMIT_S)
    assert process.returncode == 130
    assert time.monotonic() - began < 1
    os.close(reading)


def shell(script: str) -> subprocess.CompletedProcess[bytes]:
    watch = " ".join(command("watch"))
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script.replace("WATCH", watch)],
        capture_output=True,
        env=environment(),
        timeout=LIMIT_S,
        check=False,
    )


@pytest.mark.parametrize("how", ["--json --speed max", "--speed max", "--json", ""])
def test_a_reader_who_leaves_ends_the_program_quietly(recording: Path, how: str) -> None:
    began = time.monotonic()
    done = shell(f"WATCH wav:{recording} {how} | head -1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == 1
    assert time.monotonic() - began < 10  # and not when the call is over


def test_a_tape_is_finished_after_the_reader_has_left(recording: Path, tmp_path: Path) -> None:
    done = shell(f"WATCH wav:{recording} --json --speed max --tape {tmp_path} | head -1")
    assert (done.returncode, done.stderr) == (0, b"")
    whole = run("watch", f"wav:{recording}", "--speed", "max", "--json")
    again = run("watch", f"tape:{tmp_path}/short.tape", "--speed", "max", "--json")
    assert again.stdout == whole.stdout


def test_a_threshold_is_judged_after_the_reader_has_left(recording: Path) -> None:
    done = shell(f"WATCH wav:{recording} --json --speed max --fail-under 0.99 | head -1")
    assert done.returncode == 1
    assert b"is under 0.99" in done.stderr


def test_a_stop_before_anything_was_heard_is_a_stop() -> None:
    process = start("watch", "pcm:-", "--json")
    assert process.stdin is not None
    assert process.stdout is not None
    while not _listens_to(process, signal.SIGINT):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    rest, stderr = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, rest, stderr) == (130, b"", b"")


def _listens_to(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    """Whether the event loop of the program has its own handler for this signal: Python's own is there from the start,
    and SIGTERM's comes last."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def test_types_are_those_of_the_contract(recording: Path) -> None:
    told = types(events(run("watch", f"wav:{recording}", "--speed", "max", "--json").stdout))
    assert told.count("call.started") == told.count("call.ended") == 1
