"""A scenario played through without sockets and without waiting, and the truth about it: who speaks when.

The two sides hear each other at once here; on a real line every reaction comes later by the delay of both ways.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from connectors.inputs import Audio, CallEnded, CallStarted, Cut, Elapsed, Input, PlayoutPolicy, Text, TrackFormat
from connectors.simulator.agent import (
    Action,
    AgentWords,
    CallerWords,
    Correct,
    Deliver,
    HangUp,
    Interrupt,
    ScriptedAgent,
)
from connectors.simulator.device import Heard, VirtualDevice
from connectors.simulator.habits import Habits
from connectors.simulator.scenario import AgentLine, Scenario
from connectors.simulator.scripted_caller import Said, ScriptedCaller
from connectors.simulator.voices import RATE, recording
from connectors.simulator.wire_audio import piece

STEP_MS = 20
LIMIT_MS = 600_000


@dataclass(frozen=True)
class TrueTurn:
    """Somebody's voice, from the first to the last voiced 10 ms: [`start`, `end`) in ms. `line`: which line of that
    side it is, counted from 0. `interrupted`: it was cut by the other side."""

    track: Literal["caller", "agent"]
    line: int
    start: int
    end: int
    text: str
    backchannel: bool = False
    interrupted: bool = False


@dataclass(frozen=True)
class TrueTransition:
    """The floor passes from one turn to the next, which are no backchannels. `gap_ms` is negative in an overlap."""

    kind: Literal["gap", "user_barge_in", "agent_overlap"]
    gap_ms: int
    to: TrueTurn


def label(scenario: Scenario, heard: list[Heard], said: list[Said]) -> list[TrueTurn]:
    """The turns of a call in order of their start, from what the caller's device played (one `Heard` a line of the
    agent, see `VirtualDevice.responses`) and what the caller said."""
    turns = []
    for number, span in enumerate(heard):
        line = scenario.agent[number]
        voice = recording(line.audio)
        start, end = round(span.start) + voice.voiced_from_ms, round(min(span.end, span.start + voice.voiced_to_ms))
        cut = span.end - span.start < line.duration_ms - 1
        turns.append(TrueTurn("agent", number, start, end, line.text, interrupted=cut))
    for number, spoken in enumerate(said):
        voice, at, line_said = recording(spoken.line.audio), round(spoken.at), spoken.line
        start, end = at + voice.voiced_from_ms, at + voice.voiced_to_ms
        turns.append(TrueTurn("caller", number, start, end, line_said.text, backchannel=line_said.backchannel))
    return sorted(turns, key=lambda turn: (turn.start, turn.track == "agent"))


def transitions(turns: list[TrueTurn]) -> list[TrueTransition]:
    """The changes of speaker among the turns that are no backchannels."""
    taken = [turn for turn in turns if not turn.backchannel]
    found = []
    for before, after in pairwise(taken):
        if before.track != after.track:
            gap = after.start - before.end
            overlap: Literal["user_barge_in", "agent_overlap"] = (
                "user_barge_in" if after.track == "caller" else "agent_overlap"
            )
            found.append(TrueTransition("gap" if gap >= 0 else overlap, gap, after))
    return found


@dataclass(frozen=True)
class Rehearsal:
    """`turns` and `transitions`: the truth. `caller`, `agent`: both tracks as heard, s16 at `voices.RATE`, of equal
    length. `inputs`: the call as a connector in front of the agent would hand it on, with the agent's audio as it was
    delivered."""

    turns: list[TrueTurn]
    transitions: list[TrueTransition]
    caller: NDArray[np.int16]
    agent: NDArray[np.int16]
    inputs: list[Input]


def rehearse(scenario: Scenario, habits: Habits | None = None, *, seed: int = 0) -> Rehearsal:
    """Plays a scenario with both sides in it. Raises `ValueError` if it does not end within ten minutes."""
    words = tuple(line.text for line in scenario.caller)
    agent = ScriptedAgent(scenario, habits or Habits(), words=words, seed=seed)
    device = VirtualDevice(buffer_ms=0.0)
    caller = ScriptedCaller(scenario.caller, device, seed=seed)
    inputs: list[Input] = [_started(scenario)]
    microphone: list[NDArray[np.int16]] = []
    for now in range(0, LIMIT_MS, STEP_MS):
        for action in agent.advance(float(now)):
            if isinstance(action, HangUp):
                turns, track = label(scenario, device.responses(), caller.said), np.concatenate(microphone)
                inputs.append(CallEnded(now, "hangup"))
                loudspeaker = _loudspeaker(scenario, device.heard, len(track))
                return Rehearsal(turns, transitions(turns), track, loudspeaker, inputs)
            inputs += _input(now, action, device)
        microphone.append(caller.microphone(now, now + STEP_MS))
        heard = microphone[-1][::2].tobytes()
        agent.hearing.hear(float(now + STEP_MS), heard)
        inputs += [Audio("caller", now, heard), Elapsed(now + STEP_MS)]
    raise ValueError(f"the scenario {scenario.name!r} does not end by itself")


class RehearsedCall:
    """A rehearsal as a connector: the call as a recording, to be watched at any speed. See `connectors.base`."""

    live = False

    def __init__(self, scenario: Scenario, *, seed: int = 0) -> None:
        self._inputs = rehearse(scenario, seed=seed).inputs
        self.length_ms: int | None = self._inputs[-1].at if isinstance(self._inputs[-1], CallEnded) else None

    async def inputs(self) -> AsyncIterator[Input]:
        """The call's inputs in order."""
        for given in self._inputs:
            yield given


def _started(scenario: Scenario) -> CallStarted:
    tracks = {"caller": TrackFormat("pcm_s16le", 8000), "agent": TrackFormat("pcm_s16le", 8000, "delivered")}
    policy = PlayoutPolicy(buffer_ms=0)
    return CallStarted(scenario.name, "simulator", "2026-01-01T00:00:00Z", None, {}, tracks, policy)


def _input(now: int, action: Action, device: VirtualDevice) -> list[Input]:
    """What an action of the agent is to a connector; the device is told, too."""
    match action:
        case Deliver(line, start, end, event):
            device.play(now, end - start, event)
            return [Audio("agent", now, piece(line.audio, "pcm_8000", start, end), 8000, event)]
        case Interrupt(event):
            device.cut(now, event)
            return [Cut("agent", now, event)]
        case CallerWords(text, event):
            return [Text("caller", now, text, "transcript", event)]
        case AgentWords(text, event):
            return [Text("agent", now, text, "response", event)]
        case Correct(_, text, event):
            return [Text("agent", now, text, "correction", event)]
    return []


def _loudspeaker(scenario: Scenario, heard: list[Heard], length: int) -> NDArray[np.int16]:
    track = np.zeros(length, dtype=np.int16)
    lines: dict[int | None, AgentLine] = {}
    played: dict[int | None, int] = {}
    for span in heard:
        line = lines.setdefault(span.response, scenario.agent[len(lines)])
        at, taken = round(span.start * RATE / 1000), played.get(span.response, 0)
        count = round((span.end - span.start) * RATE / 1000)
        sound = recording(line.audio).samples[taken : taken + min(count, length - at)]
        track[at : at + len(sound)] = sound
        played[span.response] = taken + count
    return track
