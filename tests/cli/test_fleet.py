"""Many monitors on one broker, as somebody starts them: two `turnwatch serve`, a mosquitto, and `turnwatch fleet`."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from connectors.simulator.twilio import TwilioCarrier
from monitor.sinks.history.baselines import Baselines
from monitor.sinks.history.schema import connect
from tests.brokers import Broker, running
from tests.builders import Speech, sound, speech
from tests.cli.process import LIMIT_S, run, start

STEP_S = 0.3
QUICK = ("--set", f"fleet.step_s={STEP_S}", "--set", "fleet.cooldown_s=60")
TURNS = 6


def conversation(*, barging_in: bool) -> tuple[list[Speech], int]:
    """Six turns of the agent; the caller waits for each, or breaks into all but the first."""
    said, at = [], 500
    for turn in range(TURNS):
        said.append(speech("agent", at, at + 2400))
        into = barging_in and turn
        said.append(speech("caller", at + (1400 if into else 3000), at + (3600 if into else 4200)))
        at += 5000
    return said, at + 1000


class Program:
    """One of them, and the lines that it has told so far."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.process = start(*arguments, XDG_STATE_HOME=str(folder))
        self.lines: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self._news = threading.Condition()
        for target, pipe in ((self._line, self.process.stdout), (self._error, self.process.stderr)):
            threading.Thread(target=self._read, args=(pipe, target), daemon=True).start()

    def _read(self, pipe: Any, target: Callable[[bytes], None]) -> None:
        for line in pipe:
            with self._news:
                target(line)
                self._news.notify_all()

    def _line(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    def _error(self, line: bytes) -> None:
        self.errors.append(line.decode())

    def until(self, happened: Callable[[], object], within_s: float = 30) -> None:
        with self._news:
            met = self._news.wait_for(happened, within_s)
            assert met, "".join(self.errors) + f"{len(self.lines)} lines, at last {self.lines[-3:]}"

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [line for line in list(self.lines) if line["type"] in kinds]

    def alerts(self, kind: str) -> list[dict[str, Any]]:
        return [line["alert"] for line in self.of(kind) if line["alert"]["scope"] == "fleet"]

    def address(self) -> str:
        """Where a service takes calls."""
        welcome = r"calls come in at ws://(\S+);"
        self.until(lambda: re.search(welcome, "".join(self.errors)))
        found = re.search(welcome, "".join(self.errors))
        assert found
        return found[1]

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@contextmanager
def program(*arguments: str, folder: Path) -> Iterator[Program]:
    one = Program(*arguments, folder=folder)
    try:
        yield one
    finally:
        one.end()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with running(tmp_path / "broker") as one:
        yield one


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A hundred earlier calls of the agent: one turn in ten was barged in on."""
    path = tmp_path / "history.db"
    with closing(connect(path, busy_ms=500)) as file:
        kept = Baselines(file)
        for number in range(100):
            kept.record("support", f"earlier-{number}", 1_700_000_000_000 + number, 10, 1)
    return path


def serve(broker: Broker, name: str, tmp_path: Path) -> Any:
    ports = ("--ingest", "127.0.0.1:0", "--console", "127.0.0.1:0")
    # What stands for speech here is as steady as noise, so the ear must not look for any.
    own = ("--set", f"mqtt.monitor={name}", "--set", "timeline.update_every_ms=1000", "--set", "speech.line=null")
    return program("serve", "--json", "--mqtt", broker.url, *ports, *own, *QUICK, folder=tmp_path)


def fleet(broker: Broker, name: str, tmp_path: Path, *more: str) -> Any:
    own = ("--set", f"mqtt.monitor={name}")
    return program("fleet", "--json", "--mqtt", broker.url, *own, *QUICK, *more, folder=tmp_path)


async def place(addresses: list[str], names: list[str], *, barging_in: bool, speed: float = 8.0) -> None:
    """Calls by turns to each address, all at once."""
    said, length = conversation(barging_in=barging_in)
    tracks = sound(said, length)
    await asyncio.gather(
        *(
            TwilioCarrier(
                f"ws://{addresses[n % len(addresses)]}/twilio", speed=speed, parameters={"agent_id": "support"}
            ).call(tracks["caller"], tracks["agent"], call_sid=name)
            for n, name in enumerate(names)
        )
    )


def test_a_spike_over_two_monitors_is_one_alert_that_goes_away(broker: Broker, history: Path, tmp_path: Path) -> None:
    names = [f"CA{number}" for number in range(6)]
    with (
        serve(broker, "one", tmp_path) as first,
        serve(broker, "two", tmp_path) as second,
        fleet(broker, "fleet", tmp_path, "--history", str(history)) as together,
    ):
        addresses = [first.address(), second.address()]
        until_led(broker, together)
        asyncio.run(place(addresses, names, barging_in=True))
        together.until(lambda: together.alerts("alert.cleared"))
        together.until(lambda: len(together.of("call.ended")) >= len(names))
        asyncio.run(place(addresses[:1], ["after"], barging_in=False, speed=30))
        together.until(lambda: any(line["call"] == "after" for line in together.of("call.ended")))
        assert together.end() == 143
        for service in (first, second):
            assert service.end() == 143
    (name,) = {alert["id"] for alert in together.alerts("alert.raised")}
    assert re.fullmatch(r"fleet:support@\d{8}T\d{6}Z-\w{6}/barge_in_spike/1", name)
    (cleared,) = together.alerts("alert.cleared")
    assert cleared["id"] == name
    assert "turns of support" in cleared["message"]
    pseudo = name.partition("/")[0]
    assert f"'turnwatch/local/calls/{pseudo}/alert.cleared'" in broker.log  # told back to the broker
    assert f"'turnwatch/local/alerts/{pseudo}%2Fbarge_in_spike%2F1'" in broker.log
    assert cleared["value"] > cleared["threshold"]
    for call in {line["call"] for line in together.lines}:
        numbers = [line["seq"] for line in together.lines if line["call"] == call]
        assert numbers == list(range(len(numbers))), call
    assert not first.alerts("alert.raised")
    assert not second.alerts("alert.raised")


def until_led(broker: Broker, together: Program) -> None:
    together.until(lambda: "fleet/leader" in broker.log, 10)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fleet",), "Give --mqtt URL"),
        (("fleet", "--mqtt", "127.0.0.1"), "mqtt.url has no scheme"),
        (("fleet", "--mqtt", "mqtt://127.0.0.1", "--set", "fleet.enabled=false"), "fleet.enabled is false"),
        (("fleet", "--mqtt", "mqtt://127.0.0.1", "--set", "fleet.group=a/b"), "fleet.group is one word"),
        (("fleet", "--mqtt", "mqtt://127.0.0.1", "--history", __file__), "no history of turnwatch"),
    ],
)
def test_what_is_wrong_is_said_at_once(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run(*arguments, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stdout == b""


def test_a_broker_that_is_away_is_waited_for(tmp_path: Path) -> None:
    with running(tmp_path / "broker") as broker:
        broker.kill()
        with program("fleet", "--json", "--mqtt", broker.url, "--set", "mqtt.retry_max_s=0.5", folder=tmp_path) as one:
            one.until(lambda: "nobody listens on port" in "".join(one.errors))
            broker.start()
            one.until(lambda: "fleet/leader" in broker.log)
            assert one.end() == 143
    told = "".join(one.errors)
    assert told.count("nobody listens on port") == 1, told  # once when it goes, however often it is tried
    assert "trying again" not in told
    assert "broke" not in told.replace("broker", "")


def test_an_alert_of_a_leader_that_is_killed_goes_on_and_is_cleared_once(
    broker: Broker, history: Path, tmp_path: Path
) -> None:
    own = ("--history", str(history))
    with serve(broker, "one", tmp_path) as service:
        slow = ("--set", "fleet.short_steps=30")  # it must not be over before the kill
        with fleet(broker, "fleet", tmp_path, *own, *slow) as first:
            until_led(broker, first)
            asyncio.run(place([service.address()], [f"CA{number}" for number in range(6)], barging_in=True))
            first.until(lambda: first.alerts("alert.raised"))
            first.until(lambda: history_says(history, "SELECT count(*) FROM alerts WHERE scope = 'fleet'") == 1)
            first.process.kill()
            first.process.wait(LIMIT_S)
        assert not first.alerts("alert.cleared")
        with fleet(broker, "fleet", tmp_path, *own) as second:
            second.until(lambda: second.alerts("alert.cleared"))
            assert second.end() == 143
    raised, cleared = (
        [line for line in one.of(kind) if line["alert"]["scope"] == "fleet"][-1]
        for one, kind in ((first, "alert.raised"), (second, "alert.cleared"))
    )
    assert cleared["alert"]["id"] == raised["alert"]["id"]
    assert (cleared["call"], cleared["seq"]) == (raised["call"], raised["seq"] + 1)
    assert cleared["at"] >= raised["at"]
    assert not second.alerts("alert.raised")
    assert len(second.alerts("alert.cleared")) == 1
    assert history_says(history, "SELECT count(*) FROM alerts WHERE scope = 'fleet' AND until_ms IS NULL") == 0
    assert history_says(history, "SELECT count(*) FROM alerts WHERE scope = 'fleet'") == 1
    assert "no word from the broker" not in "".join([*second.errors, *service.errors])


def history_says(path: Path, question: str) -> int:
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute(question).fetchone()[0])
