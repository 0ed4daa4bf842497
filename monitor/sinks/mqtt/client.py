"""aiomqtt's client, with what it leaves open: it hears why a message or a connection is refused, it notices a far side
that hangs up before it has answered, it can be let go at once, and connecting holds up no end of the program.

This file alone knows the insides of aiomqtt 2 and of paho-mqtt beneath it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from monitor.sinks import SinkError
from monitor.sinks.mqtt import reasons, tls
from monitor.sinks.mqtt.message import Message
from monitor.sinks.mqtt.reasons import LinkError, Refused
from monitor.sinks.mqtt.settings import MqttSettings
from monitor.sinks.mqtt.url import Address

WINDOW = 16
"""Messages of QoS 1 that may be on their way at once; below the 20 of paho, which would let others overtake."""


class _Ear(logging.Handler):
    """Keeps the last error that paho ran into: it logs it and raises another."""

    error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        arguments = record.args if isinstance(record.args, tuple) else ()
        self.error = next((one for one in arguments if isinstance(one, BaseException)), self.error)


class BrokerClient(aiomqtt.Client):
    """One connection, for one use. `subscribe`, `unsubscribe` and `messages` are aiomqtt's own."""

    def __init__(
        self,
        settings: MqttSettings,
        address: Address,
        client_id: str,
        *,
        will: Message | None,
        max_incoming: int,
    ) -> None:
        self._ear = _Ear()
        silent = logging.Logger("mqtt", logging.ERROR)  # not in the tree: nothing of it is printed
        silent.addHandler(self._ear)
        connecting = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        connecting.SessionExpiryInterval = settings.session_expiry_s
        super().__init__(
            address.host,
            address.port,
            username=address.username,
            password=address.password,
            identifier=client_id,
            logger=silent,
            protocol=aiomqtt.ProtocolVersion.V5,
            will=None if will is None else will.as_will(),
            timeout=settings.answer_within_s,
            keepalive=settings.keepalive_s,
            clean_start=False,
            properties=connecting,
            max_queued_incoming_messages=max_incoming,
            tls_context=tls.context(settings) if address.tls else None,
        )
        self._client.connect_timeout = settings.answer_within_s
        self._address, self._ca_file = address, settings.ca_file
        self._receipts: dict[int, asyncio.Future[None]] = {}
        self._code: tuple[int, str] | None = None
        self._let_go = False
        self.window = WINDOW
        self.retains = True
        self.max_packet = 268_435_455
        """Bytes of a packet that the broker takes, at most."""
        self._disconnected.add_done_callback(self._on_lost)
        self._connected.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def lost(self) -> asyncio.Future[None]:
        """Done as soon as the connection has ended."""
        return self._disconnected

    @property
    def jammed(self) -> bool:
        """Something waits to be written to the socket."""
        return bool(self._client.want_write())

    def why(self) -> LinkError:
        """Why the connection ended."""
        if self._code is not None:
            return reasons.by_code(*self._code)
        if self._ear.error is None:
            return LinkError("the connection broke", broke=True)
        error = reasons.by_error(self._ear.error, self._address, self._ca_file)
        return LinkError(f"the connection broke: {error}", refused=error.refused, broke=not error.refused)

    async def start(self) -> None:
        """Connect. Raises LinkError."""
        try:
            await _in_thread(self._client_connect, self._when_connected)
            await asyncio.wait(
                {self._connected, self._disconnected}, timeout=self.timeout, return_when="FIRST_COMPLETED"
            )
            if self._connected.done():
                self._connected.result()
            elif self._disconnected.done():
                raise self._early()
            else:
                raise LinkError("it does not answer: the port is open, but no word of MQTT comes")
        except MqttConnectError as error:
            self.drop()
            code = error.rc
            raise reasons.by_code(
                getattr(code, "value", int(code) if isinstance(code, int) else 0), str(code)
            ) from None
        except (OSError, ValueError) as error:
            self.drop()
            raise reasons.by_error(error, self._address, self._ca_file) from error
        except BaseException:
            self.drop()
            raise

    def send(self, message: Message) -> asyncio.Future[None] | None:
        """Send a message, without waiting. -> its receipt where it has QoS 1: done once the broker has it; it raises
        Refused if the broker does not want it, LinkError if the connection ended before. Raises LinkError."""
        if self._disconnected.done():
            raise self.why()
        info = self._client.publish(message.topic, message.payload, message.qos, message.retain, message.properties())
        if info.rc:
            raise LinkError("the connection broke")
        if not message.qos:
            return None
        receipt: asyncio.Future[None] = self._loop.create_future()
        receipt.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._receipts[info.mid] = receipt
        return receipt

    async def stop(self, within_s: float = 1.0) -> None:
        """Say good-bye, so that the will is not published, and let go."""
        if not self._disconnected.done() and self._connected.done():
            self._client.disconnect()
            await asyncio.wait({self._disconnected}, timeout=within_s)
        self.drop()

    def drop(self) -> None:
        """Let go at once: the broker sees the connection break."""
        self._let_go = True
        with suppress(Exception):
            self._client._sock_close()  # it has no public way that does not wait for the broker
        if not self._disconnected.done():
            self._disconnected.set_exception(LinkError("the connection was given up"))

    def _early(self) -> LinkError:
        if self._ear.error is not None and not isinstance(self._ear.error, ConnectionError):
            return reasons.by_error(self._ear.error, self._address, self._ca_file)
        if self._code is not None:
            return reasons.by_code(*self._code)
        return reasons.hung_up(self._address)

    def _when_connected(self) -> None:
        if self._let_go:
            self.drop()

    def _on_lost(self, lost: asyncio.Future[None]) -> None:
        if not lost.cancelled():
            lost.exception()
        for receipt in self._receipts.values():
            if not receipt.done():
                receipt.set_exception(self.why())
        self._receipts.clear()

    def _on_connect(self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None) -> None:
        self.window = min(WINDOW, getattr(properties, "ReceiveMaximum", WINDOW))
        self.retains = bool(getattr(properties, "RetainAvailable", 1))
        self.max_packet = getattr(properties, "MaximumPacketSize", self.max_packet)
        super()._on_connect(client, userdata, flags, reason_code, properties)

    def _on_disconnect(self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None) -> None:
        if self._code is None and flags.is_disconnect_packet_from_server:  # paho calls once more when the socket closes
            self._code = (reason_code.value, str(reason_code))
        if not self._disconnected.done() and not self._connected.done():
            self._disconnected.set_exception(LinkError("the connection ended before it began"))
        super()._on_disconnect(client, userdata, flags, reason_code, properties)

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason_code: Any, properties: Any) -> None:
        receipt = self._receipts.pop(mid, None)
        if receipt is None:
            super()._on_publish(client, userdata, mid, reason_code, properties)
        elif not receipt.done():
            if reason_code is not None and reason_code.is_failure:
                receipt.set_exception(Refused(reason_code.value, str(reason_code).lower()))
            else:
                receipt.set_result(None)


async def _in_thread(work: Callable[[], None], always: Callable[[], None]) -> None:
    """Do blocking `work` in a thread that does not hold up the end of the program; then `always` in the event loop,
    also where nobody waits any more."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        always()
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failed: Exception | None = None
        try:
            work()
        except Exception as error:
            failed = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, failed)

    threading.Thread(target=run, name="mqtt connecting", daemon=True).start()
    await done


def check_loop() -> None:
    """Raises SinkError where the running event loop cannot watch sockets, as aiomqtt needs it."""
    loop = type(asyncio.get_running_loop())
    if loop.add_reader is asyncio.AbstractEventLoop.add_reader:
        raise SinkError(
            f"MQTT needs an event loop that has add_reader, and {loop.__name__} has none: run it in "
            "asyncio.Runner(loop_factory=asyncio.SelectorEventLoop). turnwatch itself always does"
        )
