"""The listening side: an ingest port that calls come in by, and a console port for operators.

service = Service(config, deliver)
await service.start()               # both ports are bound, or nothing is
...
await service.stop()                # every call is ended and told
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from connectors.base import ConnectorError
from monitor.config import Config, ConfigError
from monitor.core.call import Status
from monitor.core.events import Event
from monitor.runtime.access import Address, Doorkeeper, NotAnAddress, parse_address
from monitor.runtime.console_port import ConsolePort
from monitor.runtime.endpoints import endpoints
from monitor.runtime.fleet_service import fleet_service
from monitor.runtime.gauges import Gauges, LoopLag
from monitor.runtime.hearing import CallMonitor
from monitor.runtime.ingest_port import IngestPort
from monitor.runtime.inquiry import bench_for
from monitor.runtime.metrics_page import MetricsPage
from monitor.runtime.switchboard import Switchboard
from monitor.runtime.watch import NewCore, tapes_in

if TYPE_CHECKING:
    from monitor.sinks.prometheus.folding import Metrics

log = logging.getLogger("turnwatch.serve")


class Service:
    """Both ports and every call that comes in. `deliver` takes the events of all calls. `figures`: how the sinks behind
    it are doing, by name. `metrics`: what `/metrics` answers; it is to be one of these sinks.

    Raises `ConfigError` where the settings are wrong, among them a port beyond loopback without a token, `SourceError`
    for a connector's own, `NoDetector` and `NoJudge`. Nothing is bound or runs before `start`.
    """

    def __init__(
        self,
        config: Config,
        deliver: Callable[[Event], Awaitable[None]],
        *,
        tape_dir: Path | None = None,
        new_core: NewCore = CallMonitor,
        figures: Callable[[], Mapping[str, Mapping[str, float]]] = dict,
        metrics: Metrics | None = None,
    ) -> None:
        self._figures = figures
        self._settings = config.serve
        self.ingest, self.console = _addresses(config)
        self.gauges = Gauges()
        new_core(config.core)  # whatever keeps a core from being made is told now, not with the first call
        self._bench = bench_for(config)
        self._fleet = fleet_service(config, deliver)
        self._switchboard = Switchboard(
            lambda: new_core(config.core),
            self._fleet.deliver,
            new_tape=tapes_in(tape_dir, config.core),
            bench=self._bench,
            max_calls=self._settings.max_calls,
            gauges=self.gauges,
            view=self._fleet.view,
        )
        self._lag = LoopLag()
        self._endpoints = endpoints(config, self._switchboard)
        doorkeeper = Doorkeeper(self._settings.token)
        self._ingest_port = IngestPort(self._endpoints, doorkeeper, lambda: self._switchboard.full, self.gauges)
        self._console_port = ConsolePort(
            lambda: self.calls,
            self.program,
            lambda: self._ingest_port.ready,
            Doorkeeper(None) if self.console.loopback else doorkeeper,
            None if metrics is None else MetricsPage(metrics, lambda: self.calls, self.program),
        )
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def calls(self) -> list[Status]:
        """How the calls stand that go on."""
        return self._switchboard.calls

    def program(self) -> dict[str, Any]:
        """How the program itself is doing."""
        told = {"loop_lag_ms": self._lag.worst_ms, **msgspec.structs.asdict(self.gauges)}
        for name, asked in (("judge", self._bench.asking), ("transcriber", self._bench.transcribing)):
            told[name] = None if asked is None else msgspec.structs.asdict(asked.status)
        return {**told, "fleet": self._fleet.standings, "sinks": self._figures()}

    async def start(self) -> None:
        """Bind both ports and take calls. Raises ConnectorError if a port cannot be bound."""
        ingest = _bind(self.ingest)
        try:
            console = _bind(self.console)
        except ConnectorError:
            ingest.close()
            raise
        self.ingest, self.console = _bound(self.ingest, ingest), _bound(self.console, console)
        await self._ingest_port.open(ingest)
        self._fleet.start(self._switchboard.tell)
        self._tasks = [
            asyncio.create_task(self._console_port.serve(console), name="console port"),
            asyncio.create_task(self._sweep(), name="sweep"),
            asyncio.create_task(self._lag.watch(), name="loop lag"),
        ]

    async def stop(self) -> None:
        """End every call as `stopped`, tell what is open, and close both ports, within the time that is set for it."""
        within = self._settings.stop_within_s
        await self._ingest_port.close(within / 2)
        await self._switchboard.stop(within / 4)
        await self._bench.close()
        await self._fleet.stop()
        self._console_port.stop()
        console, *others = self._tasks
        for task in others:
            task.cancel()
        await asyncio.wait([console], timeout=within / 4)
        console.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _sweep(self) -> None:
        """One clock for the time-outs of all calls."""
        while True:
            await asyncio.sleep(self._settings.sweep_ms / 1000)
            now_ms = int(time.monotonic() * 1000)
            for endpoint in self._endpoints:
                try:
                    endpoint.elapsed(now_ms)
                except Exception:
                    log.exception("looking after time-outs failed: please report it")


def _addresses(config: Config) -> tuple[Address, Address]:
    serve = config.serve
    try:
        both = parse_address(serve.ingest), parse_address(serve.console)
    except NotAnAddress as error:
        raise ConfigError(str(error)) from error
    beyond = [str(address) for address in both if not address.loopback]
    if beyond and not serve.token:
        raise ConfigError(
            f"{' and '.join(beyond)} can be reached from other machines: give --token or TURNWATCH_TOKEN, which "
            "clients then must show, or listen on 127.0.0.1"
        )
    upstream = urlsplit(str(config.connectors.get("elevenlabs", {}).get("upstream") or ""))
    if upstream.hostname in ("localhost", "127.0.0.1", "::1", both[0].host) and upstream.port == both[0].port:
        raise ConfigError(f"{upstream.geturl()} is this relay's own port: the upstream is the provider, or a simulator")
    return both


def _bind(address: Address) -> socket.socket:
    try:
        return address.bind()
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while")[0]
        raise ConnectorError(f"cannot listen on {address}: {why}") from error


def _bound(wanted: Address, bound: socket.socket) -> Address:
    return wanted._replace(port=bound.getsockname()[1])
