"""What a broker answers, in words. The numbers are the reason codes of MQTT 5 (OASIS standard, 2.4)."""

from __future__ import annotations

import ssl

from monitor.sinks.mqtt import tls
from monitor.sinks.mqtt.url import Address

TAKEN_OVER = 0x8E
NOT_AUTHORISED = 0x87
OF_THE_MESSAGE = frozenset({0x90, 0x95, 0x99})
"""Refusals of one message for what it is: no use in sending it again."""

_REFUSED = {
    0x01: "it does not speak MQTT 5, which this needs: mosquitto from 1.6, EMQX and HiveMQ do",
    0x84: "it does not speak MQTT 5, which this needs: mosquitto from 1.6, EMQX and HiveMQ do",
    0x85: "it does not accept the client id: give another mqtt.site or mqtt.monitor",
    0x86: "it does not know the user, or the password is wrong: look at mqtt.username and mqtt.password",
    NOT_AUTHORISED: "it does not let this client in (or not in here): look at mqtt.username and mqtt.password, and at "
    "the broker's access list, which must let it write to turnwatch/#",
    0x8A: "it has banned this client: ask whoever runs it",
    0x8C: "it wants another kind of authentication than a user and a password",
    0x9A: "it does not retain messages, which open alerts need",
    0x9B: "it does not take messages of QoS 1, which alerts need",
    0x9C: "it says that another server is to be used: change mqtt.url",
    0x9D: "it has moved: change mqtt.url",
}
_AWAY = {
    0x88: "it is not available",
    0x89: "it is busy",
    0x8B: "it is shutting down",
    0x8D: "it did not hear from here for too long",
    0x93: "more was sent at once than it takes",
    0x97: "a quota of it is used up",
    0x98: "its operator ended the connection",
    0x9F: "it counts too many connections",
}


class LinkError(Exception):
    """There is no connection to the broker, or none any more. The text says why, and what to do. `refused`: the broker
    answered, and trying again soon is no use. `taken_over`: another client came under the same id. `broke`: the
    connection stood, and ended without a word."""

    def __init__(self, text: str, *, refused: bool = False, taken_over: bool = False, broke: bool = False) -> None:
        super().__init__(text)
        self.refused = refused
        self.taken_over = taken_over
        self.broke = broke


class Refused(Exception):
    """The broker did not take a message. `code`: its reason."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def by_code(code: int, name: str) -> LinkError:
    """The error for a reason code by which the broker ended, or did not begin, a connection."""
    if code == TAKEN_OVER:
        return LinkError("another client came under the same id", refused=True, taken_over=True)
    if code in _REFUSED:
        return LinkError(_REFUSED[code], refused=True)
    return LinkError(_AWAY.get(code, f"it says: {name}"))


def by_error(error: BaseException, address: Address, ca_file: str | None = None) -> LinkError:
    """The error for what the system or TLS raised. `ca_file`: as it is set."""
    if isinstance(error, LinkError):
        return error
    if isinstance(error, ssl.SSLError):
        return LinkError(tls.cause(error, address.host, ca_file), refused=True)
    if isinstance(error, ConnectionRefusedError):
        return LinkError(f"nobody listens on port {address.port} there: is the broker running, and mqtt.url right?")
    if isinstance(error, TimeoutError):
        return LinkError("it does not answer")
    if type(error).__name__ == "gaierror":
        return LinkError(f"no machine is known as {address.host}: look at mqtt.url, or the network")
    if address.tls and isinstance(error, ConnectionResetError):
        return LinkError(f"it hung up on TLS: {_PORT_OF_TLS}", refused=True)
    return LinkError(str(error) or type(error).__name__)


def hung_up(address: Address) -> LinkError:
    """The error for a connection that ended before the broker said a word of MQTT."""
    if address.tls:
        return LinkError("it hung up without a word: it may want a certificate of this client (mqtt.cert_file)")
    return LinkError(
        f"it hung up without a word of MQTT: is port {address.port} its TLS port? That needs mqtts:// in mqtt.url, and "
        "mqtt:// needs the plain port (1883 as a rule)"
    )


_PORT_OF_TLS = "mqtts:// needs the broker's TLS port (8883 as a rule); mqtt:// speaks to a plain port"
