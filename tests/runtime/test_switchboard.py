"""Many calls at once: each with its own door, its own end and its own trouble."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import msgspec

from connectors.base import Feed
from connectors.inputs import CallEnded, CallStarted
from monitor.core import events
from monitor.core.events import Event
from monitor.runtime.gauges import Gauges
from monitor.runtime.inbox import Inbox
from monitor.runtime.switchboard import Switchboard
from tests.runtime.stand_ins import STARTED, EchoCore, audio


class NamedCore(EchoCore):
    """Tells its call by its name."""

    def feed(self, given: Any, /) -> list[Event]:
        told = super().feed(given)
        name = self.heard[0].call if isinstance(self.heard[0], CallStarted) else "?"
        return [msgspec.structs.replace(event, call=name) for event in told]


class Told:
    """The events of all calls."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def deliver(self, event: Event) -> None:
        self.events.append(event)

    def causes(self) -> dict[str, str]:
        return {event.call: event.cause for event in self.events if isinstance(event, events.CallEnded)}


async def settle() -> None:
    """Let every task run until it waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


def called(name: str) -> CallStarted:
    return msgspec.structs.replace(STARTED, call=name)


async def test_every_call_is_heard_and_then_forgotten() -> None:
    told = Told()
    board = Switchboard(NamedCore, told.deliver)
    feeds = [board.open(called(f"call {number}")) for number in range(50)]
    doors = [weakref.ref(feed) for feed in feeds if isinstance(feed, Inbox)]
    for at in range(0, 200, 20):
        for feed in feeds:
            feed.put(audio("caller", at))
    assert len(board.calls) == 50
    for feed in feeds:
        feed.put(CallEnded(200, "disconnected"))
    await settle()
    assert board.calls == []
    assert told.causes() == {f"call {number}": "disconnected" for number in range(50)}
    del feeds, feed
    gc.collect()
    assert [door() for door in doors] == [None] * 50
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("call")] == []


async def test_a_call_that_breaks_the_core_takes_no_other_along() -> None:
    told, gauges = Told(), Gauges()
    cores = iter([NamedCore(fails_at=1), NamedCore()])
    board = Switchboard(lambda: next(cores), told.deliver, gauges=gauges)
    bad, good = board.open(called("bad")), board.open(called("good"))
    for feed in (bad, good):
        feed.put(audio("caller", 0), CallEnded(20, "hangup"))
    await settle()
    assert told.causes() == {"bad": "failed", "good": "hangup"}
    assert gauges.calls_failed == 1
    assert bad.put(audio("caller", 20)) is True


async def test_what_is_beyond_the_limit_is_turned_away_and_dropped() -> None:
    told = Told()
    board = Switchboard(NamedCore, told.deliver, max_calls=1)
    first = board.open(called("first"))
    assert board.full
    second = board.open(called("second"))
    second.put(audio("caller", 0), CallEnded(20, "hangup"))
    first.put(CallEnded(20, "hangup"))
    await settle()
    assert told.causes() == {"first": "hangup"}
    assert not board.full


async def test_no_two_calls_have_one_name() -> None:
    told = Told()
    board = Switchboard(NamedCore, told.deliver)
    for name in ("same", "same", "", "x" * 1000, "same"):
        board.open(called(name)).put(CallEnded(0, "hangup"))
    await settle()
    assert list(told.causes()) == ["same", "same~2", "call", "x" * 200, "same~3"]


async def test_a_stop_ends_every_call_where_it_is() -> None:
    told = Told()
    board = Switchboard(NamedCore, told.deliver)
    feeds: list[Feed] = [board.open(called(name)) for name in ("a", "b")]
    for feed in feeds:
        feed.put(audio("agent", 480))
    await board.stop()
    assert told.causes() == {"a": "stopped", "b": "stopped"}
    assert {event.at_ms for event in told.events if isinstance(event, events.CallEnded)} == {480}
    board.open(called("late")).put(CallEnded(0, "hangup"))
    await settle()
    assert "late" not in told.causes()


async def test_a_stop_does_not_wait_for_ever() -> None:
    async def never(_: Event) -> None:
        await asyncio.Event().wait()

    board = Switchboard(NamedCore, never)
    board.open(called("a"))
    await settle()
    await board.stop(within_s=0.05)
    assert board.calls == []
