"""Who of several processes of a site raises alerts across calls: one of them, by a claim that the broker retains.

    turnwatch/<site>/fleet/leader            {"process": ID}, retained; the last will empties it
    turnwatch/<site>/fleet/agents/<agent>    {"process", "agent", "baseline", "raised"}, retained: what the leader knows

Every `turnwatch fleet` hears all calls, also where a shared subscription (`fleet.group`) splits what is shown: a
barge-in is made of several events, and half of them is no half of the answer. So counts are nowhere added up; one
process has them all, and the others have them too and are silent. The broker puts claims in one order for everybody,
and the last one counts. A leader that dies is missed at once (its will), and whoever is left claims; a will that comes
late empties the claim of somebody who lives, who then claims again.
"""

from __future__ import annotations

from typing import Any

import msgspec

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

    def state(self, known: Known) -> Message:
        """What the leader knows of an agent."""
        told = {"process": self._process, **msgspec.structs.asdict(known)}
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
        self._agents: dict[str, tuple[str, Known]] = {}
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
        self._agents[told.agent] = told.process, Known(told.agent, told.baseline, told.raised)
        if len(self._agents) > self._max_agents:
            del self._agents[next(iter(self._agents))]
        return True

    @property
    def known(self) -> dict[str, Known] | None:
        """By agent; None where nobody leads. What a leader before has left says what is usual, but raises nothing."""
        if self.leader is None:
            return None
        return {
            name: known if process == self.leader else msgspec.structs.replace(known, raised=False)
            for name, (process, known) in self._agents.items()
        }


class _State(msgspec.Struct, frozen=True):
    process: str
    agent: str
    baseline: float | None
    raised: bool


def _json(told: dict[str, Any]) -> bytes:
    return msgspec.json.encode(told)


def _read(payload: bytes) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return told if isinstance(told, dict) else {}
