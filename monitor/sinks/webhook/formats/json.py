"""The event itself: the same line as everywhere else.

One more body is posted that is no event of a call, and so has no `seq` and no times of its own:

    {"v":1,"type":"alert.lost","call":"call-17","alert":{...},"cause":"monitor stopped"}

The monitor was killed while this alert was open, and has come again; the alert, as it was last raised, will not be
cleared, and how it stands is unknown. Its `webhook-id` is `<call>#lost-<12 hex digits>`.
"""

from __future__ import annotations

import msgspec

from monitor.core.encode import VERSION, encode
from monitor.core.events import AlertRaised, Event
from monitor.sinks.webhook.formats.shape import About, Format


class Json(Format):
    """For receivers of one's own."""

    signed = True

    def body(self, event: Event, about: About) -> bytes:
        """The canonical line, without a line break."""
        return encode(event)

    def lost(self, event: AlertRaised, about: About) -> bytes:
        """`alert.lost`."""
        told = msgspec.json.decode(encode(event))
        lost = {"v": VERSION, "type": "alert.lost", "call": told["call"], "alert": told["alert"]}
        return msgspec.json.encode({**lost, "cause": "monitor stopped"})
