"""`/metrics` on the console port of a running service, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import connect

from connectors.simulator.twilio_frames import CarrierSettings, lines
from monitor.config import Config
from monitor.core.call import Status
from monitor.runtime.console_port import call_row
from monitor.runtime.delivery import Delivery
from monitor.runtime.serve import Service
from monitor.sinks.prometheus.folding import Metrics
from tests.runtime.running import settings
from tests.runtime.stand_ins import Blocking, Broken
from tests.sinks.prometheus.pages import complaints
from tests.sinks.screens import Script

TOKEN = "open sesame"


class Served:
    """A service whose events go to its metrics, as `turnwatch serve` has it."""

    def __init__(self, config: Config) -> None:
        self.delivery = Delivery()
        self.metrics = Metrics(config.sink("prometheus"))
        self.delivery.add("prometheus", self.metrics, own_thread=True)
        figures = self.delivery.figures
        self.service = Service(config, self.delivery.deliver, figures=figures, metrics=self.metrics)

    async def get(self, path: str = "/metrics", **headers: str) -> httpx.Response:
        """Ask the console port."""
        port = self.service.console.port
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(f"http://127.0.0.1:{port}{path}", headers=headers)

    async def value(self, name: str, **labels: str) -> float | None:
        """The sum of the series with these labels on the page as it is now."""
        page = (await self.get()).text
        found = [
            sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name == f"turnwatch_{name}" and labels.items() <= sample.labels.items()
        ]
        return sum(found) if found else None

    async def until(self, name: str, wanted: float, **labels: str) -> None:
        """Ask until it is so."""
        async with asyncio.timeout(5):
            while await self.value(name, **labels) != wanted:
                await asyncio.sleep(0)

    async def call(self, *, ends: bool) -> None:
        """A short call of a media stream."""
        sound = bytes(16 * 400)
        async with connect(f"ws://{self.service.ingest}/twilio", proxy=None) as socket:
            carrier = CarrierSettings(stop=ends)
            for line in lines(sound, sound, stream_sid="MZ1", call_sid="CA1", settings=carrier):
                await socket.send(line.text)
            await self.until("calls_started_total", 1)
            if not ends:
                await self.until("calls_live", 1)


@contextlib.asynccontextmanager
async def served(*assignments: str) -> AsyncIterator[Served]:
    one = Served(settings("twilio.reconnect_grace_ms=0", *assignments))
    await one.service.start()
    try:
        yield one
    finally:
        await one.service.stop()
        one.delivery.hurry()
        await one.delivery.close(within_s=0.2)


async def test_a_call_is_seen_while_it_goes_on_and_when_it_is_over() -> None:
    async with served() as one:
        assert await one.value("calls_live") == 0
        await one.call(ends=False)
        await one.until("calls_ended_total", 1, cause="disconnected")
        await one.until("calls_live", 0)
        assert complaints((await one.get()).content) == ""


async def test_the_page_comes_in_the_format_that_was_asked_for() -> None:
    async with served() as one:
        plain, open_metrics = await one.get(), await one.get(accept="application/openmetrics-text;version=1.0.0")
        assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert open_metrics.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
        assert open_metrics.text.endswith("# EOF\n")


async def test_beyond_loopback_the_token_is_needed() -> None:
    async with served("serve.console=0.0.0.0:0", f"serve.token={TOKEN}") as one:
        assert (await one.get()).status_code == 401
        assert (await one.get(authorization="Bearer wrong")).status_code == 401
        assert (await one.get(authorization=f"Bearer {TOKEN}")).status_code == 200
        assert (await one.get("/metrics?token=open%20sesame")).status_code == 200


async def test_what_overflows_and_what_has_failed_is_seen_for_each_sink() -> None:
    async with served() as one:
        one.delivery.add("asleep", Blocking(), own_thread=True)
        one.delivery.add("broken", Broken(0, OSError("disk full")), own_thread=True)
        await one.call(ends=True)
        await one.until("sink_up", 0, sink="broken")
        assert await one.value("sink_up", sink="asleep") == await one.value("sink_up", sink="prometheus") == 1
        assert await one.value("sink_overflowed_events_total", sink="asleep") == 0
        assert (await one.value("sink_waiting_events", sink="asleep") or 0) > 0
        shown = (await one.get("/api/calls")).json()["program"]["sinks"]
        assert shown["broken"]["up"] == 0


async def test_many_scrapes_at_once_are_answered() -> None:
    async with served() as one:
        answers = await asyncio.gather(*(one.get() for _ in range(30)))
        assert {answer.status_code for answer in answers} == {200}


async def test_a_service_without_metrics_has_no_page_for_them() -> None:
    async def nobody(_: object) -> None: ...

    service = Service(settings(), nobody)
    await service.start()
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"http://{service.console}/metrics")).status_code == 404
    finally:
        await service.stop()


def test_a_calls_open_alerts_are_shown_to_operators() -> None:
    alert = Script().alert("dead_air", "warning", since_ms=1500)
    status = Status("CA1", 2000, (), None, None, 0, False, alerts=(alert,))
    assert call_row(status)["alerts"] == [
        {
            "id": "call-1/dead_air/1",
            "rule": "dead_air",
            "severity": "warning",
            "message": "there is dead_air",
            "value": 5.0,
            "threshold": 4.0,
            "because": (1, 2),
            "since": 1.5,
        }
    ]
