"""Which host a conversation goes to: the provider's five, and what the operator allows; nothing else.

A path on the relay is `<prefix>/v1/convai/<what>`. The prefix is the customer's own (a router's, a token) and is never
passed on. It may end in `/via/<host>`, which the relay itself writes into the signed URLs it hands out, so that a
conversation goes to the host that signed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from connectors.base import SourceError

REGIONS = {
    "default": "api.elevenlabs.io",
    "us": "api.us.elevenlabs.io",
    "eu": "api.eu.residency.elevenlabs.io",
    "in": "api.in.residency.elevenlabs.io",
    "sg": "api.sg.residency.elevenlabs.io",
}

ROOT = "/v1/convai/"
_VIA = "/via/"
_SCHEMES = {"wss": True, "https": True, "ws": False, "http": False}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class UnknownUpstream(Exception):
    """A host that is not on the list. The message is for the client and for the operator."""


class Target(NamedTuple):
    """A request's path taken apart. `host`: what `/via/` names, None for the default. `what`: the part after
    `/v1/convai/`. `query`: as it came, without `?`."""

    prefix: str
    host: str | None
    what: str
    query: str


class Upstream(NamedTuple):
    """A server of the conversation API. `authority`: host, and port where it is not the scheme's; `base`: a path before
    `/v1`, usually empty."""

    authority: str
    secure: bool
    base: str = ""

    @property
    def is_loopback(self) -> bool:
        """On this machine: proxies do not apply."""
        return urlsplit(f"//{self.authority}").hostname in _LOOPBACK

    def socket_url(self, target: Target) -> str:
        """Where the conversation of this request is opened."""
        return self._url("wss" if self.secure else "ws", target)

    def rest_url(self, target: Target) -> str:
        """Where this REST request is sent."""
        return self._url("https" if self.secure else "http", target)

    def _url(self, scheme: str, target: Target) -> str:
        query = f"?{target.query}" if target.query else ""
        return f"{scheme}://{self.authority}{self.base}{ROOT}{target.what}{query}"


def target_of(path: str) -> Target | None:
    """The path and query of a request taken apart; None where it is not of the conversation API."""
    path, _, query = path.partition("?")
    prefix, root, what = path.partition(ROOT)
    if not root:
        return None
    before, via, host = prefix.rpartition(_VIA)
    if via and host and "/" not in host:
        return Target(before, host.lower(), what, query)
    return Target(prefix, None, what, query)


def via(target: Target, upstream: Upstream) -> str:
    """The path prefix under which the relay leads to `upstream`."""
    return f"{target.prefix}{_VIA}{upstream.authority}"


class Upstreams:
    """The list. `upstream`: the operator's own server (`wss://host`, `ws://host:port`), which then is the default in
    place of the region's host. `more`: further servers that signed URLs may name. Raises `SourceError`."""

    def __init__(self, region: str = "default", upstream: str | None = None, more: Iterable[str] = ()) -> None:
        if region not in REGIONS:
            raise SourceError(f"there is no ElevenLabs region {region!r}; choose one of {', '.join(REGIONS)}")
        self.default = parse_upstream(upstream) if upstream else Upstream(REGIONS[region], secure=True)
        allowed = [Upstream(host, secure=True) for host in REGIONS.values()]
        allowed += [self.default, *(parse_upstream(url) for url in more)]
        self._allowed = {one.authority: one for one in allowed}

    def find(self, host: str | None) -> Upstream:
        """The server for a host that a path or a signed URL names; None for the default. Raises `UnknownUpstream`."""
        if host is None:
            return self.default
        known = self._allowed.get(host.lower())
        if known is None:
            raise UnknownUpstream(
                f"the host {host[:100]!r} is not one that this relay may connect to; "
                "if it is yours, name it with --elevenlabs-upstream"
            )
        return known


def parse_upstream(url: str) -> Upstream:
    """`wss://host`, `ws://127.0.0.1:9999`, `https://host/base`. Raises `SourceError` with what is wrong."""
    try:
        parts = urlsplit(url)
        host, port, secure = parts.hostname, parts.port, _SCHEMES[parts.scheme]
    except (ValueError, KeyError):
        host = None
    if not host or parts.query or parts.fragment or parts.username or parts.password:
        raise SourceError(f"{url!r} is no upstream: write it as wss://HOST or ws://HOST:PORT")
    host = f"[{host}]" if ":" in host else host
    if port is not None and port != (443 if secure else 80):
        host = f"{host}:{port}"
    return Upstream(host, secure, parts.path.rstrip("/"))
