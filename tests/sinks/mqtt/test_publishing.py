"""What goes where, how, and what a subscriber sees who comes late."""

from __future__ import annotations

from pathlib import Path

import msgspec

from monitor.core.encode import encode
from tests.brokers import Broker
from tests.sinks.mqtt.listening import (
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


async def test_every_event_has_its_topic_and_is_its_line(broker: Broker, tmp_path: Path) -> None:
    events = [started(), notice(1), raised(2), cleared(3), ended(4)]
    async with listening(broker.port) as listener, publishing(settings(broker, tmp_path, site="berlin")) as sink:
        for event in events:
            await sink.deliver(event)
        heard = await listener.count("/calls/", len(events))
    assert [one.topic for one in heard] == [f"turnwatch/berlin/calls/call/{event.type}" for event in events]
    assert [one.payload for one in heard] == [encode(event) for event in events]
    assert [one.qos for one in heard] == [1, 0, 1, 1, 1]
    assert {one.content_type for one in heard} == {"application/json"}
    assert [one.user["event-id"] for one in heard] == [f"call#{seq}" for seq in range(5)]
    assert {one.user["monitor"] for one in heard} == {"m1"}
    assert not any(one.retain for one in heard)


async def test_who_comes_late_sees_the_alerts_that_are_open_and_no_event(broker: Broker, tmp_path: Path) -> None:
    async with publishing(settings(broker, tmp_path)) as sink:
        for event in (raised(1, "call/rule/0"), raised(2, "call/rule/1"), cleared(3, "call/rule/0")):
            await sink.deliver(event)
        await figure(sink, "delivered", 3)
        async with listening(broker.port) as late:
            heard = await late.count("turnwatch/", 2)
            await sink.deliver(notice(4))
            await late.count("/notice", 1)
            assert {one.topic for one in heard} == {
                "turnwatch/local/alerts/call%2Frule%2F1",
                "turnwatch/local/monitors/m1",
            }
            (state,) = late.of("/alerts/")
            assert state.retain
            assert state.user == {"state": "open", "event-id": "call#2", "monitor": "m1"}
            assert state.payload == encode(raised(2, "call/rule/1"))
            assert state.expiry_s is not None
            assert state.expiry_s <= 3600
            await sink.deliver(cleared(5, "call/rule/1"))
            assert [one.payload for one in await late.count("/alerts/", 2)][1] == b""
        async with listening(broker.port) as later:
            await later.count("/monitors/", 1)
            await sink.deliver(notice(6))
            await later.count("/notice", 1)
            assert later.of("/alerts/") == []


async def test_an_alert_that_rises_is_one_state(broker: Broker, tmp_path: Path) -> None:
    async with publishing(settings(broker, tmp_path)) as sink:
        await sink.deliver(raised(1))
        await sink.deliver(raised(2))
        assert sink.figures()["open_alerts"] == 1
        await figure(sink, "delivered", 2)
        async with listening(broker.port) as late:
            await late.until(lambda _: late.of("/alerts/"))
            assert [one.user["event-id"] for one in late.of("/alerts/")] == ["call#2"]


async def test_a_call_that_ends_leaves_nothing_open(broker: Broker, tmp_path: Path) -> None:
    async with (
        listening(broker.port, "turnwatch/+/alerts/+") as listener,
        publishing(settings(broker, tmp_path)) as sink,
    ):
        await sink.deliver(raised(1, "call/rule/0"))
        await sink.deliver(raised(1, "other/rule/0", "other"))
        await listener.count("/alerts/", 2)
        await sink.deliver(ended(2))
        heard = await listener.count("/alerts/", 3)
        assert (heard[2].topic, heard[2].payload) == ("turnwatch/local/alerts/call%2Frule%2F0", b"")
        assert sink.figures()["open_alerts"] == 1


async def test_open_and_online_are_renewed_before_they_expire(broker: Broker, tmp_path: Path) -> None:
    async with publishing(settings(broker, tmp_path, state_expiry_s=2)) as sink, listening(broker.port) as listener:
        await sink.deliver(raised(1))
        await listener.until(lambda _: len(listener.of("/alerts/")) >= 3 and len(listener.of("/monitors/")) >= 3)
        assert {one.expiry_s for one in listener.of("/alerts/")} <= {1, 2}


async def test_the_monitor_says_that_it_comes_and_goes(broker: Broker, tmp_path: Path) -> None:
    async with listening(broker.port, "turnwatch/+/monitors/+") as listener:
        async with publishing(settings(broker, tmp_path)):
            await listener.count("/monitors/m1", 1)
        online, stopped = [msgspec.json.decode(one.payload) for one in await listener.count("/monitors/m1", 2)]
    assert (online["state"], online["monitor"], online["site"]) == ("online", "m1", "local")
    assert (stopped["state"], stopped["cause"]) == ("offline", "stopped")
    async with listening(broker.port, "turnwatch/+/monitors/+") as late:
        (retained,) = await late.count("/monitors/m1", 1)
    assert retained.retain
    assert msgspec.json.decode(retained.payload)["state"] == "offline"


async def test_closing_sends_all_that_waits(broker: Broker, tmp_path: Path) -> None:
    async with listening(broker.port) as listener:
        # It is closed before it is connected.
        async with publishing(settings(broker, tmp_path, others_qos=1)) as sink:
            for seq in range(300):
                await sink.deliver(raised(seq) if seq % 10 == 0 else notice(seq))
        heard = await listener.count("/calls/", 300)
        await listener.until(lambda heard: b"stopped" in heard[-1].payload)
    assert seqs(heard) == list(range(300))
    assert sink.figures()["spooled"] == 0
    assert sink.figures()["skipped"] == 0


async def test_events_are_sent_in_order_whatever_their_kind(broker: Broker, tmp_path: Path) -> None:
    kinds = ["alert.raised" if seq % 7 == 3 else "notice" for seq in range(1000)]
    async with (
        listening(broker.port, "turnwatch/+/calls/+/+") as listener,
        publishing(settings(broker, tmp_path)) as sink,
    ):
        await figure(sink, "connected", 1)
        for seq, kind in enumerate(kinds):
            await sink.deliver(raised(seq) if kind == "alert.raised" else notice(seq))
        heard = await listener.count("/calls/", 1000)
    assert sorted(seqs(heard)) == list(range(1000))
    received = [line for line in broker.log.splitlines() if "Received PUBLISH" in line and "/calls/" in line]
    assert [line.split("'")[1].rsplit("/", 1)[1] for line in received] == kinds


async def test_a_name_that_is_no_topic_does_no_harm(broker: Broker, tmp_path: Path) -> None:
    names = ["a/b+#", "nul\0", "surrogate \ud800", "x" * 5000, "", "\x85\ufeff\uffff", "$SYS", "日本"]
    async with (
        listening(broker.port, "turnwatch/+/calls/+/+") as listener,
        publishing(settings(broker, tmp_path, site="a/b #", monitor="m/\0")) as sink,
    ):
        for name in names:
            await sink.deliver(raised(1, f"{name}/rule/0", name))
            await sink.deliver(notice(2, name))
        heard = await listener.count("/calls/", 2 * len(names))
    assert len({one.topic for one in heard}) == 2 * len(names)
    assert seqs(heard) == [1, 2] * len(names)


async def test_what_comes_last_is_not_forgotten_while_the_socket_is_full(broker: Broker, tmp_path: Path) -> None:
    long = msgspec.structs.replace(notice(1), message="x" * 20_000)  # type: ignore[call-overload]
    async with listening(broker.port, "turnwatch/+/calls/+/call.ended") as listener:
        for number in range(10):
            async with publishing(settings(broker, tmp_path)) as sink:
                await figure(sink, "connected", 1)
                for _ in range(number * 5):
                    await sink.deliver(long)
                await sink.deliver(ended(number))
            assert sink.figures()["spooled"] == 0
        await listener.count("/call.ended", 10)
