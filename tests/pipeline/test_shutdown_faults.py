"""How the serving program ends, what becomes of it without a reader, and without a library (B68, B72, B73).

`tests/cli` has the same of `turnwatch watch`: a stop in a call, a reader who leaves, old code pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import termios
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.simulator.twilio import TwilioCarrier
from monitor.core.encode import encode
from monitor.runtime.watch import watch
from tests.builders import sound, speech
from tests.cli.process import LIMIT_S, command, environment, events, run
from tests.connectors.recordings.takes import save, stereo
from tests.pipeline.contract import check_stream

TALKING = sound([speech("caller", 300, 60_000)], 60_000)


class Program:
    """`turnwatch serve` in a process of its own, on free ports."""

    def __init__(self, *arguments: str, stdout: int = subprocess.PIPE, **env: str) -> None:
        serve = command("serve", "--ingest", "127.0.0.1:0", "--console", "127.0.0.1:0", *arguments)
        self.process = subprocess.Popen(serve, stdout=stdout, stderr=subprocess.PIPE, env=environment(**env))
        self.failure: Exception | None = None
        assert self.process.stderr is not None
        welcome = self.process.stderr.readline().decode().split()
        self.ingest = next(word for word in welcome if word.startswith("ws://")).rstrip(";")
        self.console = next(word for word in welcome if word.startswith("http://"))

    def play(self) -> threading.Thread:
        """A caller who talks on and on, at the speed of the call."""

        async def stream() -> None:
            try:
                await TwilioCarrier(f"{self.ingest}/twilio").call(TALKING["caller"], TALKING["agent"], call_sid="CA1")
            except Exception as error:  # also once the program has been stopped
                self.failure = error

        thread = threading.Thread(target=lambda: asyncio.run(stream()), daemon=True)
        thread.start()
        return thread

    def lines_until(self, kind: str) -> list[dict[str, Any]]:
        """What it tells, up to an event of this type."""
        assert self.process.stdout is not None
        patience = threading.Timer(LIMIT_S / 2, self.process.kill)
        patience.start()
        told = []
        for line in self.process.stdout:
            told.append(json.loads(line))
            if told[-1]["type"] == kind:
                patience.cancel()
                return told
        raise AssertionError(f"there was no {kind} in {told!r}; the caller says {self.failure!r}")

    def stop(self, number: signal.Signals) -> tuple[int, bytes, bytes, float]:
        """Exit code, the rest of its output, its errors, and how long it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        stdout, stderr = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, stdout or b"", stderr, time.monotonic() - began


@contextlib.contextmanager
def program(*arguments: str, **how: Any) -> Iterator[Program]:
    one = Program(*arguments, **how)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()


def replayed(tape: Path) -> list[dict[str, Any]]:
    """What a tape tells."""

    async def watched() -> list[bytes]:
        return [encode(event) async for event in watch(f"tape:{tape}", speed=None)]

    return [json.loads(line) for line in asyncio.run(watched())]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_tells_the_open_turn_of_a_live_call(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """B72: the caller has been speaking for a second. The turn is told, cut short; then the summary, and on tape."""
    with program("--json", "--tape", str(tmp_path)) as serve:
        serve.play()
        told = serve.lines_until("turn.updated")
        returned, stdout, stderr, took = serve.stop(number)
    rest = events(stdout)
    assert (returned, stderr) == (code, b"")
    assert took < 5
    check_stream([*told, *rest])
    (ended,) = [line["turn"] for line in rest if line["type"] == "turn.ended"]
    assert (ended["role"], ended["ended_by"]) == ("user", "call_end")
    assert 0.9 < ended["duration"] < 3
    assert rest[-1]["cause"] == "stopped"
    assert replayed(tmp_path / "CA1.tape") == [*told, *rest]


def test_a_second_signal_ends_a_serving_program_at_once() -> None:
    """B72: its output is stuck, so that the first signal takes its time; the second one does not."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with program("--json", "--set", "timeline.update_every_ms=20", stdout=writing) as serve:
        os.close(writing)
        serve.play()
        while int.from_bytes(fcntl.ioctl(reading, termios.FIONREAD, bytes(4)), "little") < 3700:
            assert serve.process.poll() is None
            time.sleep(0.01)
        serve.process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            serve.process.wait(0.5)
        began = time.monotonic()
        serve.process.send_signal(signal.SIGINT)
        serve.process.wait(LIMIT_S)
        assert time.monotonic() - began < 1
        assert serve.process.returncode == 130
    os.close(reading)


def ready(serve: Program) -> bool:
    with urllib.request.urlopen(f"{serve.console.rpartition('/api')[0]}/healthz", timeout=5) as answer:
        return bool(json.load(answer) == {"status": "ready"})


def test_a_reader_who_leaves_does_not_end_the_service(tmp_path: Path) -> None:
    """B68: `turnwatch serve --json | head -1`. No traceback; the service goes on, and its tapes are whole."""
    with program("--json", "--tape", str(tmp_path)) as serve:
        serve.play()
        assert serve.process.stdout is not None
        first = json.loads(serve.process.stdout.readline())
        assert first["type"] == "call.started"
        serve.process.stdout.close()
        serve.process.stdout = None
        address = serve.console
        now = began = 0.0
        while now < began + 1.5 or not began:
            with urllib.request.urlopen(address, timeout=5) as answer:
                (row,) = json.load(answer)["calls"]
            now = row["now"]
            began = began or now + 0.001
        code, _, stderr, _ = serve.stop(signal.SIGINT)
    assert code == 130
    assert b"Traceback" not in stderr
    assert len(stderr.splitlines()) <= 1
    told = replayed(tmp_path / "CA1.tape")
    check_stream(told)
    assert told[-1]["cause"] == "stopped"


def test_a_library_that_is_broken_hurts_only_who_needs_it(tmp_path: Path) -> None:
    """B73: no PortAudio (importing sounddevice raises OSError). Recordings and the service work; a microphone is
    one line."""
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')\n")
    path = save(tmp_path / "call.wav", stereo(speech("caller", 300, 900), length=1500))
    broken = os.pathsep.join((str(tmp_path), environment()["PYTHONPATH"]))
    done = run("watch", f"wav:{path}", "--speed", "max", "--json", PYTHONPATH=broken)
    assert (done.returncode, len(events(done.stdout)) > 3) == (0, True)
    with program(PYTHONPATH=broken) as serve:
        assert ready(serve)
        assert serve.stop(signal.SIGTERM)[0] == 143
    microphone = run("watch", "mic:", PYTHONPATH=broken)
    assert microphone.returncode in (2, 3)
    assert microphone.stdout == b""
    assert len(microphone.stderr.splitlines()) == 1
