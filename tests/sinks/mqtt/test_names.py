"""Two monitors of one name at one broker: the newcomer gives way, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from monitor.sinks.mqtt import name_taken
from monitor.sinks.mqtt.message import Message
from monitor.sinks.mqtt.settings import MqttSettings
from tests.brokers import Broker, free_port
from tests.sinks.mqtt.listening import figure, listening, notice, publishing, raised, settings
from tests.sinks.mqtt.test_killed_monitor import monitor, taken
from tests.sinks.mqtt.test_refusals import told


async def test_the_newcomer_gives_way_and_leaves_nothing_behind(
    broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They have folders of their own, as on two machines."""
    async with publishing(settings(broker, tmp_path / "one")) as one, listening(broker.port) as listener:
        await figure(one, "connected", 1)
        await listener.count("/monitors/m1", 1)
        async with publishing(settings(broker, tmp_path / "two")) as two:
            await figure(two, "connected", 1)
            await one.deliver(raised(1, call="one"))
            await two.deliver(raised(2, call="two"))
            heard = await listener.count("/calls/", 2)
            by = {one.topic.split("/")[3]: one.user["monitor"] for one in heard}
            assert by["one"] == "m1"
            assert by["two"].startswith("m1-")
            await one.deliver(notice(3, "one"))
            await two.deliver(notice(4, "two"))
            await listener.count("/notice", 2)
            assert one.figures()["delivered"] == two.figures()["delivered"] == 1
        heard = await listener.until(lambda heard: heard[-1].topic.endswith(by["two"]) and not heard[-1].payload)
        assert [msgspec.json.decode(one.payload)["state"] for one in listener.of("/monitors/m1-") if one.payload] == [
            "online",
            "offline",
        ]
        states = [msgspec.json.decode(said.payload)["state"] for said in heard if said.topic.endswith("/monitors/m1")]
        assert set(states) == {"online"}  # nobody has pushed it out
        async with listening(broker.port, "turnwatch/+/monitors/+") as late:
            (retained,) = await late.count("/monitors/m1", 1)
            assert msgspec.json.decode(retained.payload)["state"] == "online"
    assert caplog.text.count("two monitors with one name") == 1
    assert "another monitor lives at" in caplog.text
    assert "mqtt.monitor" in caplog.text


async def test_a_killed_monitor_knows_its_former_life(
    keeping_broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker was down when it was killed, and so calls it online still."""
    async with listening(keeping_broker.port) as listener, monitor(keeping_broker, tmp_path, 0, 4) as process:
        await taken(process, 3)
        await listener.count("/alerts/", 2)
        await listener.count("/monitors/m1", 1)
        keeping_broker.stop()
    keeping_broker.start()
    async with publishing(settings(keeping_broker, tmp_path)) as sink, listening(keeping_broker.port) as listener:
        await figure(sink, "connected", 1)
        heard = await listener.until(
            lambda _: any(b"lost_alerts" in one.payload for one in listener.of("/monitors/m1"))
        )
        online = msgspec.json.decode([one for one in heard if b"lost_alerts" in one.payload][-1].payload)
        assert online["state"] == "online"
        assert sorted(online["lost_alerts"]) == ["call%2Frule%2F1", "call%2Frule%2F3"]
    assert "two monitors with one name" not in caplog.text


async def test_who_is_told_by_the_broker_that_another_came_takes_another_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Mosquitto 2.0.11 does not tell; this one does, to whoever came first; and it does not let anybody look."""
    port, came = free_port(), []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = await reader.read(1000)
        if b"-look-" in hello:
            writer.close()
            return
        came.append(hello)
        writer.write(bytes.fromhex("2003000000"))  # CONNACK
        if len(came) == 1:
            writer.write(bytes.fromhex("e0028e00"))  # DISCONNECT: session taken over
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port):
        made = MqttSettings(url=f"mqtt://127.0.0.1:{port}", spool_dir=str(tmp_path), monitor="m1")
        async with publishing(made) as sink:
            await told(caplog, "turnwatch-local-m1, which another client took over")
            await figure(sink, "connected", 1)
    assert b"turnwatch-local-m1-" not in came[0]
    assert b"turnwatch-local-m1-" in came[1]


@pytest.mark.parametrize(
    ("payload", "expiry_s", "lives"),
    [
        (b'{"state":"online","instance":"other","holds_s":3600}', 3600, True),
        (b'{"state":"online","instance":"other","holds_s":3600}', 1300, False),  # it has not renewed its word
        (b'{"state":"online","instance":"own","holds_s":3600}', 3600, False),
        (b'{"state":"online"}', None, True),  # of an older turnwatch
        (b'{"state":"offline","instance":"other"}', None, False),
        (b"\xff", None, False),
        (b"[]", None, False),
        (b"", None, False),
    ],
)
async def test_who_lives_is_read_from_what_is_retained(
    broker: Broker, tmp_path: Path, payload: bytes, expiry_s: int | None, lives: bool
) -> None:
    from monitor.sinks.mqtt.connection import connect

    made, topic = settings(broker, tmp_path), "turnwatch/local/monitors/m1"
    async with connect(made, "other") as other:
        receipt = other.send(Message(topic=topic, payload=payload, qos=1, retain=True, expiry_s=expiry_s))
        assert receipt is not None
        await receipt
    assert await name_taken.taken(made, "m1", "own") == lives


def test_an_instance_stays_the_same(tmp_path: Path) -> None:
    first = name_taken.instance_of(tmp_path / "a.id")
    assert name_taken.instance_of(tmp_path / "a.id") == first
    assert name_taken.instance_of(tmp_path / "b.id") != first
    assert (tmp_path / "a.id").stat().st_mode & 0o777 == 0o600
    assert name_taken.instance_of(tmp_path / "no" / "folder.id")
