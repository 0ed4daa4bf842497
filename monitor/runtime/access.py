"""Who may talk to us: addresses to listen on, and the token that clients must show on ports beyond loopback.

A client shows the token in the way that it can:

| where | who can |
|---|---|
| `Authorization: Bearer TOKEN` | programs |
| `?token=TOKEN` | browsers |
| `/t/TOKEN/` in front of the path | Twilio, and SDKs that take no more than a base URL |

The header and the query are taken away once they have been checked, so that they reach nobody else: the relay passes on
the rest. The path stays: the relay hands it out again in signed URLs, and passes over whatever stands before `/v1`.
A token is compared in constant time and never logged.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import quote, unquote


class NotAnAddress(Exception):
    """Something that should be HOST:PORT and is not."""


class Address(NamedTuple):
    """Where a port is bound. Port 0: any free one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it. A name other than `localhost` counts as beyond."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def bind(self) -> socket.socket:
        """A socket that is bound here. Raises OSError."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        return socket.create_server((self.host, self.port), family=family, backlog=1024)


def parse_address(text: str) -> Address:
    """`127.0.0.1:8765`, `[::1]:8765`, `:8765` (every interface). Raises NotAnAddress."""
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise NotAnAddress(f"{text} is no address to listen on: it takes HOST:PORT, as in 127.0.0.1:8765")
    return Address(host or "0.0.0.0", int(port))


class Admitted(NamedTuple):
    """A request that may go on. `path`: as the next in line should see it. `by_header`: `Authorization` was for us."""

    path: str
    by_header: bool = False


class Doorkeeper:
    """Checks the token of each request; without one, everybody may pass."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def admit(self, path: str, authorization: str | None = None) -> Admitted | None:
        """A request for `path` (with its query) and with this `Authorization`; None if it may not pass."""
        if self._token is None:
            return Admitted(path)
        scheme, _, shown = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and self.knows(shown.strip()):
            return Admitted(path, by_header=True)
        place, mark, query = path.partition("?")
        pairs = query.split("&") if mark else []
        kept = [pair for pair in pairs if not (pair.startswith("token=") and self.knows(unquote(pair[6:])))]
        if len(kept) < len(pairs):
            return Admitted(f"{place}?{'&'.join(kept)}" if kept else place)
        if self.knows(self._in_path(place)):
            return Admitted(path)
        return None

    def knows(self, shown: str) -> bool:
        """Whether this is the token."""
        return self._token is not None and hmac.compare_digest(shown.encode("utf-8", "replace"), self._token.encode())

    def with_token(self, path: str) -> str:
        """`path` with the token in front, for clients that come back by an address that we hand out."""
        if self._token is None or self.knows(self._in_path(path.partition("?")[0])):
            return path
        return f"/t/{quote(self._token, safe='')}{path}"

    @staticmethod
    def _in_path(place: str) -> str:
        _, mark, rest = place.partition("/t/")
        return unquote(rest.partition("/")[0]) if mark else ""
