"""A subscription at the broker that comes again whenever it breaks, in a thread with an event loop of its own.

    feed = BrokerFeed(settings, "turnwatch-local-fleet-feed", [("turnwatch/local/calls/+/+", 1)])
    feed.start()
    while arrived := await feed.take(within_s=0.25): ...

aiomqtt needs `add_reader`, which not every loop has, and a burst of calls must not make it miss the broker's pings: so
it has a thread. What it brings waits in a bounded list; what overflows is counted in `dropped`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from monitor.sinks.mqtt.connection import LinkError, connect
from monitor.sinks.mqtt.message import Message
from monitor.sinks.mqtt.settings import MqttSettings

log = logging.getLogger("turnwatch.fleet")

MAX_WAITING = 50_000
"""Messages that may wait to be taken."""
_FIRST_PAUSE_S = 0.5
_STEADY_S = 5.0
_SHORT_LIVES = 3
"""After so many connections that broke at once, one goes on under another name."""


class Arrived(NamedTuple):
    """A message, and the monitor that has published it, where it says so. A `topic` of "" says that the connection is
    there, of "-" that it has broken."""

    topic: str
    payload: bytes = b""
    monitor: str | None = None


UP, DOWN = Arrived(""), Arrived("-")


class BrokerFeed:
    """`topics`: what is subscribed to, each with its QoS. `will`: what the broker publishes if the connection breaks.
    `keep`: retained messages are said again with every new connection, so that they hold wherever the broker has
    forgotten them."""

    def __init__(
        self,
        settings: MqttSettings,
        client_id: str,
        topics: Sequence[tuple[str, int]],
        *,
        will: Message | None = None,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._settings = settings
        self._client_id = self._own_id = client_id
        self._topics = topics
        self._will = will
        self._max_waiting = max_waiting
        self._waiting: deque[Arrived] = deque()
        self._home: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._out: dict[str, Message] = {}
        self._retained: dict[str, Message] = {}
        self._to_send = asyncio.Event()
        self._leaving = False
        self._over = asyncio.Event()
        self.dropped = 0
        self.connected = False

    def start(self) -> None:
        """Begin, from within the event loop that takes."""
        self._home = asyncio.get_running_loop()
        started = threading.Event()

        async def main() -> None:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            started.set()
            with suppress(asyncio.CancelledError):
                await self._come_again()

        def run() -> None:
            try:
                with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                    runner.run(main())
            finally:
                self._call_home(self._over.set)

        threading.Thread(target=run, name=f"broker {self._client_id}", daemon=True).start()
        started.wait()

    async def take(self, within_s: float) -> list[Arrived]:
        """What has arrived; waits for it, for so long."""
        if not self._waiting:
            self._wake.clear()
            with suppress(TimeoutError):  # wait_for would swallow a cancellation now and then, before Python 3.12
                async with asyncio.timeout(within_s):
                    await self._wake.wait()
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def publish(self, message: Message) -> None:
        """Publish as soon as there is a connection. Of several under one topic that wait, the last one counts."""
        self._call_there(lambda: self._put(message))

    async def close(self, farewell: Message | None = None, within_s: float = 2.0) -> None:
        """Say `farewell` where there is a connection, and leave."""
        if farewell is not None:
            self.publish(farewell)
        self._leaving = True
        self._call_there(self._to_send.set)
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._over.wait()
        if not self._over.is_set() and self._task is not None:
            self._call_there(self._task.cancel)

    def _put(self, message: Message) -> None:
        self._out[message.topic] = message
        if message.retain:
            self._retained[message.topic] = message
        self._to_send.set()

    async def _come_again(self) -> None:
        # Whoever has a feed has the MQTT sink too, which tells that the broker is away. What is told here is what only
        # the feed meets: that it may not come in, or not listen. Once for each time that it lasts.
        pause, told, short_lives = _FIRST_PAUSE_S, "", 0
        now = asyncio.get_running_loop().time
        while not self._leaving:
            begun: float | None = None
            try:
                async with connect(self._settings, self._client_id, will=self._will) as broker:
                    for topic, qos in self._topics:
                        await broker.subscribe(topic, qos=qos)
                    if told:
                        log.warning("fleet: the broker lets us listen again")
                        told = ""
                    pause, begun = _FIRST_PAUSE_S, now()
                    self._out = {**self._retained, **self._out}
                    await self._stay(broker)
            except Exception as error:  # aiomqtt's own among them, which cannot be named before it is loaded
                if self._over_by_will():
                    return
                unknown = not isinstance(error, LinkError) and type(error).__module__.partition(".")[0] != "aiomqtt"
                if unknown:
                    log.exception("listening at the broker failed in a way that it should not: please report it")
                short_lives = short_lives + 1 if begun is not None and now() - begun < _STEADY_S else 0
                taken = isinstance(error, LinkError) and error.taken_over
                if taken or short_lives >= _SHORT_LIVES:
                    # Two of one name end each other's connections for ever, and not every broker says that it is that.
                    self._client_id, short_lives = f"{self._own_id}-{secrets.token_hex(2)}", 0
                refused = isinstance(error, LinkError) and error.refused and not taken
                if (refused or not isinstance(error, LinkError)) and not (told or unknown or begun):
                    told = str(error)
                    log.warning("fleet: the broker does not let us listen: %s; trying again", told)
                await self._rest(self._settings.refused_retry_s if refused else pause)
                pause = min(pause * 2, self._settings.retry_max_s)
            finally:
                if self.connected:
                    self.connected = False
                    self._arrive(DOWN)

    def _over_by_will(self) -> bool:
        return self._leaving

    async def _rest(self, wait_s: float) -> None:
        end = asyncio.get_running_loop().time() + wait_s
        while not self._leaving and (left := end - asyncio.get_running_loop().time()) > 0:
            self._to_send.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._to_send.wait()

    async def _stay(self, broker: object) -> None:
        self.connected = True
        self._arrive(UP)
        sending = asyncio.create_task(self._send(broker), name="broker sending")
        try:
            async for message in broker.messages:  # type: ignore[attr-defined]
                payload = message.payload if isinstance(message.payload, bytes | bytearray) else b""
                user = dict(getattr(message.properties, "UserProperty", ()))
                self._arrive(Arrived(str(message.topic), bytes(payload), user.get("monitor")))
        except Exception as error:
            if not (sending.done() and self._leaving):
                of_library = type(error).__module__.partition(".")[0] == "aiomqtt"
                raise (broker.why() if of_library else error) from None  # type: ignore[attr-defined]
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send(self, broker: object) -> None:
        while True:
            while self._out:
                topic = next(iter(self._out))
                receipt = broker.send(self._out[topic])  # type: ignore[attr-defined]
                sent = self._out.pop(topic)
                if receipt is not None:
                    try:
                        await receipt
                    except LinkError:
                        self._out.setdefault(topic, sent)
                        raise
                    except Exception as error:  # the broker does not want this one
                        log.warning("the broker does not take what is known across calls: %s", error)
            if self._leaving:
                await broker.stop()  # type: ignore[attr-defined]
                return
            self._to_send.clear()
            await self._to_send.wait()

    def _arrive(self, arrived: Arrived) -> None:
        if len(self._waiting) >= self._max_waiting:
            self.dropped += 1
            return
        self._waiting.append(arrived)
        if len(self._waiting) == 1:
            self._call_home(self._wake.set)

    def _call_home(self, action: object) -> None:
        if self._home is not None:
            with suppress(RuntimeError):  # that loop has ended
                self._home.call_soon_threadsafe(action)  # type: ignore[arg-type]

    def _call_there(self, action: object) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(action)  # type: ignore[arg-type]
