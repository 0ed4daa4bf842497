"""Stopping does not wait for a judge; what is open is told as unscored."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from connectors.inputs import Audio, CallStarted, Elapsed, Input, Text, TrackFormat
from connectors.simulator.rehearsal import RehearsedCall
from connectors.simulator.scenario_demo import DEMO
from monitor.config import Config, load
from monitor.core import events
from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.runtime.hearing import CallMonitor
from monitor.runtime.inquiry import bench_for
from monitor.runtime.switchboard import Switchboard
from monitor.runtime.tape import Tape, TapeWriter
from monitor.runtime.watch import tapes_in, watch
from tests.runtime.judging.calls import ASSISTANT_TURNS, Live, demo_call, heard, script, summary, verdicts


def slow(folder: Path) -> Config:
    file = script(folder, delay_s=60)
    return load(assignments=["relevancy.eval_mode=scripted", f"relevancy.script={file}"])


@pytest.mark.parametrize("live", [True, False])
async def test_a_stop_gives_up_what_is_awaited(live: bool, tmp_path: Path) -> None:
    source = Live() if live else RehearsedCall(DEMO)
    call = watch(source, config=slow(tmp_path), speed=None, tape_dir=tmp_path / "tapes")
    told: list[Event] = []

    async def listen() -> None:
        async for event in call:
            told.append(event)

    listening = asyncio.create_task(listen())
    async with asyncio.timeout(10):
        while not call.status.waiting_for_verdicts:
            await asyncio.sleep(0.01)
    began = time.monotonic()
    call.stop()
    await listening
    assert time.monotonic() - began < 3
    assert isinstance(told[-1], events.CallEnded)
    assert told[-1].cause == ("hangup" if live and set(verdicts(told)) == set(ASSISTANT_TURNS) else "stopped")
    assert set(verdicts(told).values()) == {"unscored"}
    (tape,) = (tmp_path / "tapes").iterdir()
    assert [encode(event) for event in await heard(watch(Tape(tape), speed=None))] == [encode(event) for event in told]


async def test_calls_that_come_in_end_with_their_last_verdicts_or_with_the_program(tmp_path: Path) -> None:
    told: list[Event] = []

    async def deliver(event: Event) -> None:
        told.append(event)

    config = slow(tmp_path)
    bench = bench_for(config)
    board = Switchboard(lambda: CallMonitor(config.core), deliver, bench=bench)
    started, *rest = demo_call()
    assert isinstance(started, CallStarted)
    feed = board.open(started)
    for start in range(0, len(rest), 1000):  # no more at a time than waits in an inbox
        feed.put(*rest[start : start + 1000])
        await asyncio.sleep(0.05)
    async with asyncio.timeout(10):
        while not any(call.closing for call in board.calls):
            await asyncio.sleep(0.01)
    assert not isinstance(told[-1], events.CallEnded)
    await board.stop()
    assert isinstance(told[-1], events.CallEnded)
    assert told[-1].cause == "hangup"
    assert verdicts(told) == dict.fromkeys(ASSISTANT_TURNS, "unscored")
    await bench.close()


async def test_a_torn_tape_leaves_its_last_turns_unscored(tmp_path: Path) -> None:
    config = load(assignments=["relevancy.eval_mode=scripted", f"relevancy.script={script(tmp_path)}"])
    folder = tmp_path / "tapes"
    told = await heard(watch(RehearsedCall(DEMO), config=config, speed=None, tape_dir=folder))
    tape = folder / "demo.tape"
    kept = [given async for given in Tape(tape).inputs()]
    new_tape = tapes_in(tmp_path / "torn", config.core)
    assert new_tape is not None
    writer: TapeWriter = new_tape("demo")
    writer.write(kept[:-1])  # without the answers that came after the end
    writer.close()
    torn = await heard(watch(Tape(writer.path), speed=None))
    assert verdicts(torn) == {**verdicts(told), 11: "unscored", 13: "unscored", 15: "unscored"}
    assert summary(torn)["unscored"] == 3
    assert isinstance(torn[-1], events.CallEnded)


def silent_call() -> list[Input]:
    tracks = {"caller": TrackFormat(), "agent": TrackFormat()}
    quiet = [
        Audio(track, at, bytes(2 * 8 * 100))
        for at in range(0, 2000, 100)
        for track in ("caller", "agent")  # type: ignore[arg-type]
    ]
    return [
        CallStarted("silent", "test", tracks=tracks),
        *quiet,
        Elapsed(2000),
        Text("agent", 500, "Hello?", "transcript"),
    ]


async def test_a_call_without_turns_has_no_score_and_asks_nobody(tmp_path: Path) -> None:
    told = await heard(watch(Live(silent_call()), config=slow(tmp_path)))
    assert summary(told)["score"] is None
    assert summary(told)["requests"] == 0
