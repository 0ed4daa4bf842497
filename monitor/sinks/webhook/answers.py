"""What a receiver's answer means for the event that was sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

Outcome = Literal["delivered", "again", "refused", "unfit", "never"]
"""`again`: it is away. `refused`: people must put something right, here or there. `unfit`: this one event is at fault.
`never`: it is given up."""

_AGAIN = frozenset({407, 408, 421, 425, 429})
"""What may get better among the 4xx by itself: the proxy, a time-out, the connection, too early, too often."""

_UNFIT = frozenset({400, 409, 413, 415, 422})
"""What is wrong with the one event that was sent; another may be taken."""

_OF_THE_KEY = re.compile(r"routing.?key|integration.?key|invalid.?token|credential", re.IGNORECASE)
"""PagerDuty says 400 to a routing key that it does not know: no event is at fault."""

_ADVICE = {
    400: "it does not accept what is sent: look at its own log, and at the URL's prefix (slack+, pagerduty+)",
    401: "it does not accept the credentials: look at the user, key or password in the URL",
    402: "whoever runs it wants to be paid",
    403: "it does not let this in: look at the secret part of the URL, and webhook.secret",
    404: "there is nothing at this URL: look at it, or make a new one there",
    405: "it does not take POST: the URL is not that of a webhook",
    410: "the webhook was removed there: make a new one, or take this one out of webhook.urls",
    413: "the event is too large for it",
    415: "it does not take JSON: the URL is not that of such a webhook",
    422: "it does not accept what is sent: look at its own log, and at the URL's prefix (slack+, pagerduty+)",
    429: "too much is sent to it",
}


class Answer(NamedTuple):
    """`reason`: the same words for the same trouble, so that it can be told once; `detail`: what else is known.
    `retry_after_s`: the receiver's wish, or None."""

    outcome: Outcome
    reason: str = ""
    detail: str = ""
    retry_after_s: float | None = None


def answer(status: int, headers: Mapping[str, str], said: str, now: datetime) -> Answer:
    """Weigh an answer. `headers`: found by names in lower case. `said`: the beginning of its body, without secrets."""
    if 200 <= status < 300:
        return Answer("delivered")
    if 300 <= status < 400:
        place = _host(headers.get("location", ""))
        where = f" to {place}" if place else ""
        return Answer("refused", f"it redirects{where} ({status}), and nobody follows: set the URL of the new place")
    advice = _ADVICE.get(status)
    reason = f"it answers {status}" + (f": {advice}" if advice else "")
    detail = f"it says: {said}" if said else ""
    if status >= 500 or status in _AGAIN:
        return Answer("again", reason, detail, retry_after_s(headers.get("retry-after", ""), now))
    if status in _UNFIT and not (status == 400 and _OF_THE_KEY.search(said)):
        return Answer("unfit", reason, detail)
    return Answer("refused", reason, detail, retry_after_s(headers.get("retry-after", ""), now))


def retry_after_s(wish: str, now: datetime) -> float | None:
    """`Retry-After` (RFC 9110, 10.2.3), seconds or a date, as seconds from `now`; None for anything else."""
    text = wish.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())


def _host(location: str) -> str:
    try:
        parts = urlsplit(location)
        host = parts.hostname or ""
    except ValueError:
        return ""
    plain = host.isascii() and host.isprintable() and len(host) < 254 and parts.scheme in ("http", "https")
    return f"{parts.scheme}://{host}" if plain and host else ""
