"""How to reach the broker of the settings, for whoever publishes or subscribes.

    async with connect(settings, client_id, will=None, max_incoming=10_000) -> BrokerClient

    async with connect(settings, topics.client_id(settings.site, "fleet")) as broker:
        await broker.subscribe("turnwatch/+/calls/+/+", qos=1)
        async for message in broker.messages:       # aiomqtt's; raises aiomqtt.MqttError once the connection ends
            ...
    # `broker.send(Message(...))` publishes; `broker.lost` is done when the connection ends, `broker.why()` says why

It connects once and does not come again by itself: a `LinkError` tells in words what went wrong, and whether it makes
sense to try again soon (`refused`). The session outlives the connection by `mqtt.session_expiry_s`: who subscribes
under the same client id again gets what came in between, of QoS 1.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from monitor.sinks import SinkError
from monitor.sinks.mqtt import tls, url
from monitor.sinks.mqtt.message import Message
from monitor.sinks.mqtt.reasons import LinkError as LinkError
from monitor.sinks.mqtt.settings import MqttSettings

if TYPE_CHECKING:
    from monitor.sinks.mqtt.client import BrokerClient

log = logging.getLogger("turnwatch.mqtt")


def check(settings: MqttSettings) -> url.Address:
    """Raises SinkError for settings with which no broker can be reached, or where the library is missing; tells what is
    risky about them."""
    address = url.address(settings)
    try:
        import aiomqtt as _  # noqa: F401
    except ImportError as error:
        raise SinkError(f"MQTT needs aiomqtt ({error}): pip install 'turnwatch[mqtt]'") from error
    if settings.key_file and not settings.cert_file:
        raise SinkError("mqtt.key_file is the key of mqtt.cert_file: give that too")
    if address.tls:
        tls.context(settings)
    elif settings.ca_file or settings.cert_file or settings.tls_insecure:
        raise SinkError(
            f"mqtt.ca_file, mqtt.cert_file and mqtt.tls_insecure are for TLS, and {address} is not: mqtts://"
        )
    if address.tls and settings.tls_insecure:
        log.warning("mqtt.tls_insecure is on: whoever stands between here and %s can read and change all", address)
    if not address.tls and address.password is not None and not address.loopback:
        log.warning("the password for %s goes over the network in plain text: mqtts:// hides it", address)
    return address


@asynccontextmanager
async def connect(
    settings: MqttSettings,
    client_id: str,
    *,
    will: Message | None = None,
    max_incoming: int = 10_000,
) -> AsyncIterator[BrokerClient]:
    """A connection to the broker, for as long as the block lasts. `client_id`: a second client under the same id ends
    this connection. `will`: what the broker publishes if the connection breaks. `max_incoming`: messages that may wait
    to be taken; more are lost. Raises SinkError for settings that cannot be, LinkError where the broker cannot be
    reached or refuses."""
    address = url.address(settings)
    from monitor.sinks.mqtt.client import BrokerClient, check_loop

    check_loop()
    broker = BrokerClient(settings, address, client_id, will=will, max_incoming=max_incoming)
    await broker.start()
    try:
        yield broker
        await broker.stop()
    finally:
        broker.drop()
