"""Whether a monitor is there: retained, `{"v": 1, "site", "monitor", "state": "online" | "offline", …}`.

Online holds for `mqtt.state_expiry_s` and is renewed at half the time: a broker that was down when the monitor died,
and so knows of no last will, does not call it online for ever. Offline is forgotten after a week.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from monitor.core.encode import VERSION
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.message import Message

_WEEK_S = 7 * 86_400


class MonitorState:
    """What is told of one monitor. `monitor` may change: see `sink.py`."""

    def __init__(self, site: str, monitor: str, expiry_s: int) -> None:
        self.monitor = monitor
        self._site, self._expiry_s = site, expiry_s
        self._since = datetime.now(UTC).isoformat(timespec="milliseconds")

    def online(self) -> Message:
        """It is there, since it started."""
        return self._message({"state": "online", "since": self._since}, self._expiry_s)

    def will(self) -> Message:
        """What the broker says where the connection breaks."""
        return self._message({"state": "offline", "cause": "lost"}, _WEEK_S)

    def stopped(self) -> Message:
        """It ends in order."""
        return self._message({"state": "offline", "cause": "stopped"}, _WEEK_S)

    def _message(self, told: dict[str, str], expiry_s: int) -> Message:
        names = {"site": topics.plain(self._site), "monitor": topics.plain(self.monitor)}
        payload = msgspec.json.encode({"v": VERSION, **names, **told})
        topic = topics.monitors(self._site, self.monitor)
        return Message(topic=topic, payload=payload, qos=1, retain=True, expiry_s=expiry_s)
