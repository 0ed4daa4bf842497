"""Where to post, read from a URL: `https://…`, `slack+https://…`, `pagerduty+https://KEY@…`.

URLs of webhooks are secrets as a whole: whoever has one can post. So what is shown of a target is its scheme and host,
and messages about a URL that cannot be read say which one it is by its place.
"""

from __future__ import annotations

import hashlib
import ipaddress
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from monitor.sinks import SinkError
from monitor.sinks.webhook.formats import FORMATS
from monitor.sinks.webhook.settings import WebhookSettings

_MIN_SECRET = 6
"""Shorter parts of a URL are no secrets, and cutting them out of texts would leave nothing readable."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """`url`: without user and password. `shown`: scheme and host, for people. `spool_name`: tells its spool from
    others'. `login`: user and password, for basic authentication. `secrets`: what must not be told, also where the far
    side quotes it."""

    format: str
    url: str
    shown: str
    spool_name: str
    loopback: bool
    login: tuple[str, str] | None = None
    routing_key: str = ""
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Target({self})"

    def __str__(self) -> str:
        return self.shown if self.format == "json" else f"{self.shown} ({self.format})"

    def scrubbed(self, text: str) -> str:
        """`text` without this target's secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return text


def target(text: str, settings: WebhookSettings, place: int = 1) -> Target:
    """Read a URL. `place`: which one of `webhook.urls` it is, from 1. Raises SinkError."""
    which = f"webhook.urls, number {place}"
    if not text.isascii() or not text.isprintable() or " " in text:
        raise SinkError(f"{which}: a URL holds plain characters only, without spaces: write others as %XX")
    prefix, plus, rest = text.partition("+")
    name = prefix.lower() if plus and ":" not in prefix else "json"
    if name not in FORMATS:
        raise SinkError(
            f"{which}: nobody here speaks {prefix!a}; there are {', '.join(FORMATS)}, as in slack+https://…"
        )
    try:
        parts = urlsplit(rest if plus and ":" not in prefix else text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SinkError(f"{which}: it is no URL (look at its host and port)") from None
    if parts.scheme not in ("http", "https") or not host:
        raise SinkError(f"{which}: it must be https://HOST/… or {{{','.join(FORMATS)}}}+https://HOST/…")
    netloc = (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}")
    shown, loopback = f"{parts.scheme}://{netloc}", _is_loopback(host)
    if parts.scheme == "http" and not loopback and not settings.allow_plain_http:
        raise SinkError(
            f"{which}: {shown} is not encrypted, and leaves this machine: use https://, or set "
            "webhook.allow_plain_http = true if the network in between is your own"
        )
    format = FORMATS[name]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    key = ""
    if format.keyed:
        key, user, password = user or settings.pagerduty_key or "", "", ""
        if not key:
            raise SinkError(
                f"{which}: PagerDuty needs a routing key: {name}+https://KEY@{netloc}, or webhook.pagerduty_key"
            )
    path = parts.path if parts.path.strip("/") else format.path or parts.path
    url = f"{shown}{path or '/'}" + (f"?{parts.query}" if parts.query else "")
    # Not the key in the settings: where that changes while something waits, this goes to the new one.
    identity = f"{name} {unquote(parts.username or '')} {url}"
    parts_of_url = [*path.split("/"), *(value for _, value in parse_qsl(parts.query)), parts.query]
    parts_of_url += [parts.username or "", parts.password or ""]
    secrets = {key, settings.secret or "", *parts_of_url, *(unquote(one) for one in parts_of_url)}
    return Target(
        format=name,
        url=url,
        shown=shown,
        spool_name=f"{name}-{netloc}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}",
        loopback=loopback,
        login=(user, password) if user or password else None,
        routing_key=key,
        secrets=tuple(sorted((one for one in secrets if len(one) >= _MIN_SECRET), key=len, reverse=True)),
    )


def targets(settings: WebhookSettings) -> list[Target]:
    """All of them; one that is given twice counts once. Raises SinkError."""
    found = [target(url, settings, place) for place, url in enumerate(settings.urls, 1)]
    return list({one.spool_name: one for one in found}.values())


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
