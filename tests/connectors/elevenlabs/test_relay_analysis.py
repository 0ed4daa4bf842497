"""The listener beside the traffic: it may fail, fall behind or be killed, and the conversation does not notice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import ServerConnection

from connectors.elevenlabs import analysis as room
from connectors.elevenlabs.analysis import Analysis
from connectors.elevenlabs.beginning import Opened
from connectors.elevenlabs.ending import Ending
from connectors.elevenlabs.listening import Listener
from connectors.inputs import Audio, CallEnded, CallStarted, Elapsed, Input
from tests.connectors.elevenlabs.stage import (
    Provider,
    Stage,
    Watched,
    Watchers,
    agent_audio,
    caller_audio,
    interruption,
    message,
    metadata,
    ping,
    provider_with,
    receive_all,
    relay_to,
    tone,
    until,
)

GO_ON = message("user_activity")
REST = [agent_audio(tone(100), n) for n in range(20)]


@contextlib.asynccontextmanager
async def on_stage() -> AsyncIterator[tuple[Provider, Stage]]:
    """A provider that says its metadata and a word, waits to be told to go on, and then says the rest and closes."""

    async def script(connection: ServerConnection) -> None:
        await connection.send(metadata())
        await connection.send(agent_audio(tone(100), 99))
        await until(lambda: GO_ON in provider.received)
        for one in REST:
            await connection.send(one)
        await connection.close(1000)

    async with provider_with(script) as provider, relay_to(provider.url) as stage:
        yield provider, stage


async def the_rest(client: ClientConnection) -> None:
    """The conversation is whole: the client can talk, hears all, and gets the agent's close."""
    await client.send(caller_audio(tone(100)))
    await client.send(GO_ON)
    assert await receive_all(client) == REST
    assert client.close_code == 1000


def the_analysis(stage: Stage) -> Analysis:
    return next(iter(stage.relay._calls.values()))


async def begin(client: ClientConnection, stage: Stage) -> Watched:
    assert [await client.recv(), await client.recv()] == [metadata(), agent_audio(tone(100), 99)]
    return await stage.watchers.call()


async def test_killing_the_analysis_in_mid_call_leaves_the_conversation_whole() -> None:
    async with on_stage() as (provider, stage):
        async with stage.dial() as client:
            call = await begin(client, stage)
            await call.until(lambda: call.of(Audio))
            the_analysis(stage).task.cancel()
            ended = await call.end()
            await the_rest(client)
        assert provider.received == [caller_audio(tone(100)), GO_ON]
    assert (ended.cause, ended.message) == ("failed", "the watching of this call was stopped")
    assert call.inputs[-1] is ended


async def test_an_error_on_a_frame_is_told_and_the_next_frame_is_watched(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    receive = Listener.receive

    def stumbling(self: Listener, direction: Any, frame: str | bytes, now_ms: int) -> list[Input]:
        if frame == REST[3]:
            raise ZeroDivisionError("a mistake of the program")
        return receive(self, direction, frame, now_ms)

    monkeypatch.setattr(Listener, "receive", stumbling)
    async with on_stage() as (_provider, stage):
        async with stage.dial() as client:
            call = await begin(client, stage)
            await the_rest(client)
        ended = await call.end()
    assert ended.cause == "hangup"
    assert call.notices() == {"analysis_error": 1}
    assert call.audio_ms("agent") == pytest.approx(2000, abs=60)
    assert "a mistake of the program" in caplog.text


async def test_after_too_many_errors_the_watching_stops_and_the_conversation_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_stage() as (_provider, stage), stage.dial() as client:
        call = await begin(client, stage)
        await call.until(lambda: call.of(Audio))

        def broken(*_given: object) -> list[Input]:
            raise RuntimeError("broken")

        monkeypatch.setattr(Listener, "receive", broken)
        monkeypatch.setattr(room, "MAX_STUMBLES", 5)
        await the_rest(client)
        ended = await call.end()
    assert ended.cause == "failed"
    assert call.notices()["analysis_error"] >= 1


async def test_a_door_that_does_not_open_costs_the_watching_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def jammed(_started: CallStarted) -> Watched:
        raise OSError("no space left")

    async with on_stage() as (_provider, stage):
        monkeypatch.setattr(stage.watchers, "open", jammed)
        async with stage.dial() as client:
            assert await client.recv() == metadata()
            assert await client.recv() == agent_audio(tone(100), 99)
            await the_rest(client)
    assert "no space left" in caplog.text
    assert "no longer watched" in caplog.text


async def test_an_analysis_that_falls_behind_drops_copies_and_says_how_many() -> None:
    watchers = Watchers()
    listening = Analysis(Listener(Opened(0, "own")), watchers, max_frames=10)
    listening.offer("server", metadata(), 0)
    for n in range(50):
        listening.offer("server", agent_audio(tone(20), n), n)
    await asyncio.sleep(0)
    call = await watchers.call()
    await call.until(lambda: len(call.of(Audio)) == 9)
    listening.offer("server", agent_audio(tone(20), 50), 60)
    await listening.finish(100, Ending("server", 1000))
    assert len(call.of(Audio)) == 10
    assert call.notices() == {"overload": 41}
    assert isinstance(call.inputs[-1], CallEnded)


async def test_what_waits_for_the_analysis_is_bounded_in_bytes_too() -> None:
    watchers = Watchers()
    listening = Analysis(Listener(Opened(0, "own")), watchers, max_bytes=100_000)
    listening.offer("server", metadata(), 0)
    for n in range(50):
        listening.offer("server", "x" * 30_000, n)
    assert listening._bytes <= 100_000
    await listening.finish(100, Ending("client", None))
    call = watchers.calls[0]
    assert call.notices()["bad_payload"] == 3


async def test_a_clock_that_ticks_while_frames_wait_is_heard_after_them() -> None:
    watchers = Watchers()
    listening = Analysis(Listener(Opened(0, "own")), watchers)
    listening.offer("server", metadata(), 0)
    listening.offer("server", agent_audio(tone(20)), 30)
    listening.tick(50)
    call = await watchers.call()
    await call.until(lambda: call.of(Elapsed))
    assert [type(given) for given in call.inputs] == [CallStarted, Audio, Elapsed]
    listening.tick(100)
    assert [given.at for given in call.of(Elapsed)] == [50, 100]
    await listening.stop()
    listening.tick(150)
    listening.offer("server", agent_audio(tone(20)), 150)
    assert isinstance(call.inputs[-1], CallEnded)


async def test_a_large_frame_is_watched_without_holding_up_the_loop() -> None:
    """While 20 s of audio in one message are decoded, the loop goes round."""
    watchers = Watchers()
    listening = Analysis(Listener(Opened(0, "own")), watchers)
    listening.offer("server", metadata(), 0)
    call = await watchers.call()
    listening.offer("server", agent_audio(bytes(32 * 20_000)), 10)
    rounds = 0
    while not call.of(Audio):
        await asyncio.sleep(0)
        rounds += 1
    assert rounds > 5
    listening.tick(20)
    await listening.finish(100, Ending("server", 1000))
    assert call.audio_ms("agent") == pytest.approx(20_000, abs=3)


HOSTILE = st.lists(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=300),
        st.sampled_from([metadata(), agent_audio(tone(20)), caller_audio(tone(20)), interruption(), ping(1), ping(2)]),
        st.builds(lambda cut: agent_audio(tone(10))[:cut], st.integers(0, 400)),
        st.builds(lambda kind, value: message("audio", **{kind: value}), st.just("audio_event"), st.text(max_size=9)),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(down=HOSTILE, up=HOSTILE)
def test_whatever_either_side_sends_passes_and_the_watchers_get_a_whole_call(
    down: list[str | bytes], up: list[str | bytes]
) -> None:
    async def run() -> None:
        async def script(connection: ServerConnection) -> None:
            for one in down:
                await connection.send(one)
            await until(lambda: len(provider.received) == len(up))
            await connection.close(1000)

        async with provider_with(script) as provider, relay_to(provider.url) as stage:
            async with stage.dial() as client:
                for one in up:
                    await client.send(one)
                assert await receive_all(client) == down
            assert provider.received == up
            call = await stage.watchers.call()
            ended = await call.end()
        assert ended.cause == "hangup"
        assert len(call.of(CallStarted)) == 1
        assert "analysis_error" not in call.notices()

    logging.disable(logging.INFO)
    asyncio.run(run())
