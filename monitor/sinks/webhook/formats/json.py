"""The event itself: the same line as everywhere else."""

from __future__ import annotations

from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.sinks.webhook.formats.shape import About, Format


class Json(Format):
    """For receivers of one's own."""

    signed = True

    def body(self, event: Event, about: About) -> bytes:
        """The canonical line, without a line break."""
        return encode(event)
