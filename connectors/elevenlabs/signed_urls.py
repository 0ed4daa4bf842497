"""The one REST call that a conversation needs: a signed URL, fetched with a key and pointed back at the relay.

The key comes from the client, or is the server's own, which never leaves it. In the answer scheme, host and path prefix
of `signed_url` become the relay's, and its query is percent-encoded in full: the Python SDK decodes and encodes it
again, and would turn a literal `+` into a space.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import msgspec
from websockets.datastructures import Headers

from connectors.elevenlabs.answers import answer, passed_on, refusal
from connectors.elevenlabs.upstreams import ROOT, Target, UnknownUpstream, Upstream, Upstreams, via

if TYPE_CHECKING:
    import httpx
    from websockets.http11 import Response

PATH = "conversation/get-signed-url"
TIMEOUT_S = 10.0
MAX_BODY = 1 << 20

_HOST = re.compile(r"[A-Za-z0-9.\-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class SignedUrls:
    """Fetches signed URLs. `public_url`: where clients reach the relay, None to go by their own request."""

    def __init__(self, upstreams: Upstreams, api_key: str | None, public_url: str | None) -> None:
        self._upstreams = upstreams
        self._api_key = api_key
        self._public_url = public_url.rstrip("/") if public_url else None
        self._clients: dict[bool, httpx.AsyncClient] = {}

    async def fetch(self, target: Target, headers: Headers, *, secure: bool) -> Response:
        """The provider's answer, its `signed_url` rewritten; its refusal as it came. `secure`: the request came by
        TLS."""
        import httpx

        public = self._public(headers, secure)
        if public is None:
            return refusal(400, "the request names no usable Host, so this relay cannot tell its own address")
        upstream = self._upstreams.find(target.host)
        key = next(iter(headers.get_all("xi-api-key")), None) or self._api_key
        sent = {"xi-api-key": key} if key else {}
        if agent := next(iter(headers.get_all("User-Agent")), None):
            sent["User-Agent"] = agent
        try:
            response = await self._client(upstream).get(upstream.rest_url(target), headers=sent)
        except httpx.TimeoutException:
            return refusal(504, f"{upstream.authority} did not answer within {TIMEOUT_S:g} s")
        except httpx.HTTPError as error:
            return refusal(502, f"cannot reach {upstream.authority}: {error or type(error).__name__}")
        if response.status_code != 200:
            return passed_on(response.status_code, response.headers.items(), response.content)
        return self._rewritten(response.content, public, target)

    async def close(self) -> None:
        """Release the connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, upstream: Upstream) -> httpx.AsyncClient:
        import httpx

        direct = upstream.is_loopback
        if direct not in self._clients:
            self._clients[direct] = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=not direct)
        return self._clients[direct]

    def _public(self, headers: Headers, secure: bool) -> str | None:
        if self._public_url:
            return re.sub(r"^http", "ws", self._public_url)
        host = next(iter(headers.get_all("Host")), "")
        proto = next(iter(headers.get_all("X-Forwarded-Proto")), "https" if secure else "http")
        scheme = "wss" if proto.strip().lower() in ("https", "wss") else "ws"
        return f"{scheme}://{host}" if _HOST.fullmatch(host) else None

    def _rewritten(self, body: bytes, public: str, target: Target) -> Response:
        try:
            fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
            signed = urlsplit(msgspec.json.decode(fields["signed_url"], type=str))
            path = signed.path[signed.path.index(ROOT) :]
            upstream = self._upstreams.find(_authority(signed.scheme, signed.netloc))
        except UnknownUpstream as unknown:
            return refusal(502, f"the signed URL leads elsewhere: {unknown}")
        except (KeyError, ValueError, RecursionError):
            return refusal(502, "the provider's answer holds no signed URL that this relay understands")
        url = f"{public}{via(target, upstream)}{path}?{encoded(signed.query)}"
        fields["signed_url"] = msgspec.Raw(msgspec.json.encode(url))
        return answer(200, "application/json", msgspec.json.encode(fields))


def encoded(query: str) -> str:
    """The query with everything but names, values and their separators percent-encoded; what is encoded stays so."""
    pairs = []
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        pairs.append(_quoted(name) + equals + _quoted(value))
    return "&".join(pairs)


def _quoted(part: str) -> str:
    return quote(_ESCAPE.sub("%25", part), safe="%")


def _authority(scheme: str, netloc: str) -> str:
    default = {"wss": ":443", "https": ":443", "ws": ":80", "http": ":80"}.get(scheme, "")
    return netloc.removesuffix(default) if default else netloc
