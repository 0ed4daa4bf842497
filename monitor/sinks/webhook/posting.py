"""One try: an HTTP POST, and what came of it. It follows no redirects, keeps no cookies, reads little of answers."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx

from monitor.sinks import SinkError
from monitor.sinks.literal import literal
from monitor.sinks.spool import Item
from monitor.sinks.webhook.answers import Answer, answer
from monitor.sinks.webhook.formats import FORMATS
from monitor.sinks.webhook.reasons import reason
from monitor.sinks.webhook.settings import WebhookSettings
from monitor.sinks.webhook.signing import MIN_KEY, header_id, key_of, sign
from monitor.sinks.webhook.targets import Target

MAX_ANSWER: Final = 4096
"""Bytes of an answer's body that are read at most."""
READ_WITHIN_S: Final = 1.0
"""The rest of an answer's body is not waited for: what counts is its status."""

_SAID = 200
_posting: ContextVar[bool] = ContextVar("posting", default=False)


class _Hushed(logging.Filter):
    """httpx writes each URL into its log, and the URLs here are secrets. Others' requests are not concerned."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _posting.get()


_HUSHED: Final = _Hushed()
_LOUD: Final = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy", "httpcore.socks")


class Poster:
    """Posts to one target, from one event loop. Raises SinkError where the settings allow no request at all."""

    def __init__(self, target: Target, settings: WebhookSettings) -> None:
        self._target, self._timeout_s, self._ca_file = target, settings.timeout_s, settings.ca_file
        self._format = FORMATS[target.format]
        self._key = key_of(settings.secret) if settings.secret and self._format.signed else None
        if self._key is not None and len(self._key) < MIN_KEY:
            raise SinkError(
                f"webhook.secret makes a key of {len(self._key)} bytes, which can be guessed: it takes {MIN_KEY} or "
                "more, best whsec_ and what `openssl rand -base64 32` says"
            )
        for name in _LOUD:
            logging.getLogger(name).addFilter(_HUSHED)
        try:
            self._client = httpx.AsyncClient(
                auth=target.login,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                headers={"Content-Type": "application/json", "User-Agent": "turnwatch"},
                limits=httpx.Limits(max_connections=2, max_keepalive_connections=1, keepalive_expiry=30.0),
                timeout=httpx.Timeout(settings.timeout_s, connect=0.75 * settings.timeout_s),
                trust_env=not target.loopback,
                verify=_trusted(settings.ca_file) if target.url.startswith("https:") else False,
            )
            self._client.build_request("POST", target.url)
        except httpx.InvalidURL as error:
            raise SinkError(f"webhook.urls: the one at {target} is no URL that can be used ({error})") from None
        except (ImportError, ValueError) as error:
            raise SinkError(
                f"the proxy settings of the environment cannot be used ({type(error).__name__}): HTTPS_PROXY, "
                "HTTP_PROXY and ALL_PROXY take http://HOST:PORT (socks5:// needs: pip install 'httpx[socks]')"
            ) from None

    async def post(self, item: Item) -> Answer:
        """Send it once. Never raises but for cancellation."""
        mark = _posting.set(True)
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._client.send(self._request(item), stream=True)
            try:
                said = await self._beginning(response)
            finally:
                with suppress(Exception):
                    await response.aclose()
            return answer(response.status_code, response.headers, said, datetime.now(UTC))
        except Exception as error:  # whatever it is, the event is not lost by it
            return Answer("again", reason(error, self._target, self._ca_file))
        finally:
            _posting.reset(mark)

    async def close(self) -> None:
        """Let go of the connection."""
        with suppress(Exception):
            async with asyncio.timeout(0.5):
                await self._client.aclose()

    def _request(self, item: Item) -> httpx.Request:
        body = self._format.sent(item.body, self._target.routing_key)
        webhook_id, now_s = header_id(item.key), int(time.time())
        headers = {"webhook-id": webhook_id, "webhook-timestamp": str(now_s)}
        if self._key is not None:
            headers["webhook-signature"] = sign(self._key, webhook_id, now_s, body)
        return self._client.build_request("POST", self._target.url, content=body, headers=headers)

    async def _beginning(self, response: httpx.Response) -> str:
        """The beginning of the body, for people. Small bodies are read to their end, so that the connection stays."""
        read = bytearray()
        with suppress(httpx.HTTPError, TimeoutError, OSError):
            async with asyncio.timeout(READ_WITHIN_S):
                async for piece in response.aiter_raw(MAX_ANSWER):
                    read += piece[:MAX_ANSWER]
                    if len(read) >= MAX_ANSWER:
                        break
        if response.is_success:
            return ""
        return literal(self._target.scrubbed(read[:MAX_ANSWER].decode("utf-8", "replace")), _SAID)


def _trusted(ca_file: str | None) -> ssl.SSLContext | bool:
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except FileNotFoundError as error:
        raise SinkError(f"webhook.ca_file: there is no file {ca_file}") from error
    except (OSError, ssl.SSLError) as error:
        raise SinkError(f"webhook.ca_file: {ca_file} holds no certificate in PEM") from error
