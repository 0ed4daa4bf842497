"""Parity on every labelled call, by every way: the summary's scores are those of the batch metric over what was told.

`check_stream` asserts it of every stream in this folder; here it is asked of real voices, noise, echo and loss, and the
check itself is checked.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
import soundfile

from connectors.inputs import AnyInput, Input
from connectors.simulator.rehearsal import rehearse
from connectors.simulator.scenario_demo import DEMO
from connectors.simulator.twilio_frames import CarrierSettings, lines
from monitor.core.events import Event
from tests.builders import call, of, speech
from tests.cli.process import RECORDINGS
from tests.pipeline.contract import check_stream
from tests.pipeline.conversations import BUFFER_MS, converse, delivery
from tests.pipeline.hearing import heard, live, watched
from tests.pipeline.phone_calls import Carried, Line
from tests.pipeline.serving import lines_of

CALLS = sorted(path.stem for path in RECORDINGS.glob("*.flac"))


def channels(name: str, seconds: int = 40) -> tuple[bytes, bytes]:
    """The beginning of a call at 8 kHz: caller and agent."""
    rate = soundfile.info(RECORDINGS / f"{name}.flac").samplerate
    samples, _ = soundfile.read(RECORDINGS / f"{name}.flac", frames=seconds * rate, dtype="int16")
    left, right = samples[:: rate // 8000].T
    return np.ascontiguousarray(left).tobytes(), np.ascontiguousarray(right).tobytes()


@pytest.mark.parametrize("name", CALLS)
async def test_every_labelled_call_keeps_contract_and_parity(name: str) -> None:
    """All of it, from the recording, with the detector that calls are watched with."""
    events = await watched(f"wav:{RECORDINGS / name}.flac")
    assert live(events).summary["turn_taking"]["transitions"] > 0


@pytest.mark.parametrize("name", ["03_barge_in", "06_backchannels_16k", "12_packet_loss"])
def test_a_labelled_call_over_a_bad_line_keeps_them(name: str) -> None:
    """40 s of it as a media stream with loss, doubles and bursts."""
    caller, agent = channels(name)
    settings = CarrierSettings(loss=0.03, duplicate=0.01, swap=0.02, hold_ms=180, seed=7)
    sent = lines(caller, agent, stream_sid="MZ1", call_sid="CA1", settings=settings)
    messages = [(one.due_ms, one.text) for one in sent if '"media"' in one.text[:20]]
    line = Line({"caller": caller, "agent": agent})
    events = Carried().stream(line, messages).events("webrtc")
    assert live(events).summary["turn_taking"]["transitions"] > 0
    assert live(events).summary["notices"]["gap"] > 10


@pytest.mark.parametrize("name", ["04_barge_in_held", "05_agent_overlap", "10_echo_25db"])
def test_a_labelled_call_through_the_relay_keeps_them(name: str) -> None:
    """40 s of it as a conversation: the agent's channel comes in bursts of 0.2 to 3 s, ahead of its time."""
    caller, agent = channels(name)
    dice, frames, begin, length = random.Random(2), [], 0, len(caller) // 16
    while begin < length:
        ms = dice.randint(200, 3000)
        at = max(0, begin - BUFFER_MS)
        frames += delivery(agent[16 * begin : 16 * (begin + ms)], at=at, within=ms // 6, pieces=max(1, ms // 100))
        begin += ms
    events = converse(frames, caller, length, detector="webrtc", chunk_ms=100)
    assert live(events).summary["turn_taking"]["transitions"] > 0


def test_what_stands_on_a_tape_is_what_was_heard() -> None:
    """The inputs of the demo call as bytes and back: the same lines."""
    inputs = rehearse(DEMO).inputs
    encoded = [msgspec.msgpack.encode(one) for one in inputs]
    read: list[Input] = [msgspec.msgpack.decode(one, type=AnyInput) for one in encoded]
    assert lines_of(heard(read, detector="webrtc")) == lines_of(heard(inputs, detector="webrtc"))


TALK = call(speech("caller", 500, 1500), speech("agent", 2000, 4000), speech("caller", 3500, 5500), length=9000)


def change(kind: str, **fields: Any) -> Callable[[list[Any]], None]:
    """Sets fields of the last line of a kind, or of its turn or summary."""

    def changed(told: list[Any]) -> None:
        line = [line for line in told if line["type"] == kind][-1]
        for name, value in fields.items():
            place = line
            *folders, key = name.split("__")
            for folder in folders:
                place = place[folder]
            place[key] = value

    return changed


@pytest.mark.parametrize(
    "spoil",
    [
        change("call.ended", summary__turn_taking__score=0.5),
        change("call.ended", summary__turn_taking__score_all_turns=0.5),
        change("call.ended", summary__turn_taking__score_with_consistency=0.5),
        change("call.ended", summary__turn_taking__kinds__gap=9),
        change("call.ended", summary__turns__user=5),
        change("call.ended", summary__talk__silence=0.0),
        change("call.ended", summary__notices={"gap": 1}),
        change("call.ended", summary__duration=3.0),
        change("turn.ended", turn__duration=1.0),
        change("turn.ended", turn__start_time=0.0),
        change("turn.ended", turn__index=7),
        change("turn.started", turn__role="assistant"),
        change("transition.scored", transition__gap_seconds=0.1),
        change("transition.scored", transition__final=False),
        change("transition.scored", turn_taking__transitions=9),
        change("turn.started", known_at=0.0),
        change("turn.ended", at=99.0),
        change("turn.ended", at=0.0005),
        change("turn.ended", call="other"),
        change("turn.ended", seq=0),
        lambda told: told.pop(),
        lambda told: told.pop(3),
        lambda told: told.insert(0, told[1]),
        lambda told: told.append(told[-1]),
    ],
)  # fmt: skip
def test_the_check_finds_what_is_wrong(spoil: Callable[[list[Any]], object]) -> None:
    events: list[Event] = heard(TALK)
    assert len(of(events, "transition.scored")) >= 2
    told = [copy.deepcopy(event.as_dict()) for event in events]
    check_stream(told)
    spoil(told)
    with pytest.raises((AssertionError, KeyError, ValueError)):
        check_stream(told)
