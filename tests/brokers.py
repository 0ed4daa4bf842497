"""A real mosquitto on a free port of loopback, to be killed, stopped and started again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOSQUITTO = shutil.which("mosquitto", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin")))


class Broker:
    """One broker. `more`: further lines of its configuration."""

    def __init__(self, folder: Path, *, persistent: bool = False, more: str = "") -> None:
        assert MOSQUITTO is not None, "these tests need mosquitto: apt-get install mosquitto"
        self.port = free_port()
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"listener {self.port} 127.0.0.1", f"persistence {str(persistent).lower()}"]
        if persistent:
            lines += [f"persistence_location {folder}/", "autosave_interval 1", "autosave_on_changes true"]
        if os.getuid() == 0:
            lines.append("user root")  # else it becomes somebody who cannot read the folder
        if "allow_anonymous" not in more:
            lines.append("allow_anonymous true")
        self._config = folder / "mosquitto.conf"
        self._config.write_text("\n".join(lines) + "\n" + more)
        self._process: subprocess.Popen[str] | None = None
        self._said: list[str] = []

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it has said so far, over all its lives."""
        return "".join(self._said)

    def start(self) -> None:
        """Returns when it listens."""
        assert MOSQUITTO is not None
        process = subprocess.Popen(
            [MOSQUITTO, "-v", "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        running = threading.Event()
        threading.Thread(target=self._listen, args=(process, running), daemon=True).start()
        self._process = process
        assert running.wait(20), self.log
        assert process.poll() is None, self.log

    def _listen(self, process: subprocess.Popen[str], running: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                self._said.append(line)
                if line.rstrip().endswith("running"):
                    running.set()
        running.set()  # it has ended

    def stop(self) -> None:
        """In order, as an operator does it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Without a word."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """It keeps its port and its connections and does nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.send_signal(signal.SIGCONT)
            self._process.wait(10)
            self._process = None


@contextmanager
def running(folder: Path, *, persistent: bool = False, more: str = "") -> Iterator[Broker]:
    """A broker that runs, and is ended in any case."""
    broker = Broker(folder, persistent=persistent, more=more)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
