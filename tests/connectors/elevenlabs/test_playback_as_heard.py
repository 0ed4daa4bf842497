"""From the frames that pass the relay to the turns that are told: agent audio counts for when it is heard.

The clock is the test's: caller audio comes in chunks of 20 ms as a microphone sends it, the agent's frames come when a
test says, and the sweep comes every 50 ms.
"""

from __future__ import annotations

from typing import Any

import pytest

from connectors.elevenlabs.beginning import Opened
from connectors.elevenlabs.ending import Ending
from connectors.elevenlabs.listening import Listener
from monitor.core.events import Event
from tests.builders import Speech, noise, of, sound, speech, transitions_of, turns_of, voice, watch
from tests.connectors.elevenlabs.stage import agent_audio, caller_audio, interruption, metadata

BUFFER_MS = 40


def told(agent: list[tuple[int, str]], *caller: Speech, length: int, source: str | None = None) -> list[Event]:
    """The events of a call in which the agent's frames pass the relay at the given times (ms)."""
    listener = Listener(Opened(0, "own", source=source))
    inputs: list[Any] = listener.receive("server", metadata(agent="pcm_8000", caller="pcm_8000"), 0)
    line = sound(caller, length)["caller"]
    waiting = sorted(agent, key=lambda frame: frame[0])
    for now in range(10, length + 1, 10):
        while waiting and waiting[0][0] <= now:
            at, frame = waiting.pop(0)
            inputs += listener.receive("server", frame, at)
        if now % 20 == 0:
            inputs += listener.receive("client", caller_audio(line[16 * (now - 20) : 16 * now]), now)
        if now % 50 == 0:
            inputs += listener.elapsed(now)
    inputs += listener.closed(length, Ending("server", 1000))
    return watch(inputs)


def near(turn: tuple[str, int, int], role: str, start: int, end: int) -> bool:
    return turn[0] == role and abs(turn[1] - start) <= 100 and abs(turn[2] - end) <= 60


def test_b01_eight_seconds_delivered_in_three_hundred_ms() -> None:
    audio = voice(8000)
    burst = [(10_000 + n * 300 // 80, agent_audio(audio[1600 * n : 1600 * n + 1600], 3)) for n in range(80)]
    events = told(burst, speech("caller", 18_400, 19_600), length=22_000)
    agent, caller = turns_of(events)
    assert near(agent, "assistant", 10_000 + BUFFER_MS, 18_000 + BUFFER_MS)
    assert near(caller, "user", 18_400, 19_600)
    ((kind, gap),) = transitions_of(events)
    assert kind == "gap"
    assert gap == pytest.approx(400 - BUFFER_MS, abs=60)


def test_b02_an_interruption_ends_the_turn_where_it_was_heard_to_end() -> None:
    events = told(
        [(10_000, agent_audio(voice(8000), 3)), (11_200, interruption(3))],
        speech("caller", 10_900, 13_000),
        length=16_000,
    )
    agent = next(turn for turn in turns_of(events) if turn[0] == "assistant")
    assert near(agent, "assistant", 10_000 + BUFFER_MS, 11_200)
    ended = next(event.turn for event in of(events, "turn.ended") if event.turn.role == "assistant")
    assert ended.ended_by == "interruption"
    assert transitions_of(events)[0][0] == "user_barge_in"


@pytest.mark.parametrize(("source", "is_heard"), [(None, True), ("python_sdk", False)])
def test_b05_a_reply_with_the_id_of_the_interruption(source: str | None, is_heard: bool) -> None:
    frames = [
        (3000, interruption(7)),
        (3200, agent_audio(voice(1000), 6)),
        (3300, agent_audio(voice(1500), 7)),
    ]
    turns = turns_of(told(frames, length=8000, source=source))
    assert [near(turn, "assistant", 3300 + BUFFER_MS, 4800 + BUFFER_MS) for turn in turns] == (
        [True] if is_heard else []
    )


def test_b07_a_pause_of_delivery_is_no_pause_of_speech() -> None:
    frames = [(3000, agent_audio(voice(1000), 1)), (3600, agent_audio(voice(2000), 1))]
    (turn,) = turns_of(told(frames, length=9000))
    assert near(turn, "assistant", 3000 + BUFFER_MS, 6000 + BUFFER_MS)


def test_late_audio_of_a_cut_response_is_heard_where_the_client_plays_it() -> None:
    frames = [
        (3000, agent_audio(voice(8000), 1)),
        (5000, interruption(1)),
        (7000, agent_audio(voice(1500), 1)),
    ]
    dropped = turns_of(told(frames, length=11_000, source="python_sdk"))
    played = turns_of(told(frames, length=11_000, source="js_sdk"))
    assert len(dropped) == 1
    assert near(dropped[0], "assistant", 3040, 5000)
    assert len(played) == 2
    assert near(played[1], "assistant", 7040, 8540)


def test_silence_inside_a_burst_is_a_pause_of_speech() -> None:
    frames = [(3000, agent_audio(voice(1000) + noise(2000, 2, 5) + voice(1000), 1))]
    first, second = turns_of(told(frames, length=10_000))
    assert near(first, "assistant", 3040, 4040)
    assert near(second, "assistant", 6040, 7040)


def test_the_close_of_the_call_cuts_what_was_to_come() -> None:
    (turn,) = turns_of(told([(3000, agent_audio(voice(8000), 1))], length=5000))
    assert near(turn, "assistant", 3040, 5000)
