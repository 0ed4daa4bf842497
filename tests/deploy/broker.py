"""A real mosquitto on loopback, with the files of deploy/mosquitto."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import aiomqtt
from paho.mqtt.client import MQTTv5

from deploy import run_without_containers as runner
from deploy.mosquitto import desk

LIMIT_S = 10
HOST = "127.0.0.1"


class Broker:
    """Where it is, and how to come in."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    def client(self, user: str | None, *, password: str | None = None, ca: Path | None = None) -> aiomqtt.Client:
        """A client as `user` with that user's own password; None: without a name."""
        if user is not None and password is None:
            password = (self.folder / "users" / user).read_text()
        context = ssl.create_default_context(cafile=str(ca or self.folder / "ca.crt"))
        return aiomqtt.Client(
            HOST, self.port, username=user, password=password, tls_context=context, protocol=MQTTv5, timeout=LIMIT_S
        )


def needed(tool: str) -> str:
    """The path of a program that these tests need; they fail without it."""
    found = shutil.which(tool, path=runner.TOOLS)
    assert found, f"{tool} is not there: install the system package that brings it"
    return found


@contextlib.contextmanager
def running(folder: Path, *, sites: tuple[str, ...] = (desk.SITE,)) -> Iterator[Broker]:
    """A broker as deployed, with all its files in `folder`."""
    desk.make(folder, sites=sites)
    port = runner.free_port()
    (folder / "broker").mkdir()
    (folder / "mosquitto.conf").write_text(runner.broker_config(folder, port))
    with (folder / "broker.log").open("wb") as log:
        process = subprocess.Popen([needed("mosquitto"), "-c", str(folder / "mosquitto.conf")], stderr=log)
    try:
        until = time.monotonic() + LIMIT_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
                break
            log_so_far = (folder / "broker.log").read_text()
            assert process.poll() is None, log_so_far
            assert time.monotonic() < until, log_so_far
            time.sleep(0.01)
        yield Broker(folder, port)
    finally:
        process.terminate()
        process.wait(LIMIT_S)
