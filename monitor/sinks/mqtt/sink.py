"""Every event to an MQTT 5 broker, under `turnwatch/<site>/calls/<call>/<type>`, as its canonical line.

- call.started, call.ended and the alerts go by QoS 1 through a spool on disk: they survive a broker that is away, and a
  monitor that is killed. What is sent twice has the same user property `event-id`. If the spool overflows, its oldest
  are dropped, counted and told.
- All others go by QoS 0 while the broker is there; what is not sent is counted as `skipped`.
- The events of a call are sent in order, also over a broken connection. (A broker may still hand one of QoS 0 to a slow
  subscriber before earlier ones of QoS 1; mosquitto does if 20 of these wait. `seq` tells; `mqtt.others_qos` 1 helps.)
- Which alerts are open is retained under topics of their own: see `open_alerts.py`.
- `turnwatch/<site>/monitors/<monitor>` retains whether the monitor is online; its last will says offline.

A broker that is away is tried again after 0.5 s, then after twice as long each time up to `mqtt.retry_max_s`, with
jitter; one that refuses after `mqtt.refused_retry_s`. Each cause is told once. A monitor whose name another one has
goes on under a made-up one, and says so: see `name_taken.py`. So does one whose client id is taken over by another:
else each would end the other's connection for ever. (MQTT 5 has a reason for it that not every broker tells: a
connection that breaks without a word three times in a row, soon after it stood, counts as taken over. One that has held
its name for ten seconds comes again twice first, since a newcomer gives way.)
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar

from monitor.core.events import Event
from monitor.sinks import Sink, SinkError
from monitor.sinks.mqtt import connection, name_taken, topics
from monitor.sinks.mqtt.monitor_state import MonitorState
from monitor.sinks.mqtt.open_alerts import OpenAlerts
from monitor.sinks.mqtt.outbox import KEPT, Outbox
from monitor.sinks.mqtt.reasons import LinkError
from monitor.sinks.mqtt.sending import Sending, Tally
from monitor.sinks.mqtt.settings import MqttSettings
from monitor.sinks.spool import Spool, spool_at

log = logging.getLogger("turnwatch.mqtt")

_FIRST_PAUSE_S = 0.5
_STEADY_S = 5.0
_SHORT_LIFE_S = 10.0
_SHORT_LIVES = 3
_PUSHED_OUT_MOST = 2
_CLOSE_WITHIN_S = 2.5
_ROOM_WITHIN_S = 1.0


def make(settings: MqttSettings) -> Iterable[tuple[str, Sink]]:
    """The sink, if a URL is set. Raises SinkError."""
    return [("mqtt", MqttSink(settings))] if settings.url is not None else []


class MqttSink:
    """Publishes events. Raises SinkError where the settings cannot be, or another program uses the spool."""

    keeps: ClassVar[bool] = True

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._address = connection.check(settings)
        site, monitor = settings.site, settings.monitor_name
        path = spool_at(settings.spool_dir, "mqtt", f"{self._address.host}-{self._address.port}-{site}-{monitor}")
        most = settings.spool_max_items
        self._spool = Spool(path, max_items=most, max_bytes=settings.spool_max_mb << 20)
        try:
            self._record = Spool(path.with_suffix(".open"), max_items=most)
        except SinkError:
            self._spool.close()
            raise
        self._outbox = Outbox(self._spool, site, monitor, settings.others_qos)
        self._alerts = OpenAlerts(self._record, site, monitor, settings.state_expiry_s)
        self._instance = name_taken.instance_of(path.with_suffix(".id"))
        self._state = MonitorState(site, monitor, settings.state_expiry_s, self._instance, self._alerts.lost)
        self._tally = Tally()
        self._sending: Sending | None = None
        self._task: asyncio.Task[None] | None = None
        self._tried = self._closing = self._stuck = False
        self._pause_s = _FIRST_PAUSE_S
        self._told: set[str] = set()
        self._short_lives = self._pushed_out = 0
        self._holds_name = False

    async def open(self) -> None:
        """Begin to connect; a broker that is away now may come later."""
        from monitor.sinks.mqtt.client import check_loop

        check_loop()
        self._room = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="mqtt")

    async def deliver(self, event: Event) -> None:
        """Take one event. Waits for no broker, but up to a second for one that is slower than the calls."""
        self._alerts.follow(event)
        if isinstance(event, KEPT):
            self._outbox.keep(event)
        elif self._tried and self._sending is None:
            self._outbox.skip()
        else:
            if self._outbox.full and not self._stuck:
                await self._wait_for_room()
            self._outbox.pass_on(event)
        if self._sending is not None:
            self._sending.wake.set()
        await asyncio.sleep(0)  # else events that come without a pause would let nothing be sent

    async def close(self) -> None:
        """Send what waits, if the broker is there, say that the monitor stops, and leave the rest in the spool."""
        self._closing = True
        if self._task is not None:
            if self._sending is not None:
                self._sending.finish()
            if self._sending is not None or not self._tried:
                await asyncio.wait({self._task}, timeout=_CLOSE_WITHIN_S)
            self._task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._task
        if len(self._spool):
            log.warning("MQTT: %d events wait in the spool until a monitor of this name starts again", len(self._spool))
        self._spool.close()
        self._record.close()

    def figures(self) -> dict[str, float]:
        """`spooled`: kept events that wait. `dropped`: kept ones lost for want of room. `delivered`: kept ones that the
        broker has confirmed. `failed`: kept ones that it will never take. `sent`, `skipped`: others that went out by
        QoS 0, and that did not. `open_alerts`. `connected`: 1 or 0."""
        return {
            "spooled": len(self._spool),
            "dropped": self._spool.dropped,
            "delivered": self._tally.delivered,
            "failed": self._tally.failed,
            "sent": self._tally.sent,
            "skipped": self._outbox.skipped,
            "open_alerts": len(self._alerts),
            "connected": float(self._sending is not None),
        }

    async def _wait_for_room(self) -> None:
        self._room.clear()
        try:
            await asyncio.wait_for(self._room.wait(), _ROOM_WITHIN_S)
        except TimeoutError:
            self._stuck = True  # until something moves: the events behind must come to the spool

    def _moved(self) -> None:
        self._stuck = False
        self._room.set()

    async def _run(self) -> None:
        while not self._closing or not self._tried:
            before, began = self._tally.delivered, time.monotonic()
            try:
                await self._connection()
                return
            except Exception as failed:
                error = self._named(failed)
                if self._tally.delivered > before or self._steady(began):
                    self._pause_s = _FIRST_PAUSE_S
                    self._told.clear()
                lived_s, connected = time.monotonic() - began, self._sending is not None
                self._holds_name = self._holds_name or (connected and lived_s >= _SHORT_LIFE_S)
                pause_s = self._after(error, connected=connected, lived_s=lived_s)
            finally:
                self._tried = True
                self._sending = None
                self._outbox.clear()
                self._room.set()
            if not self._closing:
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))

    def _named(self, failed: Exception) -> LinkError:
        if isinstance(failed, LinkError):
            return failed
        if isinstance(failed, SinkError):  # a file of a certificate has become unreadable
            return LinkError(str(failed), refused=True)
        text = f"something unforeseen went wrong here: {type(failed).__name__}: {failed}"
        if text not in self._told:
            log.error("MQTT: %s", text, exc_info=failed)
        return LinkError(text)

    def _steady(self, began: float) -> bool:
        return self._sending is not None and time.monotonic() - began > _STEADY_S

    async def _connection(self) -> None:
        """One connection, until it breaks (LinkError) or everything has been said."""
        name = self._state.monitor
        if not self._holds_name and await name_taken.taken(self._settings, name, self._instance):
            self._take_another_name(f"another monitor lives at {self._address} under the name {name}")
        client_id = topics.client_id(self._settings.site, self._state.monitor)
        async with connection.connect(self._settings, client_id, will=self._state.will()) as broker:
            self._back()
            self._sending = Sending(broker, self._settings, self._outbox, self._alerts, self._state, self._tally)
            if self._closing:
                self._sending.finish()
            await self._sending.run(self._moved)

    def _back(self) -> None:
        text = "is there again"
        if self._told and text not in self._told:
            self._told.add(text)
            log.warning("MQTT: %s %s; %d events wait for it", self._address, text, len(self._spool))

    def _after(self, error: LinkError, *, connected: bool, lived_s: float) -> float:
        """Tell what went wrong. -> how long to wait."""
        short = connected and error.broke and lived_s < _SHORT_LIFE_S
        self._short_lives = self._short_lives + 1 if short else 0
        if error.taken_over and self._holds_name and self._pushed_out < _PUSHED_OUT_MOST:
            self._pushed_out += 1  # whoever came will see that the name is held, and give way
            return _FIRST_PAUSE_S
        if error.taken_over or (self._short_lives >= _SHORT_LIVES and not self._state.renamed):
            how = ", which another client took over" if error.taken_over else " again and again without a word"
            client_id = topics.client_id(self._settings.site, self._state.monitor)
            self._take_another_name(f"{self._address} ends the connections of {client_id}{how}")
            return _FIRST_PAUSE_S
        text = str(error)
        if text not in self._told:
            self._told.add(text)
            kind, verb = (logging.ERROR, "refused") if error.refused else (logging.WARNING, "away")
            log.log(kind, "MQTT: %s is %s: %s. %d events wait", self._address, verb, text, len(self._spool))
        if error.refused:
            return self._settings.refused_retry_s
        self._pause_s, pause_s = min(self._pause_s * 2, self._settings.retry_max_s), self._pause_s
        return min(pause_s, self._settings.retry_max_s)

    def _take_another_name(self, why: str) -> None:
        name = f"{self._settings.monitor_name}-{secrets.token_hex(2)}"
        self._state.monitor, self._holds_name = name, True
        self._outbox.go_by(name)
        self._alerts.go_by(name)
        log.error(
            "MQTT: %s: two monitors with one name push each other out for ever. Give each its own mqtt.monitor; this "
            "one goes on as %s",
            why,
            name,
        )
