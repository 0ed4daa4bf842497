#!/usr/bin/env python3
"""The processes of deploy/compose.yaml on loopback, without containers: the broker, `turnwatch serve`, Prometheus.

    .venv/bin/python deploy/run_without_containers.py
    .venv/bin/python deploy/run_without_containers.py --folder /tmp/desk -- --judge off --tape tapes

It waits until all are healthy, says where they are, and runs until Ctrl-C or until one of them ends. It needs mosquitto
and openssl; Prometheus runs where it is installed. What stands behind -- goes to `turnwatch serve`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

DEPLOY = Path(__file__).resolve().parent
sys.path.insert(0, str(DEPLOY / "mosquitto"))

import desk  # noqa: E402

HOST = "127.0.0.1"
HEALTHY_WITHIN_S, STOP_WITHIN_S = 30.0, 10.0
PORTS = range(20_000, 32_000)
"""Where port 0 is looked for: the system gives none of these away by itself."""
TOOLS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/local/sbin"])


class Running(NamedTuple):
    """One of the processes, and how to see that it is well."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    healthy: Callable[[], bool]


class Failed(Exception):
    """It cannot go on. The message says what to do."""


def free_port() -> int:
    """A port that nobody listens at."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise Failed("there is no free port")


def broker_config(folder: Path, port: int) -> str:
    """deploy/mosquitto/mosquitto.conf for files in `folder` and a port on loopback."""
    text = (DEPLOY / "mosquitto" / "mosquitto.conf").read_text()
    text = text.replace("listener 8883", f"listener {port} {HOST}")
    text = text.replace("/mosquitto/config/acl", str(DEPLOY / "mosquitto" / "acl"))
    text = text.replace("/mosquitto/config/", f"{folder}/").replace("/mosquitto/data/", f"{folder}/broker/")
    return text + ("user root\n" if os.geteuid() == 0 else "")  # else it would give up the right to read the folder


def prometheus_config(folder: Path, console: int) -> str:
    """deploy/prometheus/prometheus.yml for this machine."""
    text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    text = text.replace("/etc/prometheus/", f"{DEPLOY}/prometheus/").replace("turnwatch:8766", f"{HOST}:{console}")
    return text.replace("/run/secrets/turnwatch_token", str(folder / "token"))


class Desk:
    """Starts the processes, waits for them, ends them."""

    def __init__(self, folder: Path, stop: threading.Event) -> None:
        self._folder = folder
        self._stop = stop
        self.running: list[Running] = []

    def start(self, name: str, command: list[str], healthy: Callable[[], bool], **environment: str) -> None:
        """Start a process, and wait until it is healthy. Raises Failed."""
        log = self._folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,  # Ctrl-C is for this program, which then ends them in order
            )
        one = Running(name, process, log, healthy)
        self.running.append(one)
        until = time.monotonic() + HEALTHY_WITHIN_S
        while not healthy() and not self._stop.wait(0.05):
            if process.poll() is not None:
                raise Failed(f"{name} ended with code {process.returncode}:\n{_tail(log)}")
            if time.monotonic() > until:
                raise Failed(f"{name} was not healthy after {HEALTHY_WITHIN_S:g} s:\n{_tail(log)}")

    def watch(self) -> None:
        """Until it is to stop. Raises Failed if a process ends before."""
        while not self._stop.wait(0.2):
            for one in self.running:
                if one.process.poll() is not None:
                    raise Failed(f"{one.name} ended with code {one.process.returncode}:\n{_tail(one.log)}")

    def end(self) -> None:
        """End all, the last first: whoever speaks to another can still say goodbye."""
        for one in reversed(self.running):
            one.process.terminate()
            try:
                one.process.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                one.process.kill()
                one.process.wait()


def _tail(log: Path) -> str:
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-15:])


def _answers(url: str) -> Callable[[], bool]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def asked() -> bool:
        try:
            with opener.open(url, timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    return asked


def _shakes_hands(port: int, folder: Path) -> Callable[[], bool]:
    def asked() -> bool:
        try:
            context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
            with socket.create_connection((HOST, port), 2) as plain, context.wrap_socket(plain, server_hostname=HOST):
                return True
        except OSError:
            return False

    return asked


def _tool(name: str) -> str:
    found = shutil.which(name, path=TOOLS)
    if found is None:
        raise Failed(f"{name} is not there: install the system package {name}")
    return found


def start_all(desk_: Desk, folder: Path, ports: dict[str, int], more: list[str], prometheus: bool) -> None:
    """Start everything, and say where it is. Raises Failed."""
    (folder / "broker").mkdir(exist_ok=True)
    (folder / "state").mkdir(exist_ok=True)
    (folder / "mosquitto.conf").write_text(broker_config(folder, ports["mqtt"]))
    broker = [_tool("mosquitto"), "-c", str(folder / "mosquitto.conf")]
    desk_.start("mosquitto", broker, _shakes_hands(ports["mqtt"], folder))
    _say("broker", f"mqtts://{HOST}:{ports['mqtt']}   users and passwords: {folder}/users; CA: {folder}/ca.crt")

    serve = [sys.executable, "-m", "monitor", "serve", "--config", str(DEPLOY / "turnwatch.toml")]
    serve += ["--ingest", f"{HOST}:{ports['ingest']}", "--console", f"{HOST}:{ports['console']}"]
    serve += ["--mqtt", f"mqtts://{HOST}:{ports['mqtt']}", "--history", str(folder / "state" / "history.db"), *more]
    settings = {
        "TURNWATCH_MQTT__CA_FILE": str(folder / "ca.crt"),
        "TURNWATCH_MQTT__USERNAME": desk.SITE,
        "TURNWATCH_MQTT__PASSWORD": (folder / "users" / desk.SITE).read_text().strip(),
        "XDG_STATE_HOME": str(folder / "state"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(DEPLOY.parent), os.environ.get("PYTHONPATH")])),
    }
    desk_.start("turnwatch", serve, _answers(f"http://{HOST}:{ports['console']}/healthz"), **settings)
    _say("turnwatch", f"ws://{HOST}:{ports['ingest']}   for you: http://{HOST}:{ports['console']}/api/calls")

    if prometheus and shutil.which("prometheus", path=TOOLS):
        (folder / "prometheus.yml").write_text(prometheus_config(folder, ports["console"]))
        scraper = [_tool("prometheus"), f"--config.file={folder}/prometheus.yml", "--log.level=warn"]
        scraper += [f"--storage.tsdb.path={folder}/prometheus", f"--web.listen-address={HOST}:{ports['prometheus']}"]
        desk_.start("prometheus", scraper, _answers(f"http://{HOST}:{ports['prometheus']}/-/ready"))
        _say("prometheus", f"http://{HOST}:{ports['prometheus']}/alerts")
    else:
        _say("prometheus", "not started")
    _say("ready", f"logs: {folder}/*.log; Ctrl-C stops everything")


def _say(what: str, where: str) -> None:
    print(f"{what:<11} {where}", flush=True)


def main() -> int:
    """The command line. -> 0 after Ctrl-C, 1 if something could not be started or ended by itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=DEPLOY / "desk", help="certificates, passwords, state and logs")
    for name, port in (("ingest", 8765), ("console", 8766), ("mqtt", 8883), ("prometheus", 9090)):
        parser.add_argument(f"--{name}-port", type=int, default=port, help=f"{port}; 0: any free one")
    parser.add_argument("--no-prometheus", action="store_true", help="not even where it is installed")
    parser.add_argument("serve", nargs="*", help="what `turnwatch serve` is to be told besides")
    given = parser.parse_args()
    folder = given.folder.resolve()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    one = Desk(folder, stop)
    try:
        ports = {name: getattr(given, f"{name}_port") or free_port() for name in ("ingest", "console", "mqtt")}
        ports["prometheus"] = given.prometheus_port or free_port()
        desk.make(folder)
        start_all(one, folder, ports, given.serve, not given.no_prometheus)
        one.watch()
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    finally:
        one.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
