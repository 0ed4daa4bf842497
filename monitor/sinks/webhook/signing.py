"""Who sent it, and which event it is: the headers of Standard Webhooks (specification 1.0.0, "signature scheme").

What is signed is `<webhook-id>.<webhook-timestamp>.<raw body>`. The id is there so that nobody can pass an event off as
another one; it holds no full stop, so that it cannot reach into what stands behind it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import quote

from monitor.core.encode import clean_text

PREFIX = "whsec_"
MIN_KEY = 16
"""Bytes to sign with, at least."""
TOLERANCE_S = 300.0
"""A try whose timestamp is further off than this is not believed: it may be an old one, sent again by a stranger."""

_MAX_ID = 200
_PLAIN = "#/:@=+,;!*()_-"  # beside letters and digits; a call's id may hold anything, a header may not


def key_of(secret: str) -> bytes:
    """The bytes to sign with: of `whsec_<base64>` what it encodes, of anything else its UTF-8. Raises ValueError."""
    if not secret.startswith(PREFIX):
        key = clean_text(secret).encode()
    else:
        try:
            key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("webhook.secret begins with whsec_, and what follows is not base64") from None
    if not key:
        raise ValueError("webhook.secret is empty: leave it out, or give one")
    return key


def header_id(event_id: str) -> str:
    """`<call>#<seq>` as it can stand in a header: other characters than plain ones as `%XX`, and never longer than 200
    characters: a longer one is cut, with a hash of the whole before its `#<seq>`."""
    call, _, seq = clean_text(event_id).rpartition("#")
    plain = quote(call, safe=_PLAIN).replace(".", "%2E").replace("~", "%7E")
    if len(plain) + len(seq) + 1 > _MAX_ID:
        plain = f"{plain[:120]}~{hashlib.sha256(plain.encode()).hexdigest()[:32]}"
    return f"{plain}#{seq}"


def sign(key: bytes, webhook_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature`."""
    signed = hmac.digest(key, f"{webhook_id}.{timestamp_s}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(signed).decode()}"


def verify(secret: str, headers: Mapping[str, str], body: bytes, now_s: float) -> bool:
    """Whether a request is genuine, for receivers. `headers`: the names in any case. `body`: the bytes as they came.
    `now_s`: seconds since 1970. Each event comes once or more: see to it that a `webhook-id` counts once."""
    found = {name.lower(): value for name, value in headers.items()}
    webhook_id, timestamp = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    if not webhook_id or not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 16):
        return False
    if abs(now_s - int(timestamp)) > TOLERANCE_S:
        return False
    wanted = sign(key_of(secret), webhook_id, int(timestamp), body).encode()
    given = found.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(wanted, one.encode("utf-8", "replace")) for one in given)
