"""Agent audio is told as it was heard, not as it came (B01, B02, B05, B07): every wire format, odd bursts, odd ids.

`tests/connectors/elevenlabs/test_playback_as_heard.py` has each of these faults as it was reported, in one format, and
`tests/core/playout` the rules behind them; here are their relatives.
"""

from __future__ import annotations

import pytest

from connectors.simulator.voices import recording
from connectors.simulator.wire_audio import FORMATS
from tests.builders import of, speech, transitions_of, voice
from tests.connectors.elevenlabs.stage import interruption, message
from tests.pipeline.conversations import BUFFER_MS, answered_ping, converse, delivery
from tests.pipeline.hearing import about, ended_turns, live, near, said

ANSWER = speech("caller", 18_400, 19_600)


@pytest.mark.parametrize("form", FORMATS)
def test_a_burst_of_eight_seconds_is_eight_seconds_in_every_format(form: str) -> None:
    """B01: 80 chunks in 0.3 s. Read at the wrong rate it would last 4, 12 or 24 s; by arrival, 0.3 s."""
    burst = delivery(voice(8000), form, at=10_000, within=300, pieces=80, event=3)
    events = converse(burst, [ANSWER], 22_000, agent_format=form, caller_format="ulaw_8000")
    agent, caller = ended_turns(events)
    assert agent.role == "assistant"
    assert near(agent, 10_000, 18_000)
    assert agent.duration_ms == about(8000, 20)
    assert near(caller, 18_400, 19_600)
    ((kind, gap),) = transitions_of(events)
    assert (kind, gap) == ("gap", about(400, 60))
    assert events[-1].known_at_ms == 22_000


@pytest.mark.parametrize(
    ("pieces", "within"), [(1, 0), (3, 20), (80, 300), (400, 900), (400, 7200)], ids=lambda value: str(value)
)
def test_however_a_burst_is_cut_it_is_heard_the_same(pieces: int, within: int) -> None:
    """B01: one message, a few, hundreds; and hardly faster than it plays."""
    events = converse(delivery(voice(8000), at=10_000, within=within, pieces=pieces), [ANSWER], 22_000)
    assert said(events) == [("assistant", 10_040, 18_040), ("user", 18_400, 19_600)]
    assert transitions_of(events) == [("gap", 360)]


def test_replies_that_come_while_others_play_queue_behind_them() -> None:
    """B01: three responses within 0.5 s; nothing overlaps, and the caller's answer is 0.36 s after the last."""
    burst = [
        frame
        for n, ms in enumerate((3000, 2000, 3000))
        for frame in delivery(voice(ms, n), at=10_000 + 200 * n, within=50, pieces=7, event=n + 1)
    ]
    events = converse(burst, [ANSWER], 22_000)
    assert said(events) == [("assistant", 10_040, 18_040), ("user", 18_400, 19_600)]


def test_a_burst_of_a_real_voice_is_as_long_as_the_voice() -> None:
    """B01 with speech and the detector that calls are watched with."""
    line = recording("agent_hours")
    pcm = line.samples[::2].tobytes()
    events = converse(delivery(pcm, at=3000, within=200, pieces=40), [], 12_000, detector="webrtc")
    (turn,) = ended_turns(events)
    start = 3000 + BUFFER_MS
    assert near(turn, start + line.voiced_from_ms, start + line.voiced_to_ms, within=150)


def test_the_way_to_the_client_counts() -> None:
    """B01 at 200 ms of round trip: the agent is heard 100 ms later, and the caller had spoken 100 ms before it came."""
    ping, pong = answered_ping(1, 200, 200)
    events = converse([ping, *delivery(voice(8000), at=10_000)], [ANSWER], 22_000, client=[pong])
    agent, caller = ended_turns(events)
    assert (agent.start_ms, agent.end_ms) == (10_140, 18_140)
    assert near(caller, 18_300, 19_500, within=20)


@pytest.mark.parametrize("form", FORMATS)
def test_a_cut_burst_is_as_long_as_it_was_heard(form: str) -> None:
    """B02: 8 s at 10.0, interrupted at 11.2: 1.2 s. The caller speaks at 12.0: 0.8 s later, not 6 s before its end."""
    frames = [*delivery(voice(8000), form, at=10_000, within=300, pieces=80, event=3), (11_200, interruption(3))]
    events = converse(frames, [speech("caller", 12_000, 13_000)], 16_000, agent_format=form)
    agent, _ = ended_turns(events)
    assert agent.ended_by == "interruption"
    assert agent.duration_ms == about(1200, 50)
    assert near(agent, 10_000, 11_200, within=50)
    assert transitions_of(events) == [("gap", about(800, 50))]


def test_the_overlap_of_a_barge_in_ends_with_the_cut() -> None:
    """B02: the caller comes in at 10.9 and the agent is cut at 11.2: an overlap of 0.3 s, not of 7 s."""
    frames = [*delivery(voice(8000), at=10_000, within=300, pieces=80, event=3), (11_200, interruption(3))]
    events = converse(frames, [speech("caller", 10_900, 13_500)], 17_000)
    assert transitions_of(events) == [("user_barge_in", -300)]
    assert live(events).summary["barge_in"]["yield_p50"] == 0.3
    assert live(events).summary["talk"]["assistant"] == about(1.2, 0.05)


@pytest.mark.parametrize(
    ("cut", "ends_at"),
    [
        pytest.param(interruption("3"), 11_200, id="its id as a string"),
        pytest.param(interruption(9), 11_200, id="a later id"),
        pytest.param(message("interruption", interruption_event={"reason": "user"}), 11_200, id="no id"),
        pytest.param(message("interruption"), 11_200, id="no event at all"),
        pytest.param(message("interruption", interruption_event={"event_id": [3]}), 11_200, id="an id that is none"),
    ],
)
def test_however_the_interruption_names_it_the_reply_is_cut(cut: str, ends_at: int) -> None:
    """B02: contracts and samples disagree about the id."""
    events = converse([*delivery(voice(8000), at=10_000, event=3), (11_200, cut)], [], 16_000)
    assert said(events) == [("assistant", 10_040, ends_at)]
    assert ended_turns(events)[0].ended_by == "interruption"


def test_a_cut_of_what_has_been_heard_to_its_end_changes_nothing() -> None:
    """B02: the interruption comes a second after the last of it was heard."""
    events = converse([*delivery(voice(1200), at=10_000, event=3), (12_300, interruption(3))], [], 16_000)
    (turn,) = ended_turns(events)
    assert (turn.start_ms, turn.end_ms, turn.ended_by) == (10_040, 11_240, "silence")


def test_what_is_cut_before_it_began_was_never_said() -> None:
    """B02: two replies wait, and the cut comes while the first one plays."""
    frames = [
        *delivery(voice(2000), at=10_000, event=3),
        *delivery(voice(2000), at=10_100, event=4),
        (10_500, interruption(4)),
        *delivery(voice(1000), at=13_000, event=5),
    ]
    events = converse(frames, [], 17_000)
    assert said(events) == [("assistant", 10_040, 10_500), ("assistant", 13_040, 14_040)]


def test_two_cuts_in_a_row_cut_twice() -> None:
    """B02: each reply ends where its own interruption came."""
    frames = [
        *delivery(voice(8000), at=4000, within=300, pieces=30, event=1),
        (5000, interruption(1)),
        *delivery(voice(8000), at=7000, within=300, pieces=30, event=2),
        (8500, interruption(2)),
    ]
    events = converse(frames, [speech("caller", 5200, 6500), speech("caller", 8300, 10_000)], 14_000)
    assert said(events) == [
        ("assistant", 4040, 5000),
        ("user", 5200, 6500),
        ("assistant", 7040, 8500),
        ("user", 8300, 10_000),
    ]
    assert [turn.ended_by for turn in ended_turns(events, "assistant")] == ["interruption", "interruption"]


@pytest.mark.parametrize("form", ["pcm_24000", "ulaw_8000"])
@pytest.mark.parametrize("as_id", [int, str])
def test_a_reply_with_the_id_of_the_interruption_is_heard(form: str, as_id: type) -> None:
    """B05: interruption 7 at 3.0, a late rest of 6 at 3.2, the reply 7 at 3.3: it is heard from 3.3 to 4.8."""
    frames = [
        *delivery(voice(1000), form, at=500, event=as_id(6)),
        (3000, interruption(as_id(7))),
        *delivery(voice(1000, 2), form, at=3200, event=as_id(6)),
        *delivery(voice(1500, 3), form, at=3300, event=as_id(7)),
    ]
    events = converse(frames, [], 8000, agent_format=form)
    first, second = ended_turns(events, "assistant")
    assert near(first, 500, 1500, within=60)
    assert near(second, 3300, 4800, within=60)
    assert second.duration_ms == about(1500, 20)


@pytest.mark.parametrize(
    ("pause", "form"), [(200, "pcm_44100"), (320, "ulaw_8000"), (600, "pcm_16000"), (950, "pcm_24000")]
)
def test_a_pause_of_delivery_while_there_is_still_something_to_play_is_no_pause(form: str, pause: int) -> None:
    """B07: 1 s, a pause of the network, 2 s: one turn of 3 s."""
    audio = voice(3000)
    frames = [
        *delivery(audio[:16_000], form, at=2000, event=1),
        *delivery(audio[16_000:], form, at=2000 + pause, event=1),
    ]
    events = converse(frames, [], 8000, agent_format=form)
    (turn,) = ended_turns(events)
    assert near(turn, 2000, 5000, within=60)
    assert turn.duration_ms == about(3000, 20)
    assert len(of(events, "turn.started")) == 1


def test_many_pauses_of_delivery_lose_nothing() -> None:
    """B07: 12 s in bursts of 0.5 to 2 s, each arriving when 50 ms of the one before are left."""
    audio, frames, at, begin = voice(12_000), [], 2000, 0
    for ms in (500, 2000, 1500, 500, 1000, 2000, 500, 1500, 500, 2000):
        frames += delivery(audio[16 * begin : 16 * (begin + ms)], at=at, within=30, pieces=5, event=1)
        at, begin = at + ms - 50, begin + ms
    events = converse(frames, [], 18_000)
    assert said(events) == [("assistant", 2040, 14_040)]


@pytest.mark.parametrize(("pause", "turns"), [(1700, 1), (2500, 2)])
def test_a_pause_of_delivery_that_outlasts_the_audio_is_heard_as_a_pause(pause: int, turns: int) -> None:
    """B07: the client has played everything and waits; over a second of it ends the turn, as any pause does."""
    frames = [*delivery(voice(1000), at=2000), *delivery(voice(1000, 2), at=2000 + pause)]
    events = converse(frames, [], 9000)
    told = said(events)
    assert len(told) == turns
    assert (told[0][1], told[-1][2]) == (2040, about(3040 + pause, 20))
