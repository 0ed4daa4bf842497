"""The fleet of a program that has calls of its own: alerts across them, or, where a `turnwatch fleet` leads, its word.

together = fleet_service(config, deliver)
switchboard = Switchboard(..., together.deliver, view=together.view)
together.start(switchboard.tell)
...
await together.stop()
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from connectors.inputs import FleetView
from monitor.config import Config
from monitor.core.events import Event
from monitor.core.fleet.alerts import UNNAMED
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Standing
from monitor.runtime.fleet import BaselineStore, Fleet, Known
from monitor.runtime.fleet_store import store_for
from monitor.runtime.leadership import LedView, agents_topic, leader_topic
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.settings import MqttSettings

log = logging.getLogger("turnwatch.fleet")

TICK_S = 0.25

Tell = Callable[[str | None, FleetView], None]
"""Tells the calls of an agent that go on."""


class FleetService:
    """`deliver` takes the events of all calls and the alerts across them. `broker`: where a leader may be; None for
    none."""

    def __init__(
        self,
        settings: FleetSettings,
        deliver: Callable[[Event], Awaitable[None]],
        store: BaselineStore | None = None,
        broker: MqttSettings | None = None,
    ) -> None:
        self._set = settings
        self._onward = deliver
        self._fleet = Fleet(settings, deliver, store) if settings.enabled else None
        self._broker = broker
        self._tasks: list[asyncio.Task[None]] = []
        self._failed = False

    async def deliver(self, event: Event) -> None:
        """An event of a call: to the sinks, and to the fleet."""
        await self._onward(event)
        if self._fleet is None:
            return
        try:
            await self._fleet.take(event)
        except Exception:  # no call is to end for what lies across calls
            if not self._failed:
                log.exception("looking across calls failed: please report it")
            self._failed = True

    def view(self, agent: str | None) -> FleetView | None:
        """What a call of this agent begins with."""
        if self._fleet is None:
            return None
        view = self._fleet.view(agent)
        return view if view.barge_in_baseline is not None or view.inhibited else None

    @property
    def standings(self) -> list[dict[str, Any]]:
        """How each agent stands, for operators."""
        if self._fleet is None:
            return []
        led = self._fleet.led
        told = {standing.agent: standing for standing in self._fleet.standings}
        for known in (led or {}).values():
            if known.raised and known.agent not in told:
                told[known.agent] = Standing(
                    known.agent, "raised", None, 0, 0, 0, 0, 0.0, known.baseline or 0, known.turns
                )
        return [self._told(standing, self._fleet.known(standing.agent), led is not None) for standing in told.values()]

    @staticmethod
    def _told(standing: Standing, known: Known, led: bool) -> dict[str, Any]:
        """Where somebody leads (`led`), an alert is open if that one says so, however much was heard here."""
        if led and known.raised:
            standing = msgspec.structs.replace(standing, state="raised", missing=None)
        elif led and standing.state == "raised":
            standing = msgspec.structs.replace(standing, state="ordinary")
        own = {"raised": known.raised, "severity": known.severity, "led": led}
        return {**msgspec.structs.asdict(standing), **own}

    def start(self, tell: Tell) -> None:
        """Begin, from within the event loop. `tell` is called whenever something is known anew."""
        fleet = self._fleet
        if fleet is None:
            return

        told: OrderedDict[str, FleetView] = OrderedDict()

        def changed(known: Known) -> None:
            view = fleet.view(known.agent)
            if told.get(known.agent) == view:
                return  # what else has changed is nothing for calls
            told[known.agent] = view
            if len(told) > self._set.max_agents:
                told.popitem(last=False)
            tell(None if known.agent == UNNAMED else known.agent, view)

        fleet.when_changed = changed
        self._tasks.append(asyncio.create_task(self._tick(fleet), name="fleet"))
        if self._broker is not None:
            self._tasks.append(asyncio.create_task(self._follow(fleet, self._broker), name="fleet leader"))

    async def stop(self) -> None:
        """Clear what is open, keep what was learnt."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._fleet is not None:
            await self._fleet.close()

    async def _tick(self, fleet: Fleet) -> None:
        while True:
            await asyncio.sleep(min(TICK_S, self._set.step_s / 2))
            try:
                await fleet.tick()
            except Exception:
                if not self._failed:
                    log.exception("looking across calls failed: please report it")
                self._failed = True

    async def _follow(self, fleet: Fleet, broker: MqttSettings) -> None:
        """Where somebody leads, its word counts. While the broker is away, nobody does."""
        from monitor.runtime.broker_feed import DOWN, UP, BrokerFeed

        own_id = topics.client_id(broker.site, f"{broker.monitor_name}-led")
        feed = BrokerFeed(broker, own_id, [(leader_topic(broker.site), 1), (agents_topic(broker.site), 1)])
        feed.start()
        led = LedView(self._set.max_agents)
        try:
            while True:
                changed = False
                for arrived in await feed.take(60.0):
                    if arrived in (UP, DOWN):
                        led.leader, changed = None, True  # what is retained comes anew
                    else:
                        changed = led.heard(arrived.topic, arrived.payload) or changed
                if changed:
                    await fleet.lead(led.known)
        finally:
            await feed.close(within_s=0.5)


def fleet_service(config: Config, deliver: Callable[[Event], Awaitable[None]]) -> FleetService:
    """As the settings ask for it. Raises ConfigError."""
    broker = config.sink("mqtt") if "mqtt" in config.sinks else None
    return FleetService(
        config.fleet,
        deliver,
        store_for(config) if config.fleet.enabled else None,
        broker if broker is not None and broker.url is not None else None,
    )
