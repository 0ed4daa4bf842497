"""Whether another monitor lives under the name that this one is to have: the newcomer gives way.

Before it connects, it looks at what the broker retains of that name, as a client of its own. An online one that says
another `instance` than ours lives, unless it has not renewed its word as it should have. The instance stands in a file
beside the spool, so that a monitor that was killed knows its own former life.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.connection import connect
from monitor.sinks.mqtt.settings import MqttSettings

_LOOK_WITHIN_S: Final = 2.0
_GRACE_S: Final = 0.05
"""Brokers send what is retained before they answer the next packet; this is for one that does not."""
_RENEWED_ABOVE: Final = 0.4
"""It is renewed when half of its time is left."""


class _State(msgspec.Struct):
    state: str = ""
    instance: str = ""
    holds_s: int = 0


def instance_of(path: Path) -> str:
    """Whose file this is: made once; where that cannot be written, anew each time."""
    with suppress(OSError, ValueError):
        if found := path.read_text("ascii").strip()[:64]:
            return found
    made = secrets.token_hex(8)
    with suppress(OSError), open(path, "w", encoding="ascii", opener=_private) as file:
        file.write(made + "\n")
    return made


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


async def taken(settings: MqttSettings, monitor: str, instance: str) -> bool:
    """Whether another one lives under this name. A broker that is away, or does not let us look, is taken as a no."""
    topic = topics.monitors(settings.site, monitor)
    client_id = topics.client_id(settings.site, f"look-{secrets.token_hex(4)}")
    try:
        async with asyncio.timeout(_LOOK_WITHIN_S):
            async with connect(msgspec.structs.replace(settings, session_expiry_s=0), client_id) as broker:
                await broker.subscribe(topic)
                await broker.unsubscribe(topic)
                async with asyncio.timeout(_GRACE_S):
                    message = await anext(aiter(broker.messages))
    except Exception:  # nothing is retained; or there is trouble, which the true connection tells of
        return False
    left_s = getattr(message.properties, "MessageExpiryInterval", None)
    return _lives(message.payload, left_s, instance)


def _lives(payload: object, left_s: int | None, instance: str) -> bool:
    try:
        told = msgspec.json.decode(payload if isinstance(payload, bytes) else b"", type=_State)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    if told.state != "online" or told.instance == instance:
        return False
    return left_s is None or left_s >= _RENEWED_ABOVE * told.holds_s
