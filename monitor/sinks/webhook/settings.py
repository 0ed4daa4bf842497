"""`[webhook]`: who is told of alerts by HTTP."""

from __future__ import annotations

import msgspec

from monitor.core import events
from monitor.sinks.webhook.signing import key_of


class WebhookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Off unless `urls` are given.

    `urls`: where to post to. `https://…` gets the events as they are, `slack+https://…` is an incoming webhook of Slack
    (or of what understands the same), `pagerduty+https://KEY@events.pagerduty.com` the Events API v2 with its routing
    key. They hold secrets: a command line can be seen by others on the machine, TURNWATCH_WEBHOOK__URLS='["…"]' cannot.
    `events`: the types of events that are sent. Slack and PagerDuty take alerts only, whatever else stands here.
    `secret`: signs what is sent to `https://…`; best `whsec_` and base64 of 24 random bytes or more; it must have 16.
    `pagerduty_key`: the routing key for PagerDuty where the URL has none.
    `ca_file`: certificates (PEM) to trust in place of the usual ones. `allow_plain_http`: true lets `http://` go beyond
    this machine, for all on the way to read. Proxies are taken from the environment (HTTPS_PROXY, HTTP_PROXY,
    NO_PROXY), but never for a target on this machine.

    `timeout_s`: how long one try may take, in seconds. `first_rest_s`: the pause after the first failure; each further
    one is twice as long, shortened by up to a half at random. `longest_rest_s`: no pause is longer.
    `refused_rest_s`: the pause after an answer that people must put right here or there (401, 403, 404, 410, 3xx, …);
    each further one is twice as long. `refused_longest_rest_s`: none of these is longer. What is wrong with one event
    (400, 413, 415, 422) is tried three times; then that one is given up, counted and told.
    `open_after_failures`: after so many failures one after the other the target counts as away. `retry_after_max_s`: a
    target that asks for a pause gets it, up to so many seconds. `keep_h`: what could not be delivered for so many hours
    is given up, counted and told.

    `spool_dir`: the folder of what waits; `~/.local/state/turnwatch` if it is not given. `spool_max_items`,
    `spool_max_mb`: beyond these the oldest is dropped, counted and told; for each target.
    """

    urls: tuple[str, ...] = ()
    events: tuple[str, ...] = ("alert.raised", "alert.cleared")
    secret: str | None = None
    pagerduty_key: str | None = None
    ca_file: str | None = None
    allow_plain_http: bool = False
    timeout_s: float = 10.0
    first_rest_s: float = 0.5
    longest_rest_s: float = 30.0
    refused_rest_s: float = 30.0
    refused_longest_rest_s: float = 600.0
    open_after_failures: int = 5
    retry_after_max_s: float = 600.0
    keep_h: float = 24.0
    spool_dir: str | None = None
    spool_max_items: int = 10_000
    spool_max_mb: int = 64

    def __post_init__(self) -> None:
        for key, (low, high) in _RANGES.items():
            if not low <= getattr(self, key) <= high:
                raise ValueError(f"webhook.{key} must be a number from {low:,} to {high:,}; got {getattr(self, key)!r}")
        known = sorted(kind.type for kind in events.Event.__subclasses__() if kind.type)
        if not self.events or not set(self.events) <= set(known):
            raise ValueError(f"webhook.events takes one or more of {', '.join(known)}; got {list(self.events)!r}")
        if self.secret is not None:
            key_of(self.secret)

    def __repr__(self) -> str:
        return f"WebhookSettings(urls={len(self.urls)}, events={self.events!r}, …)"


_RANGES: dict[str, tuple[float, float]] = {
    "timeout_s": (0.05, 600),
    "first_rest_s": (0.01, 600),
    "longest_rest_s": (0.01, 86_400),
    "refused_rest_s": (0.01, 86_400),
    "refused_longest_rest_s": (0.01, 86_400),
    "open_after_failures": (1, 1000),
    "retry_after_max_s": (0, 86_400),
    "keep_h": (0.01, 8760),
    "spool_max_items": (1, 10_000_000),
    "spool_max_mb": (1, 1_000_000),
}
