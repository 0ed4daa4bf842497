"""HTTP answers of the relay: its own, and the provider's passed on."""

from __future__ import annotations

import email.utils
import http
from collections.abc import Iterable

from websockets.datastructures import Headers
from websockets.http11 import Response

MAX_BODY = 1 << 16
_PASSED_ON = ("content-type", "retry-after", "www-authenticate")


def answer(status: int, content_type: str, body: bytes, more: Iterable[tuple[str, str]] = ()) -> Response:
    """A whole HTTP answer, after which the connection is closed."""
    headers = Headers(
        [
            ("Date", email.utils.formatdate(usegmt=True)),
            ("Connection", "close"),
            ("Content-Length", str(len(body))),
            ("Content-Type", content_type),
            *more,
        ]
    )
    return Response(status, _phrase(status), headers, body)


def refusal(status: int, sentence: str) -> Response:
    """The relay itself refuses, and says why."""
    return answer(status, "text/plain; charset=utf-8", f"Turnwatch relay: {sentence}.\n".encode())


def passed_on(status: int, headers: Iterable[tuple[str, str]], body: bytes | bytearray | None) -> Response:
    """The provider's refusal: same status, same words. What is no refusal is none of an upgrade either: 502."""
    if not 400 <= status <= 599:
        return refusal(502, f"the provider answered with HTTP {status}, which is neither a conversation nor a refusal")
    kept = {name.lower(): value for name, value in headers if name.lower() in _PASSED_ON}
    content_type = kept.pop("content-type", "text/plain; charset=utf-8")
    return answer(status, content_type, bytes(body or b"")[:MAX_BODY], kept.items())


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
