"""The demo: a scripted caller, the real relay, the simulated agent, and what the monitor says of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from connectors.simulator.rehearsal import label, rehearse, transitions
from connectors.simulator.scenario import AfterCaller, AgentLine, AtTime, CallerLine, IntoAgent, Scenario
from connectors.simulator.scenario_demo import DEMO
from monitor.core.encode import encode
from monitor.core.events import CallEnded, CallStarted, Event, TransitionScored
from monitor.runtime.demo import Demo, run_demo
from monitor.runtime.watch import watch

BRIEF = Scenario(
    "brief",
    "a barge-in and an answer in four seconds",
    (
        AgentLine(AtTime(300), "agent_address", "Of course, there are three ways to do that."),
        AgentLine(AfterCaller(450), "agent_noted", "Got it, number twelve.", 1000),
    ),
    (CallerLine(IntoAgent(0, 800), "caller_digits", "Sure, it's four, nine, two, seven."),),
    hang_up_ms=300,
)


async def hold(demo: Demo) -> list[Event]:
    events: list[Event] = []

    async def keep(event: Event) -> None:
        events.append(event)

    await demo.run(keep)
    return events


def kinds(events: list[Event]) -> list[str]:
    return [event.transition.kind for event in events if isinstance(event, TransitionScored) and event.transition.final]


def test_a_live_demo_goes_through_the_relay_and_its_tape_tells_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        demo = Demo(scenario=BRIEF, tape_dir=tmp_path)
        events = await hold(demo)
        assert demo.cause == "hangup"
        assert demo.calls == []
        assert isinstance(events[0], CallStarted)
        assert (events[0].source, events[0].agent_id) == ("elevenlabs", "parcel-hotline")
        assert events[0].playout == "immediate_drop"
        assert demo.report is not None
        turns = label(BRIEF, demo.report.heard, demo.report.said)
        assert kinds(events) == [change.kind for change in transitions(turns)] == ["user_barge_in", "gap"]
        (tape,) = tmp_path.glob("*.tape")
        again = [event async for event in watch(f"tape:{tape}", speed=None)]
        assert [encode(event) for event in again] == [encode(event) for event in events]

    asyncio.run(run())


def test_a_demo_that_is_stopped_tells_what_is_open() -> None:
    async def run() -> None:
        demo = Demo(scenario=BRIEF)
        events: list[Event] = []

        async def keep(event: Event) -> None:
            events.append(event)
            if event.type == "turn.started":
                demo.stop()

        await demo.run(keep)
        assert demo.cause == "stopped"
        assert isinstance(events[-1], CallEnded)
        assert [event.type for event in events].count("turn.ended") == 1

    asyncio.run(run())


@pytest.mark.parametrize("speed", [None, 500.0])
def test_the_whole_demo_can_be_had_without_waiting(speed: float | None) -> None:
    events = asyncio.run(hold(Demo(speed=speed)))
    assert kinds(events) == [change.kind for change in rehearse(DEMO).transitions]
    assert isinstance(events[-1], CallEnded)
    assert events[-1].summary["barge_in"]["backchannels"] == 1


def test_a_rehearsed_demo_can_be_stopped_before_it_begins() -> None:
    async def run() -> None:
        demo = Demo(speed=2.0)
        demo.stop()
        events = await hold(demo)
        assert len(events) <= 2

    asyncio.run(run())


def test_one_call_does_it_all() -> None:
    events: list[Event] = []

    async def keep(event: Event) -> None:
        events.append(event)

    assert asyncio.run(run_demo(keep, speed=None, scenario=BRIEF)) == "hangup"
    assert kinds(events) == ["user_barge_in", "gap"]
