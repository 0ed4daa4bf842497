"""Same audio, same events, for audio that is delivered ahead of its time: however the provider cuts its messages.

A message of exactly one frame (20 ms) that came near the track's position was once taken as heard on the spot.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.builders import sound, speech, voice
from tests.connectors.elevenlabs.stage import agent_audio, interruption
from tests.pipeline.conversations import Frame, conversation
from tests.pipeline.hearing import heard, said
from tests.pipeline.serving import lines_of

REPLIES = ((2000, voice(1800, 1)), (2300, voice(900, 2)), (7000, voice(2500, 3)))
"""When each reply of the agent comes, all of it at once, and its audio."""
CALLER = [speech("caller", 400, 1500), speech("caller", 5200, 6100), speech("caller", 7900, 9500)]


def told(sizes: list[int], cut_at: int | None, form: str = "pcm_8000") -> list[bytes]:
    """The lines of the call, with every reply cut into messages of so many bytes, in turn."""
    frames: list[Frame] = []
    for number, (at, pcm) in enumerate(REPLIES):
        begin, turn = 0, 0
        while begin < len(pcm):
            size = sizes[turn % len(sizes)]
            frames.append((at, agent_audio(pcm[begin : begin + size], number + 1)))
            begin, turn = begin + size, turn + 1
    if cut_at is not None:
        frames.append((cut_at, interruption(3)))
    inputs = conversation(frames, CALLER, 12_000, agent_format=form, caller_format="pcm_8000", chunk_ms=40)
    return lines_of(heard(inputs))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 159, 160, 320, 321, 640, 3200, 100_000]), min_size=1, max_size=6),
    st.none() | st.integers(7000, 9500),
)
@example([320], None)
@example([320, 319, 321], 8200)
def test_however_a_provider_cuts_its_messages_the_events_are_the_same(sizes: list[int], cut_at: int | None) -> None:
    if len(sizes) * 300 > sum(sizes):
        sizes = [*sizes, 2000]  # thousands of messages of a byte or two would only take their time
    assert told(sizes, cut_at) == told([1 << 20], cut_at)


@pytest.mark.parametrize("late", [0, 10, 20, 30, 40])
def test_messages_of_one_frame_wait_for_their_time(late: int) -> None:
    """9 s of messages of 20 ms, sent as fast as they play: each is heard 40 ms after it came."""
    pcm = sound([speech("agent", 0, 4000), speech("agent", 5500, 9000)], 9000)["agent"]
    frames = [(1000 + late + at, agent_audio(pcm[16 * at : 16 * at + 320])) for at in range(0, 9000, 20)]
    inputs = conversation(frames, [], 12_000, agent_format="pcm_8000", caller_format="pcm_8000")
    start = 1040 + late
    for turn, (begin, end) in zip(said(heard(inputs)), ((0, 4000), (5500, 9000)), strict=True):
        assert turn[0] == "assistant"
        assert abs(turn[1] - start - begin) <= 20
        assert abs(turn[2] - start - end) <= 20


def test_frames_of_jittery_lengths_are_as_long_as_they_are() -> None:
    """B07: 8 s in pieces of 5 to 60 ms that come at odd moments, ahead of their time."""
    dice, pcm, frames, begin, at = random.Random(4), voice(8000), [], 0, 2000.0
    while begin < 8000:
        ms = dice.choice((5, 10, 20, 20, 20, 37, 60))
        frames.append((int(at), agent_audio(pcm[16 * begin : 16 * (begin + ms)])))
        begin, at = begin + ms, at + ms * dice.uniform(0.3, 0.95)
    inputs = conversation(frames, [], 12_500, agent_format="pcm_8000", caller_format="pcm_8000")
    assert said(heard(inputs)) == [("assistant", 2040, 10_040)]
