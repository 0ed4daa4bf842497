"""A broker that is down, killed, restarted, frozen: each alert arrives, in order, and nothing grows meanwhile."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from monitor.sinks.mqtt.client import BrokerClient
from tests.brokers import Broker
from tests.sinks.mqtt.listening import (
    Listener,
    cleared,
    ended,
    figure,
    listening,
    notice,
    publishing,
    raised,
    seqs,
    settings,
    started,
)
from tests.sinks.test_spool_disk import full_disk


def first_ones(listener: Listener) -> list[int]:
    """The seqs of the events in the order in which each came for the first time."""
    seen: dict[str, int] = {}
    heard = listener.of("/calls/")
    for one, seq in zip(heard, seqs(heard), strict=True):
        assert seen.setdefault(one.user["event-id"], seq) == seq
    return list(seen.values())


async def test_alerts_of_an_outage_arrive_afterwards(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")
    async with publishing(settings(broker, tmp_path)) as sink:
        for seq in range(500):
            await sink.deliver(raised(seq) if seq % 2 == 0 else cleared(seq))
        assert sink.figures()["spooled"] == 500
        broker.start()
        try:
            async with listening(broker.port) as listener:
                await figure(sink, "delivered", 500)
                await sink.deliver(ended(500))
                await listener.count("/call.ended", 1)
                order = first_ones(listener)
                assert order == sorted(order)
                assert sink.figures()["dropped"] == 0
        finally:
            broker.kill()


@pytest.mark.parametrize("persistent", [True, False], ids=["persistence", "no persistence"])
@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_restart_loses_nothing_and_keeps_the_order(tmp_path: Path, persistent: bool, how: str) -> None:
    broker = Broker(tmp_path / "broker", persistent=persistent)
    broker.start()
    heard: list[int] = []
    async with publishing(settings(broker, tmp_path)) as sink:
        try:
            async with listening(broker.port) as listener:
                await sink.deliver(started(0))
                await sink.deliver(notice(1))
                await sink.deliver(raised(2))
                await listener.count("/calls/", 3)
                heard += first_ones(listener)
            getattr(broker, how)()
            await figure(sink, "connected", 0)
            await sink.deliver(notice(3))  # nobody to pass it on to
            for seq in range(4, 40):
                await sink.deliver(raised(seq, f"call/rule/{seq}"))
            assert sink.figures()["skipped"] == 1
            broker.start()
            async with listening(broker.port) as listener:
                await figure(sink, "delivered", 38)
                await sink.deliver(cleared(40, "call/rule/39"))
                await sink.deliver(notice(41))
                await listener.until(lambda _: listener.of("/notice") and listener.of("/alert.cleared"))
                order = first_ones(listener)
                assert order == sorted(order)
            async with listening(broker.port) as late:  # also without persistence it knows again what is open
                await sink.deliver(notice(42))
                await late.until(lambda _: len([one for one in late.of("/alerts/") if one.payload]) == 36)
        finally:
            broker.kill()
    assert heard == [0, 1, 2]


async def test_a_subscriber_with_a_session_misses_nothing(keeping_broker: Broker, tmp_path: Path) -> None:
    """Both ends keep their session over the broker's restart."""
    broker = keeping_broker
    async with (
        listening(broker.port, "turnwatch/+/calls/+/+", "pager") as listener,
        publishing(settings(broker, tmp_path)) as sink,
    ):
        await sink.deliver(raised(1))
        await listener.count("/calls/", 1)
    async with publishing(settings(broker, tmp_path)) as sink:
        await sink.deliver(cleared(2))
        await figure(sink, "delivered", 1)
        broker.stop()
        await figure(sink, "connected", 0)
        await sink.deliver(ended(3))
        broker.start()
        await figure(sink, "delivered", 2)
        async with listening(broker.port, "turnwatch/+/calls/+/+", "pager") as listener:
            await listener.count("/calls/", 2)
            assert first_ones(listener) == [2, 3]


async def test_a_frozen_broker_is_noticed_and_gets_everything_later(
    broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with publishing(settings(broker, tmp_path)) as sink, listening(broker.port) as listener:
        await figure(sink, "connected", 1)
        broker.freeze()
        for seq in range(20):
            await sink.deliver(raised(seq))
        await figure(sink, "connected", 0)
        assert "does not answer" in caplog.text
        assert sink.figures()["spooled"] == 20
        for seq in range(20, 40):
            await sink.deliver(raised(seq))
        broker.thaw()
        await figure(sink, "spooled", 0)
        await listener.until(lambda _: len(set(first_ones(listener))) == 40)
        order = first_ones(listener)
        assert order == sorted(order)


async def test_a_frozen_broker_is_noticed_also_while_nothing_happens(broker: Broker, tmp_path: Path) -> None:
    async with publishing(settings(broker, tmp_path)) as sink:
        await figure(sink, "connected", 1)
        await figure(sink, "spooled", 0)
        broker.freeze()
        await figure(sink, "connected", 0)  # by keepalive
        broker.thaw()
        await figure(sink, "connected", 1)


async def test_a_frozen_broker_holds_up_no_alert_on_its_way_to_the_spool(broker: Broker, tmp_path: Path) -> None:
    async with publishing(settings(broker, tmp_path, answer_within_s=10.0, keepalive_s=10)) as sink:
        await figure(sink, "connected", 1)
        broker.freeze()
        loop = asyncio.get_running_loop()
        began = loop.time()
        for seq in range(6000):  # far more than the socket takes
            await sink.deliver(msgspec.structs.replace(notice(seq), message="x" * 5000))
        await sink.deliver(raised(6000))
        assert loop.time() - began < 5
        assert sink.figures()["spooled"] == 1
        assert sink.figures()["skipped"] > 1000
        broker.thaw()
        await figure(sink, "delivered", 1)


async def test_memory_is_flat_while_the_broker_is_away(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")  # never started
    async with publishing(settings(broker, tmp_path, spool_max_items=200)) as sink:

        async def some() -> None:
            for seq in range(2000):
                await sink.deliver(raised(seq, f"call/rule/{seq % 50}") if seq % 10 == 0 else notice(seq))

        tracemalloc.start()
        await some()
        before = tracemalloc.get_traced_memory()[0]
        await some()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert grown < 100_000  # an event more takes about 500
        assert sink.figures()["spooled"] == 200


async def test_what_overflows_the_spool_is_the_oldest_and_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(tmp_path / "broker")
    async with publishing(settings(broker, tmp_path, spool_max_items=10)) as sink:
        for seq in range(25):
            await sink.deliver(raised(seq))
        assert sink.figures()["dropped"] == 15
        assert caplog.text.count("its oldest are dropped") == 1
        broker.start()
        try:
            async with listening(broker.port) as listener:
                await figure(sink, "delivered", 10)
                await sink.deliver(ended(25))
                await listener.count("/call.ended", 1)
                assert set(first_ones(listener)) <= set(range(15, 26))
        finally:
            broker.kill()


async def test_what_goes_wrong_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker(tmp_path / "broker")
    async with publishing(settings(broker, tmp_path, retry_max_s=0.1)) as sink:
        await sink.deliver(raised(0))
        await asyncio.sleep(0.5)  # several attempts
        assert caplog.text.count("nobody listens on port") == 1
        assert caplog.text.count("\n") == 1
        broker.start()
        try:
            await figure(sink, "delivered", 1)
            assert "is there again; 1 events wait" in caplog.text
        finally:
            broker.kill()


async def test_a_slip_of_the_library_costs_no_alert(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slips = iter([True, True, False])
    start = BrokerClient.start

    async def slipping(client: BrokerClient) -> None:
        if next(slips, False):
            raise KeyError("of a packet that it does not know")
        await start(client)

    monkeypatch.setattr(BrokerClient, "start", slipping)
    async with publishing(settings(broker, tmp_path)) as sink:
        await sink.deliver(raised(1))
        await figure(sink, "delivered", 1)
    assert caplog.text.count("Traceback") == 1
    assert "something unforeseen went wrong here: KeyError" in caplog.text


async def test_a_full_disk_holds_up_no_alert(broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with publishing(settings(broker, tmp_path)) as sink, listening(broker.port) as listener:
        await figure(sink, "connected", 1)
        with full_disk(bytes_at_most=0):
            for seq in range(50):
                await sink.deliver(raised(seq))
            heard = await listener.count("/alert.raised", 50)
            await figure(sink, "delivered", 50)
        assert seqs(heard) == list(range(50))
    assert caplog.text.count("what waits is in memory") == 2  # of the events, and of what is open
