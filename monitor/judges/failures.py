"""An HTTP answer that is no verdict -> a `JudgeFailure` that says what it means. Pure.

| answer | kind | then |
|---|---|---|
| 401, 403, 404, a model that does not exist | `configuration` | the judge is told off once, and asked no more |
| 402, 429 with a spent quota | `quota` | the same |
| any other 429 | `rate_limit` | waited for, as long as the server says |
| 408, 504 | `timeout` | tried again |
| 500 and above, 409, 425 | `server` | tried again |
| a filter, or a request that the server will not take | `refusal` | the same request would end the same way |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from monitor.judges import FailureKind, JudgeFailure
from monitor.judges.sentences import one_sentence

QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded"}
FILTERED = {"content_filter", "content_policy_violation", "moderation_blocked"}
TOO_LONG = {"context_length_exceeded", "string_above_max_length", "max_tokens_exceeded"}
NO_MODEL = {"model_not_found", "invalid_model", "deployment_not_found"}

MAX_RETRY_AFTER_S = 86_400.0


def failure_of(
    status: int, headers: Mapping[str, str], body: Any, server: str, *, secret: str | None = None, now: datetime | None
) -> JudgeFailure:
    """What an HTTP `status` of `server` (its name, for people) means. `body`: the decoded JSON or text. `secret`: a key
    that must not be told, though servers quote it. `now`: for a Retry-After that is a date; None: such dates are
    passed over."""
    found, words = codes(body), _words(_error(body), secret)
    told = f": {words}" if words else ""
    kind = _kind(status, found, words or "")
    if kind == "configuration":
        return JudgeFailure(
            kind, f"{server} {_what_to_do(status, found)} (HTTP {status}{told if status == 404 else ''})"
        )
    if kind == "quota":
        return JudgeFailure(kind, f"the quota at {server} is used up: look at its billing page (HTTP {status}{told})")
    if kind == "refusal":
        return JudgeFailure(kind, f"{server} refused the request (HTTP {status}{told})")
    wish = retry_after_s(headers, now)
    if kind == "rate_limit":
        return JudgeFailure(kind, f"{server} limits the rate of requests (HTTP {status})", wish)
    return JudgeFailure(kind, f"{server} failed (HTTP {status}{told})", wish)


def _kind(status: int, found: set[str], words: str) -> FailureKind:
    if status == 402 or (status == 429 and (found & QUOTA or "exceeded your current quota" in words.casefold())):
        return "quota"
    if status == 429:
        return "rate_limit"
    if found & FILTERED:
        return "refusal"
    if status in (401, 403, 404, 405, 407) or found & NO_MODEL or status < 400:
        return "configuration"
    if status in (408, 504, 524):
        return "timeout"
    if status in (409, 425) or status >= 500:
        return "server"
    return "refusal"


def _what_to_do(status: int, found: set[str]) -> str:
    if status == 401:
        return "does not take the key: check it in the environment"
    if status == 403:
        return "does not let this key use the model: check what it is allowed"
    if found & NO_MODEL:
        return "does not know the model: check its name"
    if status == 404:
        return "has no such address or model: check both in the settings (an address often ends in /v1)"
    return "cannot be used as it is configured: check its address in the settings"


def retry_after_s(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """How many seconds the server wishes to be left alone: `retry-after-ms`, or `Retry-After` in seconds or as a date
    (RFC 9110, 10.2.3). None where it does not say, or says nothing sensible."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = (headers.get(name) or "").strip()
        try:
            wish = float(value) * scale
        except ValueError:
            continue
        if math.isfinite(wish) and wish >= 0:
            return min(wish, MAX_RETRY_AFTER_S)
    return None if now is None else _until(headers.get("retry-after") or "", now)


def _until(date: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(date)
        wish = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, wish), MAX_RETRY_AFTER_S)


def _error(body: Any) -> Any:
    return body.get("error", body) if isinstance(body, dict) else body


def codes(body: Any) -> set[str]:
    """The codes by which a server names the error in `body`, in small letters."""
    error = _error(body)
    if isinstance(error, dict) and isinstance(error.get("detail"), dict):
        error = error | error["detail"]
    if not isinstance(error, dict):
        return set()
    given = (error.get(key) for key in ("code", "type", "error_type"))
    return {code.casefold() for code in given if isinstance(code, str)}


def _words(error: Any, secret: str | None) -> str | None:
    """What the server says, for people; without the key, which some servers quote."""
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    if isinstance(error, dict):
        error = error.get("message", "")
    if not isinstance(error, str) or error.lstrip().startswith("<"):
        return None
    return one_sentence(error.replace(secret, "…") if secret else error, 200)
