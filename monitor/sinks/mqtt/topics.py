"""The topics, and how a name of any kind becomes one level of a topic.

    turnwatch/<site>/calls/<call>/<type>    the events; nothing is retained here
    turnwatch/<site>/alerts/<alert id>      the alerts that are open, retained until they are cleared
    turnwatch/<site>/monitors/<monitor>     the monitors, retained: online or offline

A level keeps every character but + # / % ~ and control characters: of these it has the UTF-8 bytes, each as %XX. An
empty name is a bare %. What would be longer than 128 bytes is its first characters, a ~ and 16 digits of the SHA-256 of
the name. So two names never share a level, but for a collision of these 64 bits.
"""

from __future__ import annotations

import hashlib
import re

from monitor.core.events import Event

ROOT = "turnwatch"
MAX_LEVEL = 128
"""Bytes of a level, at most."""
_ESCAPED = "+#/%~"
_PLAIN = re.compile(r"[A-Za-z0-9_.:@ -]{1,128}")


def level(name: str) -> str:
    """`name` as one level of a topic."""
    if _PLAIN.fullmatch(name):
        return name
    signs = [_sign(sign) for sign in name[: MAX_LEVEL + 1]]  # each is a byte at least
    if sum(len(sign.encode()) for sign in signs) <= MAX_LEVEL:
        return "".join(signs) or "%"
    room, kept = MAX_LEVEL - 17, []
    for sign in signs:
        room -= len(sign.encode())
        if room < 0:
            break
        kept.append(sign)
    return "".join(kept) + "~" + hashlib.sha256(_bytes(name)).hexdigest()[:16]


def calls(site: str, call: str, kind: str) -> str:
    """Where events of this type of a call go."""
    return f"{ROOT}/{level(site)}/calls/{level(call)}/{kind}"


def alerts(site: str, alert_id: str) -> str:
    """Where an alert is retained while it is open."""
    return f"{ROOT}/{level(site)}/alerts/{level(alert_id)}"


def monitors(site: str, monitor: str) -> str:
    """Where a monitor says whether it is there."""
    return f"{ROOT}/{level(site)}/monitors/{level(monitor)}"


def client_id(site: str, monitor: str) -> str:
    """What a monitor is called at the broker."""
    return f"{ROOT}-{level(site)}-{level(monitor)}"


def event_id(event: Event) -> str:
    """`<call>#<seq>`, the event's identity for ever. Of a call whose name MQTT could not carry in a property (control
    characters, more than 128 bytes), the name is written as in a topic."""
    return f"{plain(event.call)}#{event.seq}"


def plain(name: str) -> str:
    """`name`, or, if it is too long or MQTT could not carry it, its level."""
    fits = len(name) <= MAX_LEVEL and len(_bytes(name)) <= MAX_LEVEL and not any(_unfit(sign) for sign in name)
    return name if fits else level(name)


def _sign(sign: str) -> str:
    if sign in _ESCAPED or _unfit(sign):
        return "".join(f"%{byte:02X}" for byte in _bytes(sign))
    return sign


def _unfit(sign: str) -> bool:
    """MQTT 5, 1.5.4: control characters, surrogates and non-characters make a broker hang up."""
    code = ord(sign)
    control = code < 0x20 or 0x7F <= code <= 0x9F or code == 0xFEFF
    return control or 0xD800 <= code <= 0xDFFF or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
