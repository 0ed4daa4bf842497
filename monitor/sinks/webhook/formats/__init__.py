"""What is said to whom. To add a format: a file with a class like this, and a row in `FORMATS`; it is then asked for as
`yours+https://…`.

    class Plain(Format):
        takes = ALERTS

        def body(self, event: Event, about: About) -> bytes:
            return event.call.encode()

        def lost(self, event: AlertRaised, about: About) -> bytes:
            return b"unknown: " + event.call.encode()
"""

from __future__ import annotations

from monitor.sinks.webhook.formats.json import Json
from monitor.sinks.webhook.formats.pagerduty import PagerDuty
from monitor.sinks.webhook.formats.shape import ALERTS as ALERTS
from monitor.sinks.webhook.formats.shape import About as About
from monitor.sinks.webhook.formats.shape import Format as Format
from monitor.sinks.webhook.formats.slack import Slack

FORMATS: dict[str, Format] = {"json": Json(), "slack": Slack(), "pagerduty": PagerDuty()}
"""By the prefix of the URL; `json` is also what a URL without one gets."""
