"""What can only be said of a call that is followed from its first event to its last: a number for all of its events, by
which two watchings of one recording are known to be the same, and the barge-ins on the agent's turns."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple

from monitor.core.encode import encode
from monitor.core.events import CallEnded, CallStarted, Event
from monitor.core.fleet.call_counts import TYPES, CallCounts

_REMEMBERED = 10_000
"""So many calls are followed at a time; the ones that were told of least recently are given up."""


class Whole(NamedTuple):
    """A call, once it is over. `digest`: of all its events, where it is not known when it started. `turns` of the
    agent, `barge_ins` of the caller on them."""

    agent_id: str | None
    digest: bytes | None
    turns: int
    barge_ins: int


class _Call:
    __slots__ = ("agent_id", "counts", "digest", "expected")

    def __init__(self, started: CallStarted, counting: bool) -> None:
        self.agent_id = started.agent_id
        self.expected = 0
        self.counts = CallCounts() if counting and started.agent_id else None
        self.digest = blake2b(digest_size=16) if started.started_at is None else None


class Following:
    """Follows the calls of all sites. `counting`: barge-ins as well."""

    def __init__(self, counting: bool) -> None:
        self._counting = counting
        self._calls: OrderedDict[tuple[str, str], _Call] = OrderedDict()

    def take(self, site: str, event: Event) -> Whole | None:
        """The next event. -> what there is to say of its call if it was the last, and none was missing."""
        key = (site, event.call)
        if isinstance(event, CallStarted) and event.seq == 0:
            self._calls[key] = _Call(event, self._counting)
            if len(self._calls) > _REMEMBERED:
                self._calls.popitem(last=False)
        call = self._calls.get(key)
        if call is None:
            return None
        if event.seq != call.expected:
            if event.seq > call.expected:
                del self._calls[key]
            return None
        self._calls.move_to_end(key)
        call.expected += 1
        if call.counts is not None and event.type in TYPES:
            call.counts.take(event)
        if call.digest is not None:
            call.digest.update(encode(event) + b"\n")
        return self._whole(key) if isinstance(event, CallEnded) else None

    def _whole(self, key: tuple[str, str]) -> Whole:
        call = self._calls.pop(key)
        turns, barge_ins = (call.counts.turns, call.counts.barge_ins) if call.counts else (0, 0)
        return Whole(call.agent_id, call.digest and call.digest.digest(), turns, barge_ins)
