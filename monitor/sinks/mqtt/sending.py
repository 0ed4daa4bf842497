"""What goes over one connection: first what is kept, in order, with several on their way at once; then the state of the
alerts; then what is only passed on. Kept events are forgotten when the broker has confirmed them, not before."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from monitor.sinks.mqtt.message import Message
from monitor.sinks.mqtt.monitor_state import MonitorState
from monitor.sinks.mqtt.open_alerts import OpenAlerts
from monitor.sinks.mqtt.outbox import Outbox
from monitor.sinks.mqtt.reasons import NOT_AUTHORISED, OF_THE_MESSAGE, LinkError, Refused
from monitor.sinks.mqtt.settings import MqttSettings

if TYPE_CHECKING:
    from monitor.sinks.mqtt.client import BrokerClient

log = logging.getLogger("turnwatch.mqtt")

_LOOK_EVERY_S = 0.5
_BATCH = 32


@dataclass
class Tally:
    """What became of the messages, over all connections."""

    delivered: int = 0
    failed: int = 0
    sent: int = 0


class Sending:
    """One connection's work. `wake` is to be set when there is something new."""

    def __init__(
        self,
        broker: BrokerClient,
        settings: MqttSettings,
        outbox: Outbox,
        alerts: OpenAlerts,
        state: MonitorState,
        tally: Tally,
    ) -> None:
        self.wake = asyncio.Event()
        self._broker, self._settings = broker, settings
        self._outbox, self._alerts, self._state, self._tally = outbox, alerts, state, tally
        self._on_way: dict[asyncio.Future[None], float] = {}  # receipts, and since when they are awaited
        self._sent = 0
        self._jammed_at: float | None = None
        self._refused: LinkError | None = None
        self._told: set[str] = set()
        self._finishing = False
        self._renewed_at = float("-inf")
        broker.lost.add_done_callback(lambda _: self.wake.set())

    def finish(self) -> None:
        """Return from `run` once all has been said."""
        self._finishing = True
        self.wake.set()

    async def run(self, moved: Callable[[], None]) -> None:
        """Send until `finish`. `moved` is called when there is room again. Raises LinkError when the connection ends,
        or the broker refuses the events."""
        while True:
            self._check()
            self.wake.clear()
            self._renew()
            finishing = self._finishing  # then nothing comes any more; while the socket is waited for, something may
            more = self._send_some()
            if more or self._broker.jammed:
                await self._written()
            if not self._outbox.full:
                moved()
            if more:
                continue
            if finishing and not self._on_way:
                await self._good_bye()
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), _LOOK_EVERY_S)

    def _check(self) -> None:
        if self._broker.lost.done():
            raise self._broker.why()
        if self._refused is not None:
            raise self._refused
        since = next(iter(self._on_way.values()), None)
        waits = [at for at in (since, self._jammed_at) if at is not None]
        if waits and time.monotonic() - min(waits) > self._settings.answer_within_s:
            raise LinkError("it does not answer: the connection stands, but it confirms nothing")

    def _renew(self) -> None:
        if time.monotonic() - self._renewed_at < self._settings.state_expiry_s / 2:
            return
        self._renewed_at = time.monotonic()
        self._alerts.renew()
        self._send_state(self._state.online())

    def _send_some(self) -> bool:
        """-> there may be more to send at once."""
        for _ in range(_BATCH):
            if len(self._on_way) >= self._broker.window:
                return False
            outgoing = self._outbox.next(self._sent)
            if outgoing is not None and outgoing.number is not None:
                self._send_kept(outgoing.message, outgoing.number)
            elif (state := self._alerts.next()) is not None:
                self._alerts.sent(state)
                self._send_state(state)
            elif outgoing is not None:
                self._outbox.passed()
                self._send_passing(outgoing.message)
            else:
                return False
        return True

    def _send_kept(self, message: Message, number: int) -> None:
        self._sent = number
        if message.size > self._broker.max_packet:
            self._give_up(message, number, "it takes no message that long")
            return
        self._await(message, partial(self._kept_settled, message, number))

    def _send_state(self, message: Message) -> None:
        if not self._broker.retains:
            self._tell("it does not retain messages: who comes late does not learn which alerts are open")
            return
        self._await(message, partial(self._state_settled, message))

    def _send_passing(self, message: Message) -> None:
        if message.size > self._broker.max_packet:
            self._outbox.skip()
            return
        if message.qos:
            self._await(message, lambda _: None)
        else:
            self._broker.send(message)
        self._tally.sent += 1

    def _await(self, message: Message, settled: Callable[[BaseException | None], None]) -> None:
        receipt = self._broker.send(message)
        assert receipt is not None
        self._on_way[receipt] = time.monotonic()

        def done(receipt: asyncio.Future[None]) -> None:
            self._on_way.pop(receipt, None)
            settled(LinkError("given up") if receipt.cancelled() else receipt.exception())
            self.wake.set()

        receipt.add_done_callback(done)

    def _kept_settled(self, message: Message, number: int, error: BaseException | None) -> None:
        if error is None:
            self._tally.delivered += 1
            self._outbox.spool.done(number)
        elif isinstance(error, Refused):
            if error.code in OF_THE_MESSAGE:
                self._give_up(message, number, str(error))
            elif error.code == NOT_AUTHORISED:
                place = "/".join(message.topic.split("/")[:2])
                self._refused = LinkError(
                    f"it does not let this client write to {message.topic} (not authorised): give the user of "
                    f"mqtt.username the right to write to {place}/#",
                    refused=True,
                )
            else:
                self._refused = LinkError(f"it does not take events: {error}", refused=True)

    def _state_settled(self, message: Message, error: BaseException | None) -> None:
        alert = "/alerts/" in message.topic
        if error is None:
            if alert:
                self._alerts.arrived(message)
        elif isinstance(error, Refused):
            self._tell(f"it did not take {message.topic}, which tells who comes late how things stand: {error}")
        elif alert:
            self._alerts.unsent(message)

    def _give_up(self, message: Message, number: int, why: str) -> None:
        self._tally.failed += 1
        self._outbox.spool.done(number)
        self._tell(f"a message to {message.topic} is given up: {why}")

    def _tell(self, text: str) -> None:
        if text not in self._told and len(self._told) < 100:
            self._told.add(text)
            log.error("MQTT: the broker: %s", text)

    async def _written(self) -> None:
        """Let the socket take what was sent; what it does not take holds up everything behind."""
        for _ in range(4):
            await asyncio.sleep(0)
            if not self._broker.jammed:
                self._jammed_at = None
                return
        self._jammed_at = self._jammed_at or time.monotonic()
        while self._broker.jammed and not self._broker.lost.done():
            self._check()
            await asyncio.sleep(0.01)
        self._jammed_at = None

    async def _good_bye(self) -> None:
        words = [self._state.stopped(), *([self._state.forgotten()] if self._state.renamed else [])]
        receipts = {receipt for word in words if (receipt := self._broker.send(word)) is not None}
        if receipts:
            await asyncio.wait(receipts, timeout=1.0)
