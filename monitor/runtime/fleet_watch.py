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

from monitor.config import Config
from monitor.core.events import Event
from monitor.core.fleet.alerts import SOURCE
from monitor.core.fleet.call_counts import TYPES
from monitor.runtime.broker_feed import DOWN, UP, Arrived, BrokerFeed
from monitor.runtime.fleet import Fleet, Known
from monitor.runtime.fleet_desk import FleetDesk
from monitor.runtime.fleet_store import store_for
from monitor.runtime.leadership import GRACE_S, Claim, leader_topic
from monitor.sinks.mqtt import topics
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
        whole = [(topic, 1) for topic in (calls, monitors, leader_topic(site))]
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
            self._fleet.when_changed = lambda known: None
            await self._fleet.close()
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

    async def _lead(self, feed: BrokerFeed, arrived: Arrived | None) -> None:
        """Somebody has claimed; nobody leads any more; or (None) the broker is away, and nobody hears a claim."""
        before = self._claim.leading
        self._claim.heard(b"" if arrived is None else arrived.payload)
        if arrived is not None and self._claim.leader is None:
            feed.publish(self._claim.claim)
        # Without a broker nothing is heard but what was heard before: whoever led goes on, so that nothing flickers.
        silent = not self._claim.leading if arrived is not None else not before
        await self._fleet.lead({} if silent else None)
        if self._claim.leading and not before:
            for standing in self._fleet.standings:
                self._tell(self._fleet.known(standing.agent))

    def _tell(self, known: Known) -> None:
        if self._claim.leading:
            self._feed.publish(self._claim.state(known))
