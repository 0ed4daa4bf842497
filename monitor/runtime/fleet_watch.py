"""`turnwatch fleet`: one broker's calls in, everything that follows out.

    watching = FleetWatch(config, deliver)
    await watching.run(stop)

Two subscriptions where `fleet.group` is set: a shared one, of which this process gets its part to show and keep, and
one of its own for what the detection needs, whole. Otherwise one for both. See `leadership.py` for who raises alerts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec

from monitor.config import Config
from monitor.core.encode import encode
from monitor.core.events import AlertRaised, Event
from monitor.core.fleet.alerts import SOURCE
from monitor.core.fleet.call_counts import TYPES
from monitor.runtime.broker_feed import DOWN, UP, Arrived, BrokerFeed
from monitor.runtime.fleet import Fleet, Known
from monitor.runtime.fleet_desk import FleetDesk
from monitor.runtime.fleet_store import store_for
from monitor.runtime.leadership import GRACE_S, Claim, LedView, agents_topic, leader_topic
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.message import Message
from monitor.sinks.mqtt.settings import MqttSettings

Deliver = Callable[[Event], Awaitable[None]]


class FleetWatch:
    """`deliver` takes everything: the events of all calls, and what the fleet says. Raises ConfigError where the
    history cannot be had."""

    def __init__(self, config: Config, broker: MqttSettings, deliver: Deliver) -> None:
        settings, site = config.fleet, broker.site
        self._set = settings
        self._fleet = Fleet(settings, deliver, store_for(config))
        self._claim = Claim(site, f"{broker.monitor_name}@{self._fleet.start}")
        place = f"{topics.ROOT}/{topics.level(site)}"
        calls, monitors = f"{place}/calls/+/+", f"{place}/monitors/+"
        whole = [(topic, 1) for topic in (calls, monitors, leader_topic(site), agents_topic(site))]
        self._site = site
        self._led = LedView(settings.max_agents)
        self._adopted: dict[str, AlertRaised] = {}
        self._learning: dict[str, bool] = {}
        own_id = topics.client_id(site, f"{broker.monitor_name}-feed")
        if settings.group is None:
            self._feed = BrokerFeed(broker, own_id, whole, will=self._claim.will)
            self._desks = [FleetDesk(self._fleet, deliver, max_calls=settings.max_calls)]
            self._feeds = [self._feed]
            return
        needed = [(calls.removesuffix("+") + kind, 1) for kind in TYPES] + whole[1:]
        shared = [(f"$share/{settings.group}/{calls}", 1), whole[1]]
        self._feed = BrokerFeed(broker, own_id, needed, will=self._claim.will)
        self._feeds = [self._feed, BrokerFeed(broker, f"{own_id}-shared", shared)]
        self._desks = [
            FleetDesk(self._fleet, deliver, max_calls=settings.max_calls, shows=False),
            FleetDesk(self._fleet, deliver, max_calls=settings.max_calls, detects=False, whole=False),
        ]

    @property
    def leading(self) -> bool:
        """This process raises the alerts."""
        return self._claim.leading

    @property
    def fleet(self) -> Fleet:
        """What is known across calls."""
        return self._fleet

    def own(self, event: Event) -> bool:
        """Is this one to be published? It is, if it is about the fleet and ours."""
        return event.call.startswith(SOURCE) and self._fleet.owns(event.call)

    def text(self) -> str:
        """How things stand, for a status line."""
        link = "" if self._feed.connected else "no broker · "
        raised = sum(standing.state == "raised" for standing in self._fleet.standings)
        role = "" if self._claim.leading else " · another process raises alerts"
        return f"{link}{self._desks[0].monitors} monitors · {self._fleet.calls} calls · {raised} fleet alerts{role}"

    async def run(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Until `stop` returns."""
        await self._fleet.lead({})  # silent until it is known who leads
        for feed in self._feeds:
            feed.start()
        self._fleet.when_changed = self._tell
        pumps = [
            asyncio.create_task(self._pump(feed, desk)) for feed, desk in zip(self._feeds, self._desks, strict=True)
        ]
        stopping = asyncio.ensure_future(stop())
        try:
            await asyncio.wait([stopping, *pumps], return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                if pump.done():
                    pump.result()
        finally:
            for task in (stopping, *pumps):
                task.cancel()
            await asyncio.gather(stopping, *pumps, return_exceptions=True)
            await self._fleet.close()
            self._fleet.when_changed = lambda known: None
            for agent in self._fleet.learnt_turns if self._claim.leading else ():
                self._tell(msgspec.structs.replace(self._fleet.known(agent), raised=False, severity=None))
            for desk in self._desks:
                await desk.close()
            leaving = self._claim.will if self._claim.leading else None
            for feed in self._feeds:
                await feed.close(leaving if feed is self._feed else None)

    async def _pump(self, feed: BrokerFeed, desk: FleetDesk) -> None:
        tick_s = min(0.25, self._set.step_s / 2)
        claim_at: float | None = None
        next_tick = time.monotonic()
        while True:
            for number, arrived in enumerate(await feed.take(tick_s)):
                if number % 256 == 255:
                    await asyncio.sleep(0)
                if arrived is UP:
                    claim_at = time.monotonic() + GRACE_S if feed is self._feed else None
                elif arrived is DOWN:
                    await self._lead(feed, None)
                elif arrived.topic.endswith("/fleet/leader"):
                    claim_at = None
                    await self._lead(feed, arrived)
                elif "/fleet/agents/" in arrived.topic:
                    self._led.heard(arrived.topic, arrived.payload)
                else:
                    await desk.take(*arrived)
            if claim_at is not None and time.monotonic() >= claim_at:
                claim_at = None
                if self._claim.leader is None:
                    feed.publish(self._claim.claim)
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + tick_s
                desk.counts["lost"] = feed.dropped
                await desk.tick()
                await self._fleet.tick()
                await self._tell_learning(desk)

    async def _lead(self, feed: BrokerFeed, arrived: Arrived | None) -> None:
        """Somebody has claimed; nobody leads any more; or (None) the broker is away, and nobody hears a claim."""
        before = self._claim.leading
        self._claim.heard(b"" if arrived is None else arrived.payload)
        if arrived is not None and self._claim.leader is None:
            feed.publish(self._claim.claim)
        # Without a broker nothing is heard but what was heard before: whoever led goes on, so that nothing flickers.
        silent = not self._claim.leading if arrived is not None else not before
        if silent:
            await self._fleet.hand_over()
        else:
            await self._take_over()

    async def _take_over(self) -> None:
        if self._fleet.led is None:
            return
        left = self._led.left
        await self._fleet.take_over(left)
        for agent in self._fleet.learnt_turns:
            if alert := self._fleet.told(agent):
                self._adopted[agent] = alert
            self._tell(self._fleet.known(agent))

    async def _tell_learning(self, desk: FleetDesk) -> None:
        """Once for each agent: that there is too little to raise an alert on it, and that there is enough."""
        if not self._claim.leading or desk is not self._desks[-1]:
            return
        before = self._learning
        turns_of = self._fleet.learnt_turns
        self._learning = {agent: turns < self._set.needed_turns for agent, turns in turns_of.items()}
        for agent, few in self._learning.items():
            if before.get(agent, False) == few:
                continue
            if few:
                rests = f"what is usual for {agent} rests on {turns_of[agent]} agent turns of finished calls"
                await desk.notice("too_little_data", f"{rests}, {self._set.needed_turns} are needed for an alert on it")
            else:
                await desk.notice("enough_data", f"what is usual for {agent} is known now: alerts on it can be raised")

    def _tell(self, known: Known) -> None:
        if not self._claim.leading:
            return
        alert = self._fleet.told(known.agent)
        self._feed.publish(self._claim.state(known, alert))
        self._retain(known.agent, alert)

    def _retain(self, agent: str, alert: AlertRaised | None) -> None:
        """Whether an alert of another process is open is told under its topic by us now: the MQTT sink does it only for
        what was raised through it."""
        adopted = self._adopted.get(agent)
        if adopted is None:
            return
        topic = topics.alerts(self._site, adopted.alert.id)
        if alert is None or alert.alert.id != adopted.alert.id:
            del self._adopted[agent]
            self._feed.publish(Message(topic=topic, qos=1, retain=True, user=(("state", "cleared"),)))
        else:
            self._feed.publish(
                Message(topic=topic, payload=encode(alert), qos=1, retain=True, user=(("state", "open"),))
            )
