"""Each odd way of the provider, on a real socket. The calls run side by side; each test reads its own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import FAULTS, Habits
from tests.connectors.simulator.calls import CUT, MONOLOGUE, Played, frames, of_type, play

QUICK: dict[str, Any] = {"pong-required": {"ping_every": 100, "pong_within": 3000}}


async def _play(name: str) -> Played:
    habits = replace(Habits().with_fault(name), **QUICK.get(name, {}))
    return await play(CUT, habits if habits.end_at is None else replace(habits, end_at=300))


@pytest.fixture(scope="module")
def calls() -> dict[str, Played]:
    async def play_all() -> dict[str, Played]:
        few = asyncio.Semaphore(6)

        async def play_one(name: str) -> Played:
            async with few:
                return await _play(name)

        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(play_one(name)) for name in FAULTS}
        return {name: task.result() for name, task in tasks.items()}

    return asyncio.run(play_all())


@pytest.mark.parametrize("name", [name for name in FAULTS if not name.startswith(("close-", "torn"))])
def test_a_client_that_keeps_to_the_protocol_comes_through(name: str, calls: dict[str, Played]) -> None:
    played = calls[name]
    assert played.report.close_code == 1000
    first, reply = played.report.heard
    assert 100 < first.end - first.start < 2000
    assert reply.end - reply.start == pytest.approx(300, abs=1 if name != "drip" else 60)
    assert played.record.refused is None


def test_late_audio_reaches_the_client_and_is_dropped_there(calls: dict[str, Played]) -> None:
    assert calls["late-audio"].report.dropped_ms == pytest.approx(1500, abs=1)
    assert calls["no-correction"].report.dropped_ms == 0


def test_ids_step_as_told(calls: dict[str, Played]) -> None:
    assert [span.response for span in calls["steps"].report.heard] == [7, 21]
    assert [span.response for span in calls["later-interruption-id"].report.heard] == [1, 4]


def test_the_correction_is_off_by_default(calls: dict[str, Played]) -> None:
    assert "agent_response_correction" not in calls["no-correction"].report.frames
    assert calls["words-after"].report.frames["agent_response_correction"] == 1


def test_messages_are_as_many_as_the_bursts(calls: dict[str, Played]) -> None:
    assert calls["flood"].report.frames["audio"] == 30 + 3
    assert calls["one-message"].report.frames["audio"] == 2
    assert calls["drip"].report.frames["audio"] > 25


def test_a_rest_in_the_delivery_is_not_heard(calls: dict[str, Played]) -> None:
    delivered = Habits().with_fault("pause")

    async def call() -> Played:
        line = replace(MONOLOGUE.agent[0], length_ms=900)
        return await play(
            replace(MONOLOGUE, agent=(line,)), replace(delivered, burst_ms=(500, 500), pauses=((500, 300),))
        )

    (whole,) = asyncio.run(call()).report.heard
    assert whole.end - whole.start == pytest.approx(900, abs=1)
    assert calls["pause"].report.frames["audio"] >= 2


def test_formats_are_announced_and_kept(calls: dict[str, Played]) -> None:
    for name in ("mulaw", "44100"):
        first = calls[name].report.heard[0]
        assert first.end - first.start < 2000
        assert calls[name].record.caller_ms > 600


def test_undescribed_messages_are_there(calls: dict[str, Played]) -> None:
    assert calls["unknown-types"].report.frames["weather_report"] == 1


@pytest.mark.parametrize(
    ("name", "code", "event"),
    [
        ("close-1002", 1002, "error"),
        ("close-1008", 1008, "client_error"),
        ("close-1011", 1011, None),
        ("torn", 1006, None),
    ],
)
def test_a_call_can_end_badly(name: str, code: int, event: str | None, calls: dict[str, Played]) -> None:
    played = calls[name]
    assert played.report.close_code == code
    assert {"error", "client_error"} & set(played.report.frames) == ({event} if event else set())


def test_pongs_are_demanded_where_the_habit_says_so(calls: dict[str, Played]) -> None:
    assert calls["pong-required"].record.pongs >= 4

    async def stay_silent() -> None:
        habits = Habits(ping_every=50, pong_within=200)
        async with ElevenLabsSimulator(replace(MONOLOGUE, hang_up_ms=None), habits) as agent:
            with pytest.raises(Exception, match="1002"):
                await frames(agent, '{"type":"conversation_initiation_client_data"}')
            assert agent.calls[0].pongs == 0

    asyncio.run(stay_silent())


@pytest.mark.parametrize(("name", "figure"), [("null-ping", {"ping_ms": None}), ("bare-ping", {})])
def test_pings_may_come_without_a_figure(name: str, figure: dict[str, None]) -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, Habits().with_fault(name)) as agent:
            got = await frames(agent, '{"type":"conversation_initiation_client_data"}')
            assert of_type(got, "ping")[0] == {"event_id": 1, **figure}

    asyncio.run(call())


def test_an_interruption_may_name_nothing() -> None:
    async def call() -> Played:
        return await play(CUT, Habits().with_fault("no-interruption-id"))

    played = asyncio.run(call())
    assert played.report.unheard_ms > 1000
    assert [span.response for span in played.report.heard] == [1, 3]
