"""A real server that speaks OpenAI's API, asked through `watch`."""

from __future__ import annotations

import ssl
import time
from pathlib import Path

import pytest

from connectors.simulator.rehearsal import RehearsedCall
from connectors.simulator.scenario_demo import DEMO
from monitor.config import Config
from monitor.core import events
from monitor.core.encode import encode
from monitor.runtime.tape import Tape
from monitor.runtime.watch import watch
from tests.judges.chat_server import Body, ChatServer, all_yes, asked_in, error, silence
from tests.judges.chat_server import verdicts as answering
from tests.runtime.judging.calls import (
    ASSISTANT_TURNS,
    REFUND,
    Live,
    heard,
    judged_by,
    summary,
    timeline,
    verdicts,
)


@pytest.fixture(autouse=True)
def no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is plain HTTP: loading the certificates of the world would take most of the time."""
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)


def strict(body: Body) -> object:
    """Says no to the answer beside the point."""
    return answering([(index, "no" if index == REFUND else "yes") for index in asked_in(body)], "a refund was meant")


async def test_at_once_every_turn_is_judged_before_the_call_goes_on() -> None:
    server = ChatServer(otherwise=strict, delay_s=0.2)
    async with server.listening() as address:
        told = await heard(watch(RehearsedCall(DEMO), config=judged_by(address), speed=None))
    assert verdicts(told) == {index: "no" if index == REFUND else "yes" for index in ASSISTANT_TURNS}
    assert [event.reason for event in told if isinstance(event, events.RelevancyJudged) and event.verdict == "no"] == [
        "a refund was meant"
    ]
    assert len(server.bodies) == 3
    found = summary(told)
    assert (found["score"], found["requests"], found["tokens"]) == (7 / 8, 3, {"input": 2100, "output": 270})
    # Media time stood still: the first verdicts came within the call's own 15 s of waiting, long before its end.
    first = next(event for event in told if isinstance(event, events.RelevancyJudged))
    assert first.known_at < 21


async def test_a_live_call_never_waits_and_its_last_verdicts_are_awaited() -> None:
    server = ChatServer(delay_s=0.3)
    async with server.listening() as address:
        # The call passes in less than a second of ours, so that no answer would be in time by its own clock.
        told = await heard(watch(Live(), config=judged_by(address, "relevancy.deadline_s=100")))
    assert verdicts(told) == dict.fromkeys(ASSISTANT_TURNS, "yes")
    assert timeline(told) == timeline(await heard(watch(Live(), config=Config())))
    assert isinstance(told[-1], events.CallEnded)
    assert told[-1].cause == "hangup"


@pytest.mark.parametrize("speed", [None, 100.0])
async def test_media_time_stands_still_for_a_recording_that_is_played_fast(speed: float | None) -> None:
    server = ChatServer(delay_s=0.1)
    async with server.listening() as address:
        config = judged_by(address, "relevancy.deadline_s=2")
        told = await heard(watch(RehearsedCall(DEMO), config=config, speed=speed))
    assert verdicts(told) == dict.fromkeys(ASSISTANT_TURNS, "yes")


async def test_a_judge_that_never_answers_costs_the_timeline_nothing() -> None:
    server = ChatServer(otherwise=silence)
    async with server.listening() as address:
        config = judged_by(address, "relevancy.deadline_s=1")
        began = time.monotonic()
        live = await heard(watch(Live(), config=config))
        assert time.monotonic() - began < 6
        at_once = await heard(watch(RehearsedCall(DEMO), config=config, speed=None))
    plain = await heard(watch(Live(), config=Config()))
    for told in (live, at_once):
        assert verdicts(told) == dict.fromkeys(ASSISTANT_TURNS, "unscored")
        assert timeline(told) == timeline(plain)
        assert (summary(told)["score"], summary(told)["unscored"]) == (None, 8)


async def test_a_failing_judge_is_neither_a_yes_nor_a_no() -> None:
    server = ChatServer(otherwise=error(401, "invalid_api_key"))
    async with server.listening() as address:
        told = await heard(watch(RehearsedCall(DEMO), config=judged_by(address), speed=None))
    assert verdicts(told) == dict.fromkeys(ASSISTANT_TURNS, "unscored")
    assert len(server.bodies) == 1  # the key will not get any better
    assert len([event for event in told if isinstance(event, events.Notice)]) == 1


@pytest.mark.parametrize("live", [True, False])
async def test_a_tape_holds_the_verdicts_and_asks_nobody(live: bool, tmp_path: Path) -> None:
    server = ChatServer(otherwise=strict, delay_s=0.1)
    async with server.listening() as address:
        source = Live() if live else RehearsedCall(DEMO)
        told = await heard(
            watch(source, config=judged_by(address, "relevancy.deadline_s=100"), speed=None, tape_dir=tmp_path)
        )
        asked = len(server.bodies)
        (tape,) = tmp_path.iterdir()
        assert [encode(event) for event in await heard(watch(f"tape:{tape}", speed=None))] == [
            encode(event) for event in told
        ]
        assert len(server.bodies) == asked == 3
    # And with the server gone, into a tape of its own that is the very same.
    copies = tmp_path / "copies"
    again = await heard(watch(Tape(tape), speed=None, tape_dir=copies))
    assert [encode(event) for event in again] == [encode(event) for event in told]
    assert (copies / tape.name).read_bytes() == tape.read_bytes()


async def test_calls_share_one_judge_and_each_gets_its_own_answers() -> None:
    import asyncio

    from monitor.runtime.inquiry import bench_for

    server = ChatServer(otherwise=all_yes, delay_s=0.05)
    async with server.listening() as address:
        config = judged_by(address, "relevancy.max_in_flight=2")
        bench = bench_for(config)
        calls = [watch(RehearsedCall(DEMO), config=config, speed=None, bench=bench) for _ in range(3)]
        for told in await asyncio.gather(*map(heard, calls)):
            assert verdicts(told) == dict.fromkeys(ASSISTANT_TURNS, "yes")
        assert bench.asking is not None
        assert bench.asking.status.waiting == 0
        await bench.close()
    assert server.most_at_once <= 2
    assert len(server.bodies) == 9
