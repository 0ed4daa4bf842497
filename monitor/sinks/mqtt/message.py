"""One message, before it is a packet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import aiomqtt
    from paho.mqtt.properties import Properties


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """`expiry_s`: how long the broker may keep it; None for ever. `user`: its user properties. A retained message
    without a payload deletes what was retained under its topic."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    expiry_s: int | None = None
    user: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of its packet, roughly and rather too many."""
        return len(self.topic.encode()) + len(self.payload) + sum(len(a) + len(b) + 8 for a, b in self.user) + 128

    def properties(self, *, will: bool = False) -> Properties:
        """What MQTT 5 says beside the payload: that it is JSON in UTF-8, how long it holds, and the user properties."""
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        made = Properties(PacketTypes.WILLMESSAGE if will else PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if self.payload:
            made.PayloadFormatIndicator = 1
            made.ContentType = "application/json"
        if self.expiry_s is not None:
            made.MessageExpiryInterval = self.expiry_s
        if self.user:
            made.UserProperty = list(self.user)
        return made

    def as_will(self) -> aiomqtt.Will:
        """The same as a last will."""
        import aiomqtt

        return aiomqtt.Will(self.topic, self.payload, self.qos, self.retain, self.properties(will=True))
