"""The sound of a finished turn can be asked about; nothing else is kept, and never more than is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import Text
from monitor.core.clock import FRAME_MS
from monitor.core.events import Turn
from monitor.core.framing import Block, Framer
from monitor.core.questions import TranscribeRequest
from monitor.core.turn_audio import (
    AFTER_MS,
    BEFORE_MS,
    LOOK_BACK_MS,
    MAX_ASKED_BYTES,
    MAX_AWAITED,
    MAX_MS,
    MAX_TRACK_BYTES,
    TrackAudio,
    TurnAudio,
)

PER_MS = 8


def counted(start: int, end: int, per_ms: int = PER_MS) -> bytes:
    """Sound in which every sample says where it stands."""
    return (np.arange(start * per_ms, end * per_ms) % 65536).astype("<u2").tobytes()


def block(start: int, end: int, per_ms: int = PER_MS) -> Block:
    return Block(start // FRAME_MS, (end - start) // FRAME_MS, counted(start, end, per_ms))


def turn(start: int, end: int, index: int = 0, **more: Any) -> Turn:
    return Turn(**{"index": index, "role": "user", "start_ms": start, "duration_ms": end - start, **more})


class Line:
    """A caller who is heard in pieces."""

    def __init__(self, rate: int = 8000) -> None:
        self.audio = TurnAudio(10_000)
        self.audio.call = "call"
        self.track = self.audio.lay("caller", rate)
        self._per_ms = rate // 1000
        self._now = 0

    def hear(self, until: int, piece_ms: int = 100) -> None:
        while self._now < until:
            self.track.hear(block(self._now, self._now + piece_ms, self._per_ms), self._now // FRAME_MS)
            self._now += piece_ms

    def skip(self, until: int, unknown: bool = False) -> None:
        self.track.hear(Block(self._now // 20, (until - self._now) // 20, None, unknown), self._now // 20)
        self._now = until

    def says(self, said: Turn, late_ms: int = 1000) -> None:
        """A turn from its start to the moment at which its end is told."""
        self.hear(said.start_ms + 200)
        self.audio.started(said)
        self.hear(said.end_ms + late_ms)
        self.audio.ended(said, self._now)


def test_a_finished_turn_is_asked_about_with_a_little_around_it() -> None:
    line = Line()
    line.says(turn(3000, 5000))
    assert line.audio.take() == [
        TranscribeRequest("call", 0, "user", counted(3000 - BEFORE_MS, 5000 + AFTER_MS), 8000, 6000, 16_000)
    ]
    assert line.audio.take() == []


def test_sixteen_khz_stay_sixteen_khz() -> None:
    line = Line(16_000)
    line.says(turn(3000, 5000))
    (asked,) = line.audio.take()
    assert (asked.rate, asked.seconds) == (16_000, 2.5)
    assert asked.pcm == counted(2800, 5300, 16)


def test_neighbouring_turns_of_one_party_do_not_share_their_words() -> None:
    line = Line()
    line.hear(3200)
    line.audio.started(turn(3000, 5000))
    line.hear(5300)
    line.audio.started(turn(5100, 7000, 1))
    line.hear(5600)
    line.audio.ended(turn(3000, 5000), 5600)
    line.hear(8000)
    line.audio.ended(turn(5100, 7000, 1), 8000)
    first, second = line.audio.take()
    assert first.pcm == counted(2800, 5100)
    assert second.pcm == counted(5000, 7300)


@pytest.mark.parametrize("more", [{"backchannel": True}, {"text": "Hello"}])
def test_backchannels_and_turns_with_words_are_not_asked_about(more: dict[str, Any]) -> None:
    line = Line()
    line.says(turn(1000, 2000, **more))
    assert (line.audio.take(), line.audio.awaited(3000)) == ([], 0)


def test_turns_of_a_party_whose_words_the_source_brings_are_not_asked_about() -> None:
    line = Line()
    line.audio.text(Text("agent", 0, "Hello", "response"))
    line.says(turn(1000, 2000))
    line.audio.text(Text("caller", 3000, "Hello", "transcript"))
    line.says(turn(4000, 5000, 1))
    assert [asked.turn for asked in line.audio.take()] == [0]


def test_a_party_without_a_track_is_not_asked_about() -> None:
    line = Line()
    agents = turn(1000, 2000, role="assistant")
    line.audio.started(agents)
    line.audio.ended(agents, 3000)
    assert (line.audio.take(), line.audio.lost) == ([], 0)


def test_an_answer_is_awaited_until_it_comes_or_its_time_is_over() -> None:
    line = Line()
    line.says(turn(1000, 2000))
    line.says(turn(4000, 5000, 1))
    assert [line.audio.awaited(now) for now in (6000, 12_999, 13_000, 15_999, 16_000)] == [2, 2, 1, 1, 0]
    line.audio.text(Text("caller", 6000, "", "transcript", turn=1))
    line.audio.text(Text("caller", 6000, "Hello", "transcript", turn=7))
    assert line.audio.awaited(6000) == 1


def test_holes_in_a_turn_are_silent() -> None:
    line = Line()
    line.hear(2000)
    line.audio.started(turn(1000, 3000))
    line.skip(2400)
    line.hear(2500)
    line.skip(2600, unknown=True)
    line.hear(4000)
    line.audio.ended(turn(1000, 3000), 4000)
    (asked,) = line.audio.take()
    silent = [bytes(400 * 16), bytes(100 * 16)]
    wanted = counted(800, 2000) + silent[0] + counted(2400, 2500) + silent[1] + counted(2600, 3300)
    assert asked.pcm == wanted


@pytest.mark.parametrize("rate", [8000, 16_000])
def test_who_is_silent_costs_a_few_seconds_and_who_speaks_at_most_two_minutes(rate: int) -> None:
    line = Line(rate)
    line.hear(60_000, 200)
    assert line.track.kept_bytes <= (LOOK_BACK_MS + 400) * rate // 500
    endless = turn(60_000, 400_000)
    line.audio.started(endless)
    line.hear(401_000, 200)
    assert line.track.kept_bytes <= min(MAX_TRACK_BYTES, MAX_MS * rate // 500)
    line.audio.ended(endless, 401_000)
    (asked,) = line.audio.take()
    assert asked.seconds > 60
    assert counted(60_000, 400_300, rate // 1000).endswith(asked.pcm)
    line.hear(430_000, 200)
    assert line.track.kept_bytes <= (LOOK_BACK_MS + 400) * rate // 500


def test_a_turn_of_which_nothing_is_kept_is_lost_and_counted() -> None:
    line = Line()
    line.hear(200_000, 200)
    line.audio.ended(turn(1000, 2000), 200_000)
    assert (line.audio.take(), line.audio.lost, line.audio.awaited(200_000)) == ([], 1, 0)


def test_what_nobody_takes_is_bounded() -> None:
    line = Line()
    for index in range(30):
        line.says(turn(10_000 * index, 10_000 * index + 8000, index))
    asked = line.audio.take()
    assert sum(len(one.pcm) for one in asked) <= MAX_ASKED_BYTES
    assert [one.turn for one in asked] == list(range(30 - len(asked), 30))
    assert line.audio.lost == 30 - len(asked) > 0
    for index in range(30, 40 + MAX_AWAITED):
        line.says(turn(10_000 * index, 10_000 * index + 1000, index))
        line.audio.take()
    assert line.audio.awaited(0) == MAX_AWAITED


def test_a_track_that_runs_ahead_keeps_what_the_other_has_not_reached() -> None:
    track = TrackAudio(8000)
    for start in range(0, 60_000, 1000):
        track.hear(block(start, start + 1000), 0)
    assert track.cut(0, 60_000) == counted(0, 60_000)


@given(
    sizes=st.lists(st.integers(1, 900), min_size=1, max_size=30), start=st.integers(0, 4000), ms=st.integers(1, 3000)
)
def test_however_the_sound_is_cut_the_turn_is_the_same(sizes: list[int], start: int, ms: int) -> None:
    """Through the framer, as in a call."""
    framer, track = Framer(8000), TrackAudio(8000)
    pcm, at = counted(0, 8000), 0
    while at < len(pcm):
        for size in sizes:
            framer.audio(at // 16, pcm[at : at + 2 * size])
            at = min(at + 2 * size, len(pcm))
            for one in framer.take():
                track.hear(one, 0)
    assert track.cut(start, start + ms) == counted(start, start + ms)
    assert track.kept_bytes == len(pcm)
