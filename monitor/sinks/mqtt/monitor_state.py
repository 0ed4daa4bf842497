"""Whether a monitor is there: retained, `{"v": 1, "site", "monitor", "state": "online" | "offline", …}`.

Online holds for `mqtt.state_expiry_s` and is renewed at half the time: a broker that was down when the monitor died,
and so knows of no last will, does not call it online for ever. Offline is forgotten after a week; of a monitor that
goes by a made-up name, since its own was taken, nothing stays behind.

Online also says which `instance` it is (see `name_taken.py`), and, in `lost_alerts`, the last levels of the topics of
the alerts that were open when its former life was killed: they are not cleared, and how they stand is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from monitor.core.encode import VERSION
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.message import Message

_WEEK_S = 7 * 86_400
_MAX_LOST = 100


class MonitorState:
    """What is told of one monitor. `monitor` may change: see `sink.py`."""

    def __init__(
        self, site: str, monitor: str, expiry_s: int, instance: str = "", lost_alerts: Sequence[str] = ()
    ) -> None:
        self.monitor = self._own = monitor
        self._told: dict[str, Any] = {"instance": instance, "holds_s": expiry_s}
        if lost_alerts:
            self._told |= {"lost_alerts": list(lost_alerts[:_MAX_LOST])}
        self._site, self._expiry_s = site, expiry_s
        self._since = datetime.now(UTC).isoformat(timespec="milliseconds")

    def online(self) -> Message:
        """It is there, since it started."""
        return self._message({"state": "online", "since": self._since, **self._told}, self._expiry_s)

    def will(self) -> Message:
        """What the broker says where the connection breaks."""
        return self._message({"state": "offline", "cause": "lost"}, self._expiry_s if self.renamed else _WEEK_S)

    def stopped(self) -> Message:
        """It ends in order."""
        return self._message({"state": "offline", "cause": "stopped"}, _WEEK_S)

    def forgotten(self) -> Message:
        """Nothing is retained of it any more."""
        return Message(topic=topics.monitors(self._site, self.monitor), qos=1, retain=True)

    @property
    def renamed(self) -> bool:
        """It goes by a made-up name."""
        return self.monitor != self._own

    def _message(self, told: dict[str, Any], expiry_s: int) -> Message:
        names = {"site": topics.plain(self._site), "monitor": topics.plain(self.monitor)}
        payload = msgspec.json.encode({"v": VERSION, **names, **told})
        topic = topics.monitors(self._site, self.monitor)
        return Message(topic=topic, payload=payload, qos=1, retain=True, expiry_s=expiry_s)
