"""The other side of the broker: a subscriber of its own, and events to publish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiomqtt
import msgspec

from monitor.core import events
from monitor.core.events import Alert, Event
from monitor.sinks.mqtt.settings import MqttSettings
from monitor.sinks.mqtt.sink import MqttSink
from tests.brokers import Broker

WITHIN_S = 20


class Heard(msgspec.Struct, frozen=True):
    """A message as a subscriber gets it."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    user: dict[str, str]
    content_type: str | None = None
    expiry_s: int | None = None


class Listener:
    """What has come so far."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self._more = asyncio.Event()

    async def until(self, met: Callable[[list[Heard]], object]) -> list[Heard]:
        """Wait until what has been heard is as wanted."""
        async with asyncio.timeout(WITHIN_S):
            while not met(self.heard):
                self._more.clear()
                await self._more.wait()
        return self.heard

    async def count(self, topic: str, number: int) -> list[Heard]:
        """Wait for so many messages whose topic holds `topic`. -> these."""
        await self.until(lambda _: len(self.of(topic)) >= number)
        return self.of(topic)

    def of(self, topic: str) -> list[Heard]:
        return [one for one in self.heard if topic in one.topic]

    def take(self, message: aiomqtt.Message) -> None:
        properties = message.properties
        self.heard.append(
            Heard(
                str(message.topic),
                bytes(message.payload),  # type: ignore[arg-type]
                message.qos,
                bool(message.retain),
                dict(getattr(properties, "UserProperty", [])),
                getattr(properties, "ContentType", None),
                getattr(properties, "MessageExpiryInterval", None),
            )
        )
        self._more.set()


@asynccontextmanager
async def listening(port: int, topic: str = "turnwatch/#", client_id: str | None = None) -> AsyncIterator[Listener]:
    """A subscriber by QoS 1, with a session that lasts where it has a `client_id`."""
    listener = Listener()
    properties = aiomqtt.client.Properties(aiomqtt.client.mqtt.PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 600 if client_id else 0
    async with aiomqtt.Client(
        "127.0.0.1",
        port,
        protocol=aiomqtt.ProtocolVersion.V5,
        identifier=client_id,
        clean_start=client_id is None,
        properties=properties,
    ) as client:
        await client.subscribe(topic, qos=1)

        async def take() -> None:
            async for message in client.messages:
                listener.take(message)

        taking = asyncio.create_task(take())
        try:
            yield listener
        finally:
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)


def settings(broker: Broker, folder: Path, **more: object) -> MqttSettings:
    """Settings that hurry."""
    given: dict[str, object] = {"monitor": "m1", "keepalive_s": 1, "answer_within_s": 1.0, "retry_max_s": 0.2}
    return MqttSettings(**{"url": broker.url, "spool_dir": str(folder), **given, **more})  # type: ignore[arg-type]


@asynccontextmanager
async def publishing(made: MqttSettings) -> AsyncIterator[MqttSink]:
    """The sink, open."""
    sink = MqttSink(made)
    await sink.open()
    try:
        yield sink
    finally:
        await sink.close()


async def figure(sink: MqttSink, name: str, value: float) -> None:
    """Wait until the sink's figure is so."""
    async with asyncio.timeout(WITHIN_S):
        while sink.figures()[name] != value:
            await asyncio.sleep(0.01)


def raised(seq: int, alert_id: str = "call/rule/0", call: str = "call") -> Event:
    alert = Alert(
        id=alert_id,
        rule="rule",
        severity="warning",
        scope="call",
        message="three barge-ins in a minute",
        value=3.0,
        threshold=3.0,
        because=(1, 3, 5),
        since_ms=seq * 100,
    )
    return events.AlertRaised(call=call, seq=seq, at_ms=seq * 100, known_at_ms=seq * 100, alert=alert)


def cleared(seq: int, alert_id: str = "call/rule/0", call: str = "call") -> Event:
    alert = raised(seq, alert_id, call).alert  # type: ignore[attr-defined]
    over = msgspec.structs.replace(alert, until_ms=seq * 100)
    return events.AlertCleared(call=call, seq=seq, at_ms=seq * 100, known_at_ms=seq * 100, alert=over)


def started(seq: int = 0, call: str = "call") -> Event:
    return events.CallStarted(
        call=call, seq=seq, at_ms=0, known_at_ms=0, source="test", started_at=None, agent_id="a", labels={}, tracks={}
    )


def ended(seq: int, call: str = "call") -> Event:
    return events.CallEnded(call=call, seq=seq, at_ms=seq, known_at_ms=seq, cause="hangup", summary={"duration": 1.0})


def notice(seq: int, call: str = "call") -> Event:
    return events.Notice(
        call=call, seq=seq, at_ms=seq, known_at_ms=seq, kind="gap", track=None, count=1, message=str(seq)
    )


def seqs(heard: list[Heard]) -> list[int]:
    """The seq of each event, in the order of arrival."""
    return [msgspec.json.decode(one.payload)["seq"] for one in heard]
