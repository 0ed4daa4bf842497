"""Who talks over whom, and who does not (B09, B11), by every way that a call takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.simulator.voices import recording
from tests.builders import of, speech, transitions_of, voice
from tests.connectors.elevenlabs.stage import interruption
from tests.pipeline.conversations import converse, delivery
from tests.pipeline.hearing import about, ended_turns, live, near, said
from tests.pipeline.routes import ROUTES, by

AGENT_TALKS = speech("agent", 400, 6000)


@pytest.mark.parametrize("route", ROUTES)
def test_a_listeners_noises_are_no_barge_ins(route: str, tmp_path: Path) -> None:
    """B09: the agent speaks to 6.0; the caller says mhm for 0.25 s at 2.0, 3.5 and 5.0, and the agent goes on."""
    noises = [speech("caller", at, at + 250) for at in (2000, 3500, 5000)]
    events = by(route, [AGENT_TALKS, *noises], 9000, tmp_path)
    summary = live(events).summary
    assert (summary["barge_in"]["user"], summary["barge_in"]["backchannels"]) == (0, 3)
    assert summary["turn_taking"]["kinds"]["user_barge_in"] == 0
    assert summary["turns"] == {"user": 0, "assistant": 1}
    assert said(events) == [("assistant", 400, 6000)]
    heard = ended_turns(events, "user")
    assert [
        near(turn, at, at + 250, 40) and turn.backchannel for turn, at in zip(heard, (2000, 3500, 5000), strict=True)
    ]
    assert not any(turn.interrupted for turn in ended_turns(events))
    told = {(e.transition.from_turn, e.transition.to_turn) for e in of(events, "transition.scored")}
    assert told == {(e.from_turn, e.to_turn) for e in of(events, "transition.withdrawn")}


@pytest.mark.parametrize(
    "noises",
    [
        pytest.param([(2000, 2900)], id="a long one"),
        pytest.param([(2000, 2200), (2350, 2550)], id="mm-hm in two parts"),
        pytest.param([(1000, 1200), (1800, 2000), (2600, 2800), (3400, 3600), (4200, 4400)], id="five"),
        pytest.param([(5400, 5700)], id="near the end"),
        pytest.param([(700, 1000)], id="near the beginning"),
    ],
)
def test_other_noises_of_a_listener_are_none_either(noises: list[tuple[int, int]], tmp_path: Path) -> None:
    """B09's relatives, through the relay: the agent's audio is never cut."""
    events = by("elevenlabs", [AGENT_TALKS, *(speech("caller", *noise) for noise in noises)], 9000, tmp_path)
    assert said(events) == [("assistant", 400, 6000)]
    assert live(events).summary["barge_in"]["user"] == 0
    assert transitions_of(events) == []


def test_an_agent_may_listen_too(tmp_path: Path) -> None:
    """B09 with the parts exchanged: the caller tells a long story, the agent says mhm."""
    events = by("twilio", [speech("caller", 400, 8000), speech("agent", 3000, 3300)], 11_000, tmp_path)
    assert said(events) == [("user", 400, 8000)]
    assert transitions_of(events) == []
    assert live(events).summary["barge_in"]["agent"] == 0


def test_a_real_mhm_into_a_real_sentence_is_a_listeners_noise() -> None:
    """B09 with voices, and the detector that calls are watched with."""
    agent, noise = recording("agent_greeting"), recording("caller_mhm")
    line = bytearray(16 * 9000)
    pcm = noise.samples[::2].tobytes()
    line[16 * 2000 : 16 * 2000 + len(pcm)] = pcm
    frames = delivery(agent.samples[::2].tobytes(), at=500, within=400, pieces=30)
    events = converse(frames, bytes(line), 9000, detector="webrtc")
    summary = live(events).summary
    assert summary["barge_in"] == {**summary["barge_in"], "user": 0, "backchannels": 1}
    assert summary["turns"] == {"user": 0, "assistant": 1}


def test_a_short_word_that_stops_the_agent_is_no_listeners_noise() -> None:
    """B09's opposite: `stop!` for 0.25 s, after which the agent is cut and stays silent for long."""
    frames = [*delivery(voice(8000), at=360, event=1), (2600, interruption(1))]
    events = converse(frames, [speech("caller", 2000, 2300)], 9000)
    agent, caller = ended_turns(events)
    assert agent.ended_by == "interruption"
    assert near(agent, 400, 2600, 40)
    assert caller.role == "user"


@pytest.mark.parametrize("route", ROUTES)
def test_an_agent_that_talks_over_the_caller_is_an_agent_overlap(route: str, tmp_path: Path) -> None:
    """B11: the caller speaks to 4.0, a stale reply starts at 3.5: an overlap of 0.5 s by the agent."""
    events = by(route, [speech("caller", 400, 4000), speech("agent", 3500, 5500)], 8500, tmp_path)
    assert transitions_of(events) == [("agent_overlap", about(-500, 20))]
    summary = live(events).summary
    assert summary["turn_taking"]["kinds"] == {"gap": 0, "user_barge_in": 0, "agent_overlap": 1}
    assert (summary["barge_in"]["user"], summary["barge_in"]["agent"]) == (0, 1)
    assert summary["talk"]["overlap"] == about(0.5, 0.04)
    assert summary["response_time"]["count"] == 0


@pytest.mark.parametrize(
    ("caller", "agent", "overlap"),
    [
        pytest.param((400, 4000), (3900, 5500), 100, id="by a syllable"),
        pytest.param((400, 7000), (3000, 4600), 4000, id="all of it within the caller's turn"),
        pytest.param((400, 4000), (800, 6000), 3200, id="almost from the beginning"),
        pytest.param((3000, 6000), (5000, 8000), 1000, id="later in the call"),
    ],
)
@pytest.mark.parametrize("route", ["elevenlabs", "twilio"])
def test_it_is_the_agents_overlap_wherever_it_begins(
    route: str, caller: tuple[int, int], agent: tuple[int, int], overlap: int, tmp_path: Path
) -> None:
    """B11's relatives."""
    events = by(route, [speech("caller", *caller), speech("agent", *agent)], 11_000, tmp_path)
    assert transitions_of(events) == [("agent_overlap", about(-overlap, 40))]


def test_an_answer_after_the_call_of_a_tool_that_hits_the_caller_is_the_agents_overlap() -> None:
    """B11: the caller asks, waits 4 s, asks again; the answer to the first question comes in the middle of that."""
    frames = delivery(voice(2500), at=7560, within=200, pieces=20)
    events = converse(frames, [speech("caller", 500, 2500), speech("caller", 6500, 8600)], 13_000)
    assert transitions_of(events) == [("agent_overlap", about(-1000, 40))]
    assert live(events).summary["response_time"]["count"] == 0
