"""Conversations with the simulated agent on a real socket."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace

import pytest
from websockets.asyncio.client import connect

from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import EVENTS, Habits
from connectors.simulator.rehearsal import label, transitions
from tests.connectors.simulator.calls import ANSWER, CUT, MONOLOGUE, ended, frames, listen, of_type, play

INITIATION = json.dumps({"type": "conversation_initiation_client_data", "source_info": {"source": "a test"}})


def test_a_caller_and_the_agent_take_turns_as_scripted() -> None:
    played = asyncio.run(play(ANSWER))
    turns = label(ANSWER, played.report.heard, played.report.said)
    assert [(turn.track, turn.line) for turn in turns] == [("agent", 0), ("caller", 0), ("agent", 1)]
    ask, reply = transitions(turns)
    assert ask.gap_ms == pytest.approx(200, abs=60)
    assert 380 <= reply.gap_ms < 700
    assert played.report.close_code == played.record.close_code == 1000
    assert played.report.frames["user_transcript"] == 1


def test_the_metadata_comes_once_and_first() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            got = await frames(agent, INITIATION)
            assert [message["type"] for message in got].index("conversation_initiation_metadata") == 0
            (metadata,) = of_type(got, "conversation_initiation_metadata")
            assert metadata["conversation_id"] == agent.calls[0].conversation_id
            assert metadata["agent_output_audio_format"] == metadata["user_input_audio_format"] == "pcm_16000"
            assert agent.calls[0].initiation == json.loads(INITIATION)

    asyncio.run(call())


def test_initiation_may_be_missing() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            got = await frames(agent)
            assert got[0]["type"] == "conversation_initiation_metadata"
            assert agent.calls[0].initiation is None
            chunk = json.dumps({"user_audio_chunk": base64.b64encode(bytes(3200)).decode()})
            got = await frames(agent, chunk)
            assert got[0]["type"] == "conversation_initiation_metadata"
            assert agent.calls[1].caller_ms == 100

    asyncio.run(call())


def test_audio_comes_faster_than_it_plays_in_bursts_of_one_response() -> None:
    async def call() -> None:
        arrivals, audio = [], []
        async with (
            ElevenLabsSimulator(MONOLOGUE, Habits(ratio=10, burst_ms=(20, 50))) as agent,
            connect(f"{agent.url}?agent_id=any") as socket,
        ):
            await socket.send(INITIATION)
            async for text in socket:
                message = json.loads(text)
                if message["type"] == "audio":
                    arrivals.append(asyncio.get_running_loop().time())
                    audio.append(message["audio_event"])
        sizes = [len(base64.b64decode(event["audio_base_64"])) / 32 for event in audio]
        assert sum(sizes) == 300
        assert all(20 <= size <= 50 for size in sizes[:-1])
        assert {event["event_id"] for event in audio} == {1}
        assert arrivals[-1] - arrivals[0] < 0.2

    asyncio.run(call())


def test_the_words_come_next_to_the_first_audio() -> None:
    async def call() -> None:
        for first, words_first in (("agent_response", True), ("audio", False)):
            async with ElevenLabsSimulator(MONOLOGUE, Habits(words_first=words_first)) as agent:
                got = [message["type"] for message in await frames(agent, INITIATION)]
                pair = [kind for kind in got if kind in ("audio", "agent_response")][:2]
                assert pair == [first, "audio" if words_first else "agent_response"]

    asyncio.run(call())


def test_a_barge_in_stops_the_agent_and_its_words_are_corrected() -> None:
    played = asyncio.run(play(CUT))
    cut, reply = played.report.heard
    assert len(played.record.interruptions) == 1
    assert 100 < cut.end - cut.start < 700
    assert played.report.unheard_ms > 1000
    assert reply.response is not None
    assert played.report.frames["interruption"] == played.report.frames["agent_response_correction"] == 1


def test_pings_count_up_and_tell_the_last_round_trip() -> None:
    async def call() -> None:
        pings: list[dict[str, int]] = []
        async with (
            ElevenLabsSimulator(replace(MONOLOGUE, hang_up_ms=None), Habits(ping_every=100)) as agent,
            connect(f"{agent.url}?agent_id=any") as socket,
        ):
            await socket.send(INITIATION)
            while len(pings) < 4:
                message = json.loads(await socket.recv())
                if message["type"] == "ping":
                    pings.append(message["ping_event"])
                    await asyncio.sleep(0.03)
                    await socket.send(json.dumps({"type": "pong", "event_id": pings[-1]["event_id"]}))
            await socket.close()
            record = await ended(agent)
        assert [ping["event_id"] for ping in pings] == [1, 2, 3, 4]
        assert pings[0]["ping_ms"] is None
        assert all(30 <= ping["ping_ms"] < 200 for ping in pings[1:])
        assert record.pongs == 4

    asyncio.run(call())


def test_a_pong_of_another_id_answers_nothing() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            await frames(agent, INITIATION, *(json.dumps({"type": "pong", "event_id": odd}) for odd in (99, [], None)))
            assert (agent.calls[0].pongs, agent.calls[0].stray_pongs) == (0, 3)

    asyncio.run(call())


def test_events_that_are_off_are_not_sent_and_opt_in_ones_can_be() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE, Habits(events=frozenset({"audio"}))) as agent:
            kinds = {message["type"] for message in await frames(agent, INITIATION)}
            assert kinds == {"conversation_initiation_metadata", "audio"}
        async with ElevenLabsSimulator(MONOLOGUE, Habits(events=EVENTS)) as agent:
            got = await frames(agent, INITIATION)
            assert of_type(got, "agent_response_complete") == [{"event_id": 1}]
            assert of_type(got, "vad_score")[0] == {"vad_score": 0.0}

    asyncio.run(call())


@pytest.mark.parametrize("place", ["top", "conversation"])
def test_a_text_conversation_has_no_audio(place: str) -> None:
    override = {"text_only": True} if place == "top" else {"conversation": {"text_only": True}}
    start = {"type": "conversation_initiation_client_data", "conversation_config_override": override}
    question = {"type": "user_message", "text": "Where is it?"}

    async def call() -> None:
        async with (
            ElevenLabsSimulator(ANSWER, Habits(events=EVENTS - {"ping", "vad_score"})) as agent,
            connect(f"{agent.url}?agent_id=any") as socket,
        ):
            await socket.send(json.dumps(start))
            got = [json.loads(await socket.recv()) for _ in range(2)]
            assert got[1]["type"] == "agent_response"
            got += await listen(socket, json.dumps(question))
            assert of_type(got, "audio") == []
            assert [body["user_transcript"] for body in of_type(got, "user_transcript")] == ["Where is it?"]
            assert len(of_type(got, "agent_response")) == 2

    asyncio.run(call())


@pytest.mark.parametrize(
    "nonsense",
    ["{", "[]", '"hello"', '{"type":"nonsense"}', "{}", '{"user_audio_chunk":"*"}', '{"user_audio_chunk":7}'],
)
@pytest.mark.parametrize("first", [True, False])
def test_what_is_no_message_ends_the_call_with_1008(nonsense: str, first: bool) -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            async with connect(f"{agent.url}?agent_id=any") as socket:
                for message in [nonsense] if first else [INITIATION, nonsense]:
                    await socket.send(message)
                await socket.wait_closed()
                assert socket.close_code == 1008
            assert "invalid_message" in str((await ended(agent)).refused)

    asyncio.run(call())


def test_what_is_known_but_changes_nothing_is_passed_over() -> None:
    kinds = ["user_activity", "contextual_update", "feedback", "client_tool_result", "multimodal_message"]

    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            await frames(agent, INITIATION, *(json.dumps({"type": kind}) for kind in kinds))
            assert agent.calls[0].passed_over == len(kinds)

    asyncio.run(call())


def test_a_client_that_hangs_up_ends_the_conversation() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(CUT) as agent:
            async with connect(f"{agent.url}?agent_id=any") as socket:
                await socket.send(INITIATION)
                await socket.recv()
                await socket.close(1000, "User ended conversation")
            assert (await ended(agent)).close_code == 1000
            async with connect(f"{agent.url}?agent_id=any") as socket:
                socket.transport.abort()

    asyncio.run(call())


def test_several_calls_at_once_are_kept_apart() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            async with asyncio.TaskGroup() as group:
                calls = [group.create_task(frames(agent, INITIATION)) for _ in range(5)]
            ids = {of_type(call.result(), "conversation_initiation_metadata")[0]["conversation_id"] for call in calls}
            assert ids == {record.conversation_id for record in agent.calls}
            assert len(ids) == 5

    asyncio.run(call())


def test_the_subprotocol_is_selected_if_it_is_offered() -> None:
    async def call() -> None:
        async with ElevenLabsSimulator(MONOLOGUE) as agent:
            for offered, selected in ((["convai", "bearer.abc"], "convai"), (["other"], None), (None, None)):
                async with connect(f"{agent.url}?agent_id=any", subprotocols=offered) as socket:  # type: ignore[arg-type]
                    assert socket.subprotocol == selected
                    assert await listen(socket, INITIATION)

    asyncio.run(call())
