"""Several processes on a real broker: who raises alerts, who takes over, and what the monitors of the calls hear."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from connectors.inputs import FleetView
from monitor.config import load
from monitor.core import events
from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.runtime.broker_feed import BrokerFeed
from monitor.runtime.fleet_service import FleetService
from monitor.runtime.fleet_watch import FleetWatch
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.message import Message
from tests.brokers import Broker, running
from tests.runtime.fleet.spiky_calls import whole

PATIENCE_S = 20.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with running(tmp_path / "broker") as one:
        yield one


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():
            await asyncio.sleep(0.02)


def config(broker: Broker, name: str, *more: str) -> Any:
    return load(
        assignments=[
            f"mqtt.url={broker.url}",
            f"mqtt.monitor={name}",
            "mqtt.retry_max_s=0.2",
            "fleet.step_s=0.1",
            "fleet.needed_turns=30",
            *more,
        ]
    )


class Process:
    """What `turnwatch fleet` runs, in this process."""

    def __init__(self, broker: Broker, name: str, *more: str) -> None:
        self.told: list[Event] = []
        settings = config(broker, name, *more)
        self.watching = FleetWatch(settings, settings.sink("mqtt"), self._deliver)
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self.watching.run(self._stop.wait))

    async def _deliver(self, event: Event) -> None:
        self.told.append(event)

    async def end(self) -> None:
        self._stop.set()
        await self._task

    def raised(self) -> list[Any]:
        return [event for event in self.told if isinstance(event, events.AlertRaised)]

    def of_calls(self) -> list[Event]:
        return [event for event in self.told if not event.call.startswith("fleet")]

    def calls(self) -> set[str]:
        return {event.call for event in self.told if isinstance(event, events.CallEnded)}


@asynccontextmanager
async def publisher(broker: Broker) -> AsyncIterator[Callable[[list[Event]], None]]:
    """Publishes events as a monitor does."""
    settings = config(broker, "source").sink("mqtt")
    feed = BrokerFeed(settings, "source", [])
    feed.start()
    await until(lambda: feed.connected)

    def publish(told: list[Event]) -> None:
        for event in told:
            topic = f"{topics.calls('local', event.call, event.type)}"
            message = Message(topic=topic, payload=encode(event), user=(("monitor", "source"),))
            feed._call_there(lambda message=message: feed._out.update({message.payload: message}))
        feed._call_there(feed._to_send.set)

    try:
        yield publish
    finally:
        await feed.close()


async def test_one_of_two_raises_alerts_and_the_other_takes_over(broker: Broker) -> None:
    first = Process(broker, "first")
    await until(lambda: first.watching.leading)
    second = Process(broker, "second")
    async with publisher(broker) as publish:
        publish([event for number in range(20) for event in whole(f"usual-{number}", barged=number % 2)])
        await until(lambda: len(second.calls()) == 20 and len(first.calls()) == 20)
        await until(lambda: first.watching.fleet.standings[0].learnt_turns >= 60)
        await until(lambda: second.watching.fleet.standings[0].learnt_turns >= 60)
        publish([event for number in range(8) for event in whole(f"spike-{number}", barged=6)])
        await until(first.raised)
        assert second.raised() == []
        await first.end()
        await until(lambda: second.watching.leading)
    await second.end()
    assert isinstance(first.told[-1], events.CallEnded)
    assert not any(event.call.startswith("fleet:") for event in first.told if isinstance(event, events.TurnStarted))


async def test_a_leader_that_dies_is_missed(broker: Broker) -> None:
    first = Process(broker, "first")
    await until(lambda: first.watching.leading)
    second = Process(broker, "second")
    await until(lambda: second.watching._claim.leader is not None)
    assert not second.watching.leading
    feed = first.watching._feed
    assert feed._task is not None
    feed._call_there(feed._task.cancel)  # the connection breaks without a word
    await until(lambda: second.watching.leading)
    await second.end()
    await first.end()


async def test_the_alert_of_a_leader_that_dies_is_cleared_by_the_next_one(broker: Broker) -> None:
    slow = ("fleet.step_s=0.5", "fleet.long_steps=5", "fleet.cooldown_s=600")
    first = Process(broker, "first", *slow)
    await until(lambda: first.watching.leading)
    second = Process(broker, "second", *slow)
    alerts = BrokerFeed(config(broker, "listener").sink("mqtt"), "listener", [("turnwatch/local/alerts/+", 1)])
    alerts.start()
    async with publisher(broker) as publish:
        publish([event for number in range(20) for event in whole(f"usual-{number}", barged=number % 2)])
        fleets = [one.watching.fleet for one in (first, second)]
        await until(lambda: all(fleet.learnt_turns.get("support", 0) >= 60 for fleet in fleets))
        publish([event for number in range(8) for event in whole(f"spike-{number}", barged=6)])
        await until(first.raised)
        await until(lambda: [alert for _, alert in second.watching._led.left if alert])
        feed = first.watching._feed
        assert feed._task is not None
        feed._call_there(feed._task.cancel)  # the connection breaks without a word
        await until(lambda: second.watching.leading)
        await until(lambda: any(isinstance(event, events.AlertCleared) for event in second.told))
    (cleared,) = [event for event in second.told if isinstance(event, events.AlertCleared)]
    last = first.raised()[-1]
    assert (cleared.call, cleared.alert.id) == (last.call, last.alert.id)
    assert cleared.seq > last.seq
    retained: list[Any] = []
    async with asyncio.timeout(PATIENCE_S):
        while not retained or retained[-1].payload:
            retained += [one for one in await alerts.take(0.2) if "/alerts/" in one.topic]
    assert {one.topic for one in retained} == {topics.alerts("local", last.alert.id)}
    assert len(retained) == 2  # open, and over
    await alerts.close()
    await second.end()
    await first.end()
    learning = [event.kind for event in first.told if isinstance(event, events.Notice)]
    assert learning == ["too_little_data", "enough_data"]


async def test_a_broker_that_starts_anew_has_one_leader_again(broker: Broker) -> None:
    both = [Process(broker, name) for name in ("first", "second")]
    await until(lambda: sum(one.watching.leading for one in both) == 1)
    broker.kill()
    await until(lambda: not any(one.watching._feed.connected for one in both))
    broker.start()
    await until(lambda: all(one.watching._feed.connected for one in both))
    await until(lambda: sum(one.watching.leading for one in both) == 1)
    for one in both:
        await one.end()


async def test_a_group_shares_what_it_shows_and_detects_from_everything(broker: Broker) -> None:
    both = [Process(broker, name, "fleet.group=desk") for name in ("first", "second")]
    await until(lambda: sum(one.watching.leading for one in both) == 1)
    await until(lambda: all(feed.connected for one in both for feed in one.watching._feeds))
    calls = [whole(f"call-{number}") for number in range(10)]
    sent = sum(len(call) for call in calls)
    async with publisher(broker) as publish:
        publish([event for call in calls for event in call])
        await until(lambda: sum(len(one.of_calls()) for one in both) >= sent)
        await until(lambda: [one.watching.fleet.standings[0].turns for one in both] == [60, 60])
    shown = [(event.call, event.seq) for one in both for event in one.of_calls()]
    assert len(shown) == len(set(shown)) == sent
    assert all(one.of_calls() for one in both)
    for one in both:
        await one.end()


async def test_a_monitor_hears_of_the_leaders_alerts_and_keeps_its_own_to_itself(broker: Broker) -> None:
    told: list[Event] = []
    heard: list[tuple[str | None, FleetView]] = []

    async def deliver(event: Event) -> None:
        told.append(event)

    settings = config(broker, "monitor")
    service = FleetService(settings.fleet, deliver, None, settings.sink("mqtt"))
    service.start(lambda agent, view: heard.append((agent, view)))
    leader = Process(broker, "leader")
    await until(lambda: leader.watching.leading)
    assert service.view("support") is None
    async with publisher(broker) as publish:
        publish([event for number in range(20) for event in whole(f"usual-{number}", barged=number % 2)])
        await until(lambda: (view := service.view("support")) and view.barge_in_baseline is not None)
        publish([event for number in range(8) for event in whole(f"spike-{number}", barged=6)])
        await until(lambda: (view := service.view("support")) and view.inhibited == ("barge_in_spike",))
    assert heard[-1][0] == "support"
    assert heard[-1][1].inhibited == ("barge_in_spike",)
    await leader.end()
    await until(lambda: not (view := service.view("support")) or not view.inhibited)
    await service.stop()
    assert told == []


async def test_two_of_one_name_do_not_end_each_other_for_ever(broker: Broker) -> None:
    settings = config(broker, "same").sink("mqtt")
    both = [BrokerFeed(settings, "same-led", [("turnwatch/x", 1)]) for _ in range(2)]
    for feed in both:
        feed.start()
    await until(lambda: all(feed.connected for feed in both) and len({feed._client_id for feed in both}) == 2)
    for feed in both:
        await feed.close()
