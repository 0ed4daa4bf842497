"""Everything together, without containers: a call comes in, and is seen at the broker, at /metrics, by Prometheus."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from connectors.simulator.twilio import TwilioCarrier, read_recording
from monitor.sinks.mqtt import topics
from tests.cli.process import RECORDINGS, environment
from tests.deploy.broker import Broker
from tests.deploy.places import DEPLOY
from tests.deploy.test_prometheus import rules

LIMIT_S = 40
SECOND = 16_000
"""Bytes of s16le at 8 kHz."""
CALL = "CA0123"
ALERT = f"{CALL}/dead_air/1"
PLACE = re.compile(r"(?:mqtts|ws|http)://127\.0\.0\.1:(\d+)")


class Deployed:
    """What the script has started."""

    def __init__(self, folder: Path, told: dict[str, str]) -> None:
        self.broker = Broker(folder, int(PLACE.findall(told["broker"])[0]))
        ingest, console = PLACE.findall(told["turnwatch"])
        self.ingest, self.console = f"ws://127.0.0.1:{ingest}", f"http://127.0.0.1:{console}"
        self.prometheus = f"http://127.0.0.1:{PLACE.findall(told['prometheus'])[0]}"

    def metrics(self) -> str:
        return httpx.get(f"{self.console}/metrics", trust_env=False).text


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("desk")
    command = [sys.executable, str(DEPLOY / "run_without_containers.py"), "--folder", str(folder)]
    command += [word for name in ("ingest", "console", "mqtt", "prometheus") for word in (f"--{name}-port", "0")]
    process = subprocess.Popen([*command, "--", "--judge", "off"], stdout=subprocess.PIPE, env=environment(), text=True)
    assert process.stdout is not None
    told: dict[str, str] = {}
    for line in process.stdout:
        what, _, where = line.strip().partition(" ")
        told[what] = where
        if what == "ready":
            break
    try:
        assert "ready" in told, told
        yield Deployed(folder, told)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(LIMIT_S)
    assert code == 0
    for log in folder.glob("*.log"):
        assert "Traceback" not in log.read_text("utf-8"), log.read_text("utf-8")
    assert (folder / "state" / "history.db").exists()


@pytest.fixture(scope="module")
def told(deployed: Deployed) -> list[tuple[str, dict[str, Any]]]:
    """What a viewer at the broker got of a call that Twilio played: topics and messages, in order. Twelve seconds of
    talk, then nobody says anything for eight."""
    heard = read_recording(RECORDINGS / "03_barge_in.flac")
    caller, agent = (track[: 12 * SECOND] + bytes(8 * SECOND) for track in heard)

    async def played() -> list[tuple[str, dict[str, Any]]]:
        got = []
        awaited = {"call.ended", topics.alerts("local", ALERT)}  # the latter without anything in it: taken away
        carrier = TwilioCarrier(f"{deployed.ingest}/twilio", speed=6.0)
        async with deployed.broker.client("viewer") as viewer, asyncio.timeout(LIMIT_S):
            await viewer.subscribe("turnwatch/#", qos=1)
            playing = asyncio.create_task(carrier.call(caller, agent, call_sid=CALL))
            async for message in viewer.messages:
                assert isinstance(message.payload, bytes)
                got.append((message.topic.value, msgspec.json.decode(message.payload or b"{}")))
                awaited.discard(got[-1][1].get("type", message.topic.value))
                if not awaited:
                    break
            await playing
        return got

    return asyncio.run(played())


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that comes about somewhere else."""
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def test_a_call_is_told_at_the_broker(told: list[tuple[str, dict[str, Any]]]) -> None:
    by_topic = [(topic, event["call"]) for topic, event in told if event.get("type") == "call.started"]
    assert by_topic == [(topics.calls("local", CALL, "call.started"), CALL)]
    assert any(topic == topics.calls("local", CALL, "turn.ended") for topic, _ in told)
    assert any(topic.startswith("turnwatch/local/monitors/") for topic, _ in told)


def test_an_alert_is_told_once_and_cleared(told: list[tuple[str, dict[str, Any]]]) -> None:
    rule = [(topic, event) for topic, event in told if event.get("alert", {}).get("rule") == "dead_air"]
    happened = [(event["type"], event["alert"]["id"]) for topic, event in rule if "/calls/" in topic]
    assert happened == [("alert.raised", ALERT), ("alert.cleared", ALERT)]
    kept = [event for topic, event in told if topic == topics.alerts("local", ALERT)]
    assert [event.get("type") for event in kept] == ["alert.raised", None], "retained, then taken away"


def test_the_call_and_its_alert_are_counted(deployed: Deployed, told: list[tuple[str, dict[str, Any]]]) -> None:
    def counted() -> bool:
        page = deployed.metrics()
        return "turnwatch_calls_ended_total{" in page and 'rule="dead_air"' in page

    assert told
    until(counted)
    assert 'turnwatch_sink_connected{sink="mqtt"} 1.0' in deployed.metrics()


def test_prometheus_has_the_figures_and_the_rules(deployed: Deployed, told: list[tuple[str, dict[str, Any]]]) -> None:
    def asked(path: str, **query: str) -> Any:
        return httpx.get(f"{deployed.prometheus}/api/v1/{path}", params=query, trust_env=False).json()["data"]

    assert told
    until(lambda: bool(asked("query", query='up{job="turnwatch"} == 1')["result"]))
    until(lambda: bool(asked("query", query="turnwatch_calls_started_total")["result"]))
    known = {rule["name"] for group in asked("rules")["groups"] for rule in group["rules"]}
    assert known == {rule["alert"] for rule in rules()}


def test_every_metric_of_the_rules_is_there(deployed: Deployed, told: list[tuple[str, dict[str, Any]]]) -> None:
    """`# TYPE` stands there for counters and histograms that have counted nothing yet."""
    assert told
    there = {"up"}
    for name, kind in re.findall(r"(?m)^# TYPE (\S+) (\w+)$", deployed.metrics()):
        there |= {f"{name}{part}" for part in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    wanted = {name for rule in rules() for name in re.findall(r"\bturnwatch_\w+|\bup\b", rule["expr"])}
    assert len(wanted) > 10
    assert wanted <= there


def test_what_cannot_be_started_is_told_and_nothing_is_left_behind(tmp_path: Path) -> None:
    command = [sys.executable, str(DEPLOY / "run_without_containers.py"), "--folder", str(tmp_path), "--no-prometheus"]
    command += [word for name in ("ingest", "console", "mqtt") for word in (f"--{name}-port", "0")]
    done = subprocess.run(
        [*command, "--", "--set", "speech.open_msec=1"],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    assert "turnwatch ended with code 2" in done.stderr
    assert "did you mean speech.open_ms?" in done.stderr
    port = int(PLACE.findall(done.stdout)[0])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the broker still runs"
