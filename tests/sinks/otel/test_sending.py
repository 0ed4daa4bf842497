"""A collector that is away, slow or cross never hurts: spans wait, within bounds, and it is told once."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

import pytest

from monitor.config import ConfigError, load
from monitor.sinks import SINKS, SinkError, made
from monitor.sinks.otel import sending
from monitor.sinks.otel.settings import OtelSettings
from monitor.sinks.otel.sink import OtelSink
from tests.sinks.otel.collectors import collecting, export, sink_to
from tests.sinks.otel.test_traces import a_call
from tests.sinks.screens import Script


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rests of milliseconds."""
    monkeypatch.setattr(sending, "_FIRST_REST_S", 0.005)
    monkeypatch.setattr(sending, "_LONGEST_REST_S", 0.01)
    monkeypatch.setattr(sending, "LAST_TRY_S", 0.3)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


async def until(sink: OtelSink, **figures: float) -> None:
    """Wait until the sink's figures are at least these."""
    async with asyncio.timeout(5):
        while not all(sink.figures()[name] >= value for name, value in figures.items()):
            await asyncio.sleep(0.001)


def calls(many: int) -> list[Any]:
    return [event for n in range(many) for event in Script(f"call-{n}").started().hangs_up(1000).told]


@pytest.mark.usefixtures("fast")
async def test_spans_wait_for_a_collector_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    sink = OtelSink(OtelSettings(endpoint=f"http://127.0.0.1:{port}", every_s=0.01))
    await sink.open()
    for event in a_call():
        await sink.deliver(event)
    await until(sink, failed=5)
    assert sink.figures() | {"failed": 0} == {
        "delivered": 0, "dropped": 0, "failed": 0, "spooled": 3, "connected": 0,
    }  # fmt: skip
    with collecting(port) as collector:
        await until(sink, delivered=3, connected=1)
        await sink.close()
        assert len(collector.spans) == 3
    assert len(caplog.messages) == 2  # once that it is away, once that it is back
    assert "spans wait and are sent again" in caplog.messages[0]
    assert "takes spans again" in caplog.messages[1]


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_collector_that_asks_for_patience_gets_the_same_again(status: int) -> None:
    with collecting() as collector:
        collector.answers = [status, status]
        sink = sink_to(collector, every_s=0.01)
        await sink.open()
        for event in a_call():
            await sink.deliver(event)
        await until(sink, delivered=3)
        await sink.close()
        assert sink.figures()["failed"] == 2
        assert len({(s.trace_id, s.span_id) for s in collector.spans}) == len(collector.spans) == 3


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "answers 400"),
        (401, "look at otel.token"),
        (404, "not where a collector takes traces"),
        (302, "not where a collector takes traces"),
        (500, "answers 500"),
    ],
)
async def test_what_would_fail_again_is_dropped_counted_and_told_once(
    status: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with collecting() as collector:
        collector.answers = [status] * 3
        sink = sink_to(collector, batch_spans=1, every_s=0.01)
        await export(sink, calls(4))
        assert sink.figures()["dropped"] == 3
        assert sink.figures()["delivered"] == 1
        assert len(collector.bodies) == 4
    assert words in caplog.messages[0]
    assert len(caplog.messages) == 2


@pytest.mark.usefixtures("fast")
async def test_what_waits_is_bounded_and_the_oldest_goes_first(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    settings = OtelSettings(endpoint=f"http://127.0.0.1:{port}", max_kept_spans=10, every_s=0.01, batch_spans=4)
    sink = OtelSink(settings)
    await sink.open()
    for event in calls(50):
        await sink.deliver(event)
    await until(sink, failed=2)
    for event in calls(50):
        await sink.deliver(event)
    assert sink.figures()["dropped"] + sink.figures()["spooled"] == 100
    assert sink.figures()["spooled"] <= 10
    with collecting(port) as collector:
        await until(sink, delivered=10)
        assert len(collector.spans) == 10
        await sink.close()
    assert sum("spans are dropped" in message for message in caplog.messages) == 1


@pytest.mark.usefixtures("fast")
async def test_a_collector_that_says_nothing_holds_up_neither_calls_nor_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sink = OtelSink(OtelSettings(endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}", every_s=0.01))
        async with asyncio.timeout(2):
            await export(sink, a_call())
    assert sink.figures()["dropped"] == 3
    assert "3 spans did not reach the collector" in caplog.text


@pytest.mark.usefixtures("fast")
async def test_spans_that_are_rejected_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    with collecting() as collector:
        collector.rejects = 2
        sink = await export(sink_to(collector), a_call())
        assert (sink.figures()["delivered"], sink.figures()["dropped"]) == (1, 2)
        assert "rejects some of the spans" in caplog.text


async def test_a_full_batch_goes_at_once() -> None:
    with collecting() as collector:
        sink = sink_to(collector, batch_spans=3)
        await sink.open()
        for event in calls(3):
            await sink.deliver(event)
        await collector.until_requests(1)
        await sink.close()
        assert len(collector.spans) == 3


async def test_secrets_are_sent_and_never_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="turnwatch")
    given = ["token=sesame", 'secret_headers={"X-Team"="thyme"}']
    with collecting() as collector:
        collector.answers = [401]
        config = load(assignments=[f"otel.endpoint={collector.url}", *(f"otel.{one}" for one in given)])
        ((name, sink),) = made("otel", config.sink("otel"))
        assert name == "otel"
        assert isinstance(sink, OtelSink)
        await export(sink, a_call())
        assert collector.headers[0]["X-Team"] == "thyme"
        assert collector.headers[0]["Authorization"] == "Bearer sesame"
    assert "the collector at http://127.0.0.1:" in caplog.text
    for secret in ("sesame", "thyme"):
        assert secret not in caplog.text + repr(config)


def test_a_password_in_the_address_is_refused_without_being_told() -> None:
    with pytest.raises(SinkError, match=r"put it into otel\.token") as refused:
        list(made("otel", OtelSettings(endpoint="http://me:rosemary@host:4318")))
    assert "rosemary" not in str(refused.value)


def test_it_is_off_until_there_is_an_endpoint() -> None:
    assert list(made("otel", load().sink("otel"))) == []


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4318", "grpc://host", "http://", "http://a:b", "http://[::1", " "])
def test_an_endpoint_that_is_none_is_told(endpoint: str) -> None:
    with pytest.raises(SinkError, match=r"otel\.endpoint must be the address of a collector"):
        list(made("otel", OtelSettings(endpoint=endpoint)))


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.sinks.otel.settings.find_spec", lambda _: None)
    with pytest.raises(SinkError, match=r"pip install 'turnwatch\[otel\]'"):
        list(made("otel", OtelSettings(endpoint="http://127.0.0.1:4318")))


def test_a_file_of_certificates_that_is_none_is_told() -> None:
    settings = OtelSettings(endpoint="https://127.0.0.1:1", ca_file="/nowhere/ca.pem")
    with pytest.raises(SinkError, match=r"otel\.ca_file /nowhere/ca\.pem"):
        list(made("otel", settings))


@pytest.mark.parametrize(
    "given", ["every_s=0", "batch_spans=0", 'secret_headers={"a b"="c"}', 'secret_headers={"a"="b\\nc"}', "token=ü"]
)
def test_settings_that_make_no_sense_are_told(given: str) -> None:
    with pytest.raises(ConfigError, match="otel"):
        load(assignments=[f"otel.{given}"])


def test_the_path_is_put_behind_the_endpoint_once() -> None:
    for endpoint in ("http://host:4318", "http://host:4318/", "http://host:4318/v1/traces"):
        assert OtelSettings(endpoint=endpoint).url == "http://host:4318/v1/traces"
    assert "otel" in SINKS
