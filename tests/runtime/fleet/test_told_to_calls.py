"""What is known across calls, told to the calls themselves: as an input that stands on the tape."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from connectors.inputs import CallEnded, FleetView, Input
from monitor.core.events import Event
from monitor.core.fleet.settings import FleetSettings
from monitor.runtime.fleet_service import FleetService
from monitor.runtime.gauges import Gauges
from monitor.runtime.inbox import Inbox
from monitor.runtime.listener import Listener
from monitor.runtime.switchboard import Switchboard
from monitor.runtime.tape import Header, TapeWriter
from tests.runtime.fleet.spiky_calls import whole
from tests.runtime.stand_ins import STARTED, EchoCore


async def test_what_is_known_stands_on_the_tape_right_behind_the_beginning(tmp_path: Path) -> None:
    view = FleetView(0, 0.12, ("barge_in_spike",))
    asked: list[str | None] = []

    def known(agent: str | None) -> FleetView:
        asked.append(agent)
        return view

    core = EchoCore()
    inbox = Inbox()
    inbox.put(STARTED, CallEnded(100, "hangup"))
    listener = Listener(core, lambda call: TapeWriter(tmp_path, call, Header("1", "energy", {})), view=known)
    [event async for event in listener.events(inbox)]
    assert [type(given).__name__ for given in core.heard] == ["CallStarted", "FleetView", "CallEnded"]
    assert asked == [None]
    replayed = EchoCore()
    again = Inbox()
    again.put(*core.heard)
    [event async for event in Listener(replayed, replay=True, view=known).events(again)]
    assert replayed.heard == core.heard
    assert asked == [None]  # a replay asks nobody


async def test_calls_that_go_on_are_told() -> None:
    cores: list[EchoCore] = []

    def new_core() -> Any:
        cores.append(EchoCore())
        return cores[-1]

    async def nowhere(event: Event) -> None:
        pass

    board = Switchboard(new_core, nowhere, gauges=Gauges())
    feed = board.open(STARTED)
    other = board.open(STARTED.__class__("other", "test", agent_id="sales", tracks=STARTED.tracks))
    board.tell("sales", FleetView(0, 0.3, ("barge_in_spike",)))
    for one in (feed, other):
        one.put(CallEnded(100, "hangup"))
    async with asyncio.timeout(5):
        while board.calls:
            await asyncio.sleep(0)
    views: list[list[Input]] = [[given for given in core.heard if isinstance(given, FleetView)] for core in cores]
    assert views == [[], [FleetView(0, 0.3, ("barge_in_spike",))]]


async def test_too_little_data_can_be_asked_for() -> None:
    told: list[Event] = []

    async def deliver(event: Event) -> None:
        told.append(event)

    service = FleetService(FleetSettings(), deliver)
    for event in whole("a"):
        await service.deliver(event)
    assert told == whole("a")
    (standing,) = service.standings
    assert (standing["agent"], standing["state"], standing["raised"]) == ("support", "too_little_data", False)
    assert "200 are needed" in standing["missing"]
    assert service.view("support") is None
    await service.stop()


async def test_nothing_across_calls_where_it_is_switched_off() -> None:
    async def deliver(event: Event) -> None:
        pass

    service = FleetService(FleetSettings(enabled=False), deliver)
    service.start(lambda agent, view: None)
    for event in whole("a"):
        await service.deliver(event)
    assert (service.standings, service.view("support")) == ([], None)
    await service.stop()
