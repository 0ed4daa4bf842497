"""The one path from a source to events: its pace, its ends, and what it says when the source breaks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from connectors.base import ConnectorError, SourceError
from connectors.inputs import Audio, CallEnded, CallStarted, Input, TrackFormat
from monitor.core import events
from monitor.core.events import Event
from monitor.runtime.pace import Pace
from monitor.runtime.watch import Watching, watch
from tests.runtime.sources import Script
from tests.runtime.stand_ins import STARTED, EchoCore, audio

CALL = [STARTED, *[audio("caller", at) for at in range(0, 200, 20)], CallEnded(200, "end_of_file")]


def watching(
    given: list[Input], failure: Exception | None = None, speed: float | None = None
) -> tuple[Watching, Script]:
    source = Script(given, failure)
    return watch(source, speed=speed, new_core=EchoCore), source


async def test_a_call_is_told_to_its_end_and_the_source_let_go() -> None:
    call, source = watching(CALL)
    assert source.yielded == 0
    told = [event async for event in call]
    assert len(told) == len(CALL)
    assert call.cause == "end_of_file"
    assert source.finished


async def test_a_source_that_does_not_open_is_an_error_of_the_first_event() -> None:
    call, source = watching([], ConnectorError("the line is dead: plug it in"))
    with pytest.raises(ConnectorError, match="the line is dead: plug it in"):
        await anext(call)
    assert source.finished


@pytest.mark.parametrize("failure", [ConnectorError("the line went dead"), KeyError("secret")])
async def test_a_source_that_breaks_later_ends_the_call_as_failed(failure: Exception) -> None:
    core = EchoCore()
    call = watch(Script(CALL[:5], failure), speed=None, new_core=lambda _: core)
    told = [event async for event in call]
    assert isinstance(told[-1], events.CallEnded)
    assert call.cause == "failed"
    assert [getattr(one, "kind", None) for one in core.heard[-2:]] == ["source_failed", None]
    assert "secret" not in repr(core.heard)


async def test_a_source_that_just_ends_was_disconnected() -> None:
    call, _ = watching(CALL[:5])
    assert len([event async for event in call]) == 6
    assert call.cause == "disconnected"


async def test_a_stop_tells_the_rest_and_ends_the_iteration() -> None:
    call, source = watching(CALL, speed=0.001)
    first = await anext(call)
    assert first.seq == 0
    call.stop()
    told = [event async for event in call]
    assert isinstance(told[-1], events.CallEnded)
    assert call.cause == "stopped"
    assert source.finished


async def test_a_watcher_who_leaves_takes_the_source_along() -> None:
    call, source = watching(CALL)
    async for _ in call:
        break
    await call.aclose()
    assert source.finished
    assert [task for task in asyncio.all_tasks() if task.get_name() == "source"] == []


async def test_nothing_is_lost_to_a_watcher_who_takes_his_time() -> None:
    call, source = watching([STARTED, *[audio("caller", 20 * at) for at in range(1000)], CallEnded(20000, "hangup")])
    seen: list[Event] = []
    async for event in call:
        seen.append(event)
        if len(seen) == 10:
            for _ in range(300):
                await asyncio.sleep(0)
            assert source.yielded < 400
    assert [event.seq for event in seen] == list(range(1002))


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_a_speed_is_above_nothing(speed: float) -> None:
    with pytest.raises(ValueError, match="speed is a number above 0"):
        watch(Script(CALL), speed=speed)


def test_a_wrong_word_is_refused_before_anything_runs() -> None:
    with pytest.raises(SourceError, match="there is no source vapor:"):
        watch("vapor:x")


class Clock:
    """A clock that a test moves; `sleep` moves it too and notes how far."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("monitor.runtime.pace.asyncio.sleep", clock.sleep)
    return clock


async def test_a_recording_is_played_when_it_would_have_been_heard(clock: Clock) -> None:
    pace = Pace(2.0, clock)
    for given in (STARTED, audio("caller", 0, 40), audio("agent", 0, 40), audio("caller", 40, 40)):
        await pace.wait_for(given)
    clock.now += 10  # somebody held us up
    await pace.wait_for(audio("agent", 40, 40))
    await pace.wait_for(CallEnded(60_000, "hangup"))
    assert clock.slept == [0.02, 0.02, 19.96]


async def test_delivered_audio_is_due_when_it_was_delivered(clock: Clock) -> None:
    pace = Pace(1.0, clock)
    tracks = {"caller": TrackFormat(), "agent": TrackFormat(timing="delivered")}
    await pace.wait_for(CallStarted("call", "test", tracks=tracks))
    await pace.wait_for(Audio("agent", 100, bytes(16 * 8000)))
    await pace.wait_for(Audio("agent", 100, bytes(16 * 8000)))
    assert clock.slept == [0.1]


async def test_at_once_nothing_waits(clock: Clock) -> None:
    pace = Pace(None, clock)
    for given in CALL:
        await pace.wait_for(given)
    assert clock.slept == []


async def test_steps_of_the_wall_clock_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_wall_clock() -> float:
        raise AssertionError("somebody looked at the wall clock")

    monkeypatch.setattr("time.time", no_wall_clock)
    call, _ = watching(CALL, speed=50.0)
    assert len([event async for event in call]) == len(CALL)


async def test_a_tape_is_kept_beside_and_named_after_the_call(tmp_path: Path) -> None:
    call = watch(Script(CALL), speed=None, tape_dir=tmp_path / "new", new_core=EchoCore)
    assert len([event async for event in call]) == len(CALL)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["call.tape"]
