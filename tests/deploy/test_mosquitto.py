"""The broker as deployed: who gets in, and what each may do. Against a real mosquitto, by TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiomqtt
import pytest

from deploy.mosquitto import desk
from monitor.runtime.leadership import agents_topic, leader_topic
from monitor.sinks.mqtt import topics
from tests.deploy.broker import LIMIT_S, Broker, needed, running
from tests.deploy.places import DEPLOY

OWN = (
    topics.calls("local", "CA1", "turn.ended"),
    topics.alerts("local", "CA1/barge_in_spike/1"),
    topics.monitors("local", "box-7"),
)
"""One topic of each kind that a monitor writes to."""

OF_THE_FLEET = (leader_topic("local"), agents_topic("local", "agent/7"))
"""What `turnwatch fleet` writes besides, and monitors read."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(tmp_path_factory.mktemp("desk"), sites=("local", "berlin")) as one:
        yield one


async def arrived(broker: Broker, writer: str, topic: str, *, reader: str = "fleet") -> bool:
    """Whether `reader` gets what `writer` publishes there. A site's own message behind it shows that it would have."""
    marker = topics.calls("berlin", "CA9", "call.ended")
    async with broker.client(reader) as listening, broker.client(writer) as writing, broker.client("berlin") as site:
        await listening.subscribe("turnwatch/#", qos=1)
        await writing.publish(topic, b"{}", qos=1)
        await site.publish(marker, b"end", qos=1)
        async with asyncio.timeout(LIMIT_S):
            async for message in listening.messages:
                if message.topic.value == topic:
                    return True
                if message.payload == b"end":
                    return False
    raise AssertionError("neither came")


@pytest.mark.parametrize("topic", OWN)
async def test_a_monitor_writes_under_its_site_and_all_may_read_it(broker: Broker, topic: str) -> None:
    assert await arrived(broker, "local", topic, reader="fleet")
    assert await arrived(broker, "local", topic, reader="viewer")


@pytest.mark.parametrize(
    "topic",
    [
        topics.calls("berlin", "CA1", "turn.ended"),
        topics.alerts("berlin", "CA1/dead_air/1"),
        topics.monitors("berlin", "box-7"),
        *OF_THE_FLEET,
        "turnwatch/local/else",
        "turnwatch/local/calls/CA1/turn.ended/more",
    ],
)
async def test_a_monitor_writes_nowhere_else(broker: Broker, topic: str) -> None:
    assert not await arrived(broker, "local", topic)


@pytest.mark.parametrize("topic", [*OWN, *OF_THE_FLEET, topics.alerts("viewer", "x"), "other/topic"])
async def test_a_viewer_only_reads(broker: Broker, topic: str) -> None:
    assert not await arrived(broker, "viewer", topic)


@pytest.mark.parametrize("topic", [*OWN, *OF_THE_FLEET])
async def test_the_fleet_writes_what_it_finds_for_every_site(broker: Broker, topic: str) -> None:
    assert await arrived(broker, "fleet", topic, reader="viewer")


@pytest.mark.parametrize("topic", OF_THE_FLEET)
async def test_a_monitor_reads_what_the_fleet_of_its_site_says(broker: Broker, topic: str) -> None:
    async with broker.client("local") as monitor, broker.client("fleet") as fleet:
        await monitor.subscribe([(leader_topic("local"), 1), (agents_topic("local"), 1)])
        await fleet.publish(topic, b"{}", qos=1)
        async with asyncio.timeout(LIMIT_S):
            assert (await anext(aiter(monitor.messages))).topic.value == topic


async def test_a_monitor_does_not_listen_to_other_sites(broker: Broker) -> None:
    async with broker.client("berlin") as curious, broker.client("local") as site, broker.client("viewer") as viewer:
        await curious.subscribe("turnwatch/#", qos=1)
        await viewer.subscribe("turnwatch/#", qos=1)
        await site.publish(OWN[0], b"{}", qos=1)
        async with asyncio.timeout(LIMIT_S):
            assert (await anext(aiter(viewer.messages))).payload == b"{}"
        assert len(curious.messages) == 0


@pytest.mark.parametrize(("user", "password"), [(None, None), ("local", "guessed"), ("nobody", "guessed")])
async def test_nobody_comes_in_without_name_and_password(
    broker: Broker, user: str | None, password: str | None
) -> None:
    with pytest.raises(aiomqtt.MqttError, match="Not authorized"):
        async with broker.client(user, password=password):
            pass


async def test_another_authority_is_not_believed(broker: Broker, tmp_path: Path) -> None:
    desk.make(tmp_path / "other")
    with pytest.raises((aiomqtt.MqttError, ssl.SSLError), match="CERTIFICATE_VERIFY_FAILED"):
        async with broker.client("local", ca=tmp_path / "other" / "ca.crt"):
            pass


def test_there_is_no_way_around_tls(broker: Broker) -> None:
    connect = b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x05\x00\x00\x00"
    with socket.create_connection(("127.0.0.1", broker.port), LIMIT_S) as plain:
        plain.settimeout(LIMIT_S)
        plain.sendall(connect)
        try:
            answer = plain.recv(100)
        except ConnectionResetError:
            answer = b""
    assert answer[:1] in (b"", b"\x15"), "neither hung up nor a TLS alert"


def test_the_broker_complains_of_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "desk"):
        pass
    log = (tmp_path / "desk" / "broker.log").read_text()
    told = [line for line in log.splitlines() if ("Warning" in line or "Error" in line) and "as root" not in line]
    assert not told, log


def test_the_desk_keeps_what_is_there_and_adds_what_is_new(tmp_path: Path) -> None:
    desk.make(tmp_path, sites=("local",))
    before = {path.name: path.read_text() for path in (*tmp_path.glob("ca.*"), *(tmp_path / "users").iterdir())}
    desk.make(tmp_path, hosts=("broker.lan", "10.0.0.7"), sites=("oslo",))
    after = {path.name: path.read_text() for path in (*tmp_path.glob("ca.*"), *(tmp_path / "users").iterdir())}
    assert set(after) - set(before) == {"oslo"}
    assert before.items() <= after.items()
    assert tmp_path.stat().st_mode & 0o077 == 0
    shown = subprocess.run(
        [needed("openssl"), "x509", "-in", tmp_path / "broker.crt", "-noout", "-ext", "subjectAltName"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert all(name in shown for name in ("DNS:broker.lan", "IP Address:10.0.0.7", "DNS:localhost"))
    with pytest.raises(SystemExit, match="is no name for a site"):
        desk.make(tmp_path, sites=("a/b",))


def test_the_desk_says_where_everything_is() -> None:
    done = subprocess.run([DEPLOY / "mosquitto" / "desk.py", "--help"], capture_output=True, text=True, check=True)
    assert "--host" in done.stdout
