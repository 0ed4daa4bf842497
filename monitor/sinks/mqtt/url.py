"""A broker's address: mqtt://[USER[:PASSWORD]@]HOST[:PORT] in plain, mqtts:// by TLS."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from monitor.sinks import SinkError
from monitor.sinks.mqtt.settings import MqttSettings

PORTS = {"mqtt": 1883, "mqtts": 8883}
_TAKES = "mqtt.url takes mqtt://HOST or mqtts://HOST (TLS), each with :PORT if it is not 1883 or 8883"


class Address(NamedTuple):
    """Where the broker is, and as whom to come. `str()` of it holds no password."""

    host: str
    port: int
    tls: bool
    username: str | None
    password: str | None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def loopback(self) -> bool:
        """It does not leave this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def address(settings: MqttSettings) -> Address:
    """The address that the settings name. Raises SinkError; no message of it shows what a URL may hide."""
    url = settings.url or ""
    scheme, found, rest = url.partition("://")
    if not found:
        example = f"mqtt://{url}" if url and "@" not in url else "mqtt://HOST"
        raise SinkError(f"mqtt.url has no scheme: {_TAKES}. Perhaps {example}")
    if scheme.lower() not in PORTS:
        raise SinkError(f"mqtt.url begins with {scheme}://, which is not spoken here: {_TAKES}")
    user, _, place = rest.rpartition("@")
    if any(sign in user for sign in "/?#"):
        raise SinkError("mqtt.url: a /, ? or # in the user's name or password is written %2F, %3F or %23")
    try:
        parts = urlsplit(f"{scheme.lower()}://{place}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SinkError(f"mqtt.url: {error}: {_TAKES}") from None
    if not host or any(sign.isspace() for sign in host) or port == 0:
        raise SinkError(f"mqtt.url names no host, or no port that can be: {_TAKES}")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise SinkError(f"mqtt.url has something behind the host, which MQTT has no use for: {_TAKES}")
    name, given, word = user.partition(":")
    username = settings.username if settings.username is not None else unquote(name) or None
    password = settings.password if settings.password is not None else (unquote(word) if given else None)
    if password is not None and username is None:
        raise SinkError("MQTT: there is a password but no user's name: give mqtt.username, or leave out mqtt.password")
    return Address(host, port or PORTS[scheme.lower()], scheme.lower() == "mqtts", username, password)
