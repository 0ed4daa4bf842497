"""Whose voice is on which channel (B41, B38), and that a mix-up is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import sound, speech, transitions_of
from tests.cli.process import events as lines
from tests.cli.process import run
from tests.connectors.recordings.takes import save, stereo
from tests.pipeline.contract import check_stream
from tests.pipeline.hearing import about, live, notices, said, watched
from tests.pipeline.phone_calls import Line, call

LEFT, RIGHT = (400, 3000), (2500, 5000)
TALK = stereo(speech("caller", *LEFT), speech("agent", *RIGHT), length=8000)


async def test_by_default_the_left_channel_is_the_callers(tmp_path: Path) -> None:
    """B41: left 0.4-3.0, right 2.5-5.0. By default the right one, the agent, talks over the left one."""
    events = await watched(save(tmp_path / "call.wav", TALK), detector="energy")
    assert said(events) == [("user", *LEFT), ("assistant", *RIGHT)]
    assert transitions_of(events) == [("agent_overlap", -500)]


@pytest.mark.parametrize("how", ["?channels=agent,caller", "two files", "--channels"])
async def test_the_swap_turns_the_agents_overlap_into_a_barge_in(how: str, tmp_path: Path) -> None:
    """B41: the same audio with the channels the other way round."""
    path = save(tmp_path / "call.wav", TALK)
    if how == "--channels":
        done = run(
            "watch",
            f"wav:{path}",
            "--channels",
            "agent,caller",
            "--speed",
            "max",
            "--json",
            "--set",
            "speech.detector=webrtc",
        )
        told = lines(done.stdout)
        check_stream(told)
        kinds = told[-1]["summary"]["turn_taking"]["kinds"]
    else:
        if how == "two files":
            left, right = (save(tmp_path / f"{n}.wav", TALK[:, n : n + 1]) for n in (0, 1))
            word = f"wav:{right},{left}"
        else:
            word = f"wav:{path}{how}"
        events = await watched(word, detector="energy")
        assert said(events) == [("assistant", *LEFT), ("user", *RIGHT)]
        kinds = live(events).summary["turn_taking"]["kinds"]
    assert kinds == {"gap": 0, "user_barge_in": 1, "agent_overlap": 0}


@pytest.mark.parametrize("kind", ["one channel", "both channels the same", "one a little louder", "raw samples"])
async def test_a_mono_call_is_not_scored_as_two_speakers(kind: str, tmp_path: Path) -> None:
    """B41: both voices on one channel, or the same signal on two: no overlap of 100 %, no score, and it is told."""
    mono = TALK.sum(axis=1).astype(np.int16).reshape(-1, 1)
    twice = np.repeat(mono, 2, axis=1)
    if kind == "one a little louder":
        twice[:, 1] = (twice[:, 1] * 0.9).astype(np.int16)
    if kind == "raw samples":
        path = tmp_path / "call.raw"
        path.write_bytes(twice.tobytes())
        events = await watched(f"pcm:{path}", detector="energy")
    else:
        events = await watched(save(tmp_path / "call.wav", mono if kind == "one channel" else twice), detector="energy")
    summary = live(events).summary
    assert notices(events) == {"mono": 1}
    assert {turn[0] for turn in said(events)} == {"user"}
    assert summary["turn_taking"]["score"] is None
    assert (summary["talk"]["overlap"], summary["unanswered"]["count"]) == (None, None)


def test_two_tracks_of_one_stream_stay_two_tracks() -> None:
    """B38 (a): inbound and outbound frames alternate on one socket; caller 0-2, agent 2.5-4.5."""
    talk = sound([speech("caller", 400, 2000), speech("agent", 2500, 4500)], 4500)
    for silence in (True, False):
        line = Line(talk, silence=silence)
        events = call(line)
        assert said(events) == [("user", 400, 2000), ("assistant", 2500, 4500)]
        assert transitions_of(events) == [("gap", 500)]
        assert live(events).summary["duration"] == about(4.5, 0.02)


def test_the_tracks_may_come_in_any_order() -> None:
    """B38 (a) with the agent's frames first, and with a second of each track at a time."""
    talk = sound([speech("caller", 400, 2000), speech("agent", 2500, 4500)], 6000)
    line = Line(talk)
    sent = line.pieces()
    first = sorted(sent, key=lambda one: (one[0], '"inbound"' in one[1]))
    assert first != sent
    wanted = [("user", 400, 2000), ("assistant", 2500, 4500)]
    assert said(call(line, first)) == wanted


@pytest.mark.parametrize("only", ["caller", "agent"])
def test_a_stream_with_one_track_is_told_and_not_scored(only: str) -> None:
    """B38 (b): 10 s of one track alone. There is no unanswered turn, no dead air and no score, for nobody knows."""
    talk = {only: sound([speech(only, 1000, 3000), speech(only, 8000, 9000)], 10_000)[only]}  # type: ignore[arg-type, index]
    events = call(Line(talk))
    absent = "agent" if only == "caller" else "caller"
    assert notices(events, absent) == {"one_way_audio": 1}
    (told,) = [event for event in events if event.type == "notice"]
    assert told.as_dict()["message"].startswith(f"{absent} channel absent")
    summary = live(events).summary
    assert summary["turn_taking"]["score"] is None
    assert summary["turn_taking"]["transitions"] == 0
    assert (summary["unanswered"]["count"], summary["dead_air"]["count"], summary["response_time"]["count"]) == (
        None,
        None,
        None,
    )
    assert len(said(events)) == 2


def test_a_track_that_was_announced_and_never_comes_is_not_scored_as_silence() -> None:
    """B38 (b): both tracks are announced, 15 s of the caller come, with a question that nobody answers."""
    talk = sound([speech("caller", 1000, 3000)], 25_000)
    line = Line(talk)
    events = call(line, line.pieces("inbound"))
    assert notices(events, "agent")["one_way_audio"] == 1
    summary = live(events).summary
    assert summary["turn_taking"]["score"] is None
    assert summary["unanswered"]["count"] == 0


async def test_a_channel_may_be_nobodys(tmp_path: Path) -> None:
    """B41's relative: three channels, of which the middle one holds a third party that is nobody here."""
    three = np.insert(TALK, 1, TALK[::-1, 0], axis=1)
    path = save(tmp_path / "call.wav", three)
    events = await watched(f"wav:{path}?channels=caller,-,agent", detector="energy")
    assert said(events) == [("user", *LEFT), ("assistant", *RIGHT)]
