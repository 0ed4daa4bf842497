"""Who of several processes of a site raises alerts across calls: one of them, by a claim that the broker retains.

    turnwatch/<site>/fleet/leader            {"process": ID}, retained; the last will empties it
    turnwatch/<site>/fleet/agents/<agent>    {"process", "agent", "baseline", "turns", "raised", "severity", "alert"},
                                             retained: what the leader knows; `alert`: the last event of what is open

Every `turnwatch fleet` hears all calls, also where a shared subscription (`fleet.group`) splits what is shown: a
barge-in is made of several events, and half of them is no half of the answer. So counts are nowhere added up; one
process has them all, and the others have them too and are silent. The broker puts claims in one order for everybody,
and the last one counts. A leader that dies is missed at once (its will), and whoever is left claims; a will that comes
late empties the claim of somebody who lives, who then claims again. Whoever leads next goes on with the alerts that are
open, under their ids: a leader that died has cleared nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from monitor.core.decode import Undecodable, event_of
from monitor.core.encode import encode
from monitor.core.events import AlertRaised, Severity
from monitor.core.fleet.alerts import SOURCE
from monitor.runtime.fleet import Known
from monitor.sinks.mqtt import topics
from monitor.sinks.mqtt.message import Message

GRACE_S = 1.0
"""So long the retained claim of another is waited for."""


def leader_topic(site: str) -> str:
    """Where the claim stands."""
    return f"{topics.ROOT}/{topics.level(site)}/fleet/leader"


def agents_topic(site: str, agent: str | None = None) -> str:
    """Where the leader says what it knows of an agent; of all agents."""
    level = "+" if agent is None else topics.level(agent)
    return f"{topics.ROOT}/{topics.level(site)}/fleet/agents/{level}"


class Claim:
    """What one process knows of who leads. `process`: its own id."""

    def __init__(self, site: str, process: str) -> None:
        self._site = site
        self._process = process
        self.leader: str | None = None

    @property
    def leading(self) -> bool:
        """It is this process."""
        return self.leader == self._process

    @property
    def claim(self) -> Message:
        """To be published where nobody leads."""
        return Message(topic=leader_topic(self._site), payload=_json({"process": self._process}), qos=1, retain=True)

    @property
    def will(self) -> Message:
        """Empties the claim."""
        return Message(topic=leader_topic(self._site), qos=1, retain=True)

    def state(self, known: Known, alert: AlertRaised | None = None) -> Message:
        """What the leader knows of an agent, and what it told last of the alert that is open."""
        line = None if alert is None else msgspec.Raw(encode(alert))
        told = {"process": self._process, **msgspec.structs.asdict(known), "alert": line}
        return Message(topic=agents_topic(self._site, known.agent), payload=_json(told), qos=1, retain=True)

    def heard(self, payload: bytes) -> None:
        """The claim that counts now; empty where nobody has one."""
        self.leader = leader_of(payload)


def leader_of(payload: bytes) -> str | None:
    """The process of a claim; None for one that is none."""
    told = _read(payload)
    process = told.get("process")
    return process if isinstance(process, str) and process else None


class LedView:
    """For those who are led: what the leader says."""

    def __init__(self, max_agents: int) -> None:
        self._max_agents = max_agents
        self._agents: dict[str, tuple[str, Known, AlertRaised | None]] = {}
        self.leader: str | None = None

    def heard(self, topic: str, payload: bytes) -> bool:
        """A message of one of the two kinds. -> whether something may have changed."""
        if topic.endswith("/fleet/leader"):
            self.leader = leader_of(payload)
            return True
        try:
            told = msgspec.convert(_read(payload), _State)
        except msgspec.ValidationError:
            return False
        self._agents.pop(told.agent, None)
        known = Known(told.agent, told.baseline, told.raised, told.raised_as, max(0, told.turns))
        self._agents[told.agent] = told.process, known, _alert(told)
        if len(self._agents) > self._max_agents:
            del self._agents[next(iter(self._agents))]
        return True

    @property
    def known(self) -> dict[str, Known] | None:
        """By agent; None where nobody leads. What a leader before has left says what is usual, but raises nothing."""
        if self.leader is None:
            return None
        return {
            name: known if process == self.leader else msgspec.structs.replace(known, raised=False, severity=None)
            for name, (process, known, _) in self._agents.items()
        }

    @property
    def left(self) -> list[tuple[Known, AlertRaised | None]]:
        """What whoever led last has said of each agent, and the alert that it had open."""
        return [(known, alert) for _, known, alert in self._agents.values()]


class _State(msgspec.Struct, frozen=True):
    process: str
    agent: str
    baseline: float | None
    raised: bool
    severity: Severity | None = None
    turns: int = 0
    alert: dict[str, Any] | None = None

    @property
    def raised_as(self) -> Severity | None:
        return (self.severity or "warning") if self.raised else None


def _alert(told: _State) -> AlertRaised | None:
    """The alert that is open, where it can be gone on with."""
    if told.alert is None or not told.raised:
        return None
    try:
        event = event_of(told.alert)
    except Undecodable:
        return None
    ours = isinstance(event, AlertRaised) and event.call.startswith(f"{SOURCE}:{told.agent}@")
    return event if ours and isinstance(event, AlertRaised) else None


def _json(told: dict[str, Any]) -> bytes:
    return msgspec.json.encode(told)


def _read(payload: bytes) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return told if isinstance(told, dict) else {}
