"""Which alerts the target was told of that are not over: those of a program that was killed are ended by the next one.

What is to be said then is made when an alert is raised, and kept in a file beside the spool. The next program with the
same target puts it into the spool, behind all that waits there: PagerDuty gets its `resolve`, people a line that nobody
knows how the alert stands, and programs an `alert.lost` (see `formats/json.py`). A call that ends, and a program that
stops in order, clear their alerts themselves.
"""

from __future__ import annotations

import hashlib

from monitor.core.events import AlertCleared, AlertRaised, CallEnded, Event
from monitor.sinks.spool import Spool
from monitor.sinks.webhook.formats.shape import About, Format


class OpenAlerts:
    """One target's. `record`: the file beside the spool."""

    def __init__(self, record: Spool, format: Format) -> None:
        self._record, self._format = record, format
        self._open: dict[str, tuple[str, int]] = {}  # alert id -> call, number in the record

    def end_former(self, spool: Spool) -> int:
        """Put into the spool what is to be said of a former program's. -> how many alerts that are."""
        former = {}
        item = self._record.head()
        while item is not None:
            former[item.meta["alert"]] = item
            item = self._record.after(item.number)
        for alert_id, item in former.items():
            mark = hashlib.sha256(alert_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            spool.put(f"{item.meta['call']}#lost-{mark}", item.body, {"type": "alert.lost"})
        item = self._record.head()
        while item is not None:  # one that is raised again has been told of several times
            self._record.done(item.number)
            item = self._record.head()
        return len(former)

    def follow(self, event: Event, about: About) -> None:
        """Take note of an event that is in the spool."""
        if isinstance(event, AlertRaised):
            alert_id, before = event.alert.id, self._open.get(event.alert.id)
            meta = {"alert": alert_id, "call": event.call}
            number = self._record.put(f"{event.call}#{event.seq}", self._format.lost(event, about), meta)
            self._open[alert_id] = (event.call, number)
            if before is not None and before[1] != number:
                self._record.done(before[1])
        elif isinstance(event, AlertCleared):
            self._close(event.alert.id)
        elif isinstance(event, CallEnded):
            for alert_id in [one for one, (call, _) in self._open.items() if call == event.call]:
                self._close(alert_id)

    def close(self) -> None:
        """Let go of the file."""
        self._record.close()

    def _close(self, alert_id: str) -> None:
        if (standing := self._open.pop(alert_id, None)) is not None:
            self._record.done(standing[1])
