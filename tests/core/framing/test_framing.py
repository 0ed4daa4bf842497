"""Pieces of any size and at any time -> one grid of 20 ms frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.framing import MAX_JUMP_MS, SNAP_MS, Block, Framer
from tests.builders import PER_MS, noise

FRAME = 320


def heard(framer: Framer) -> bytes:
    """The audio framed so far, silence for what was not sent."""
    return b"".join(block.pcm or bytes(FRAME * block.frames) for block in framer.take())


def shape(framer: Framer) -> list[tuple[int, int, str]]:
    """The blocks framed so far: first frame, frames, and what they are."""
    return [
        (b.first, b.frames, "unknown" if b.unknown else "silence" if b.pcm is None else "audio") for b in framer.take()
    ]


@given(st.lists(st.integers(1, 700), min_size=1, max_size=40), st.integers(0, 1 << 20))
def test_any_pieces_of_a_track_give_the_same_frames(samples: list[int], seed: int) -> None:
    pcm = noise(400, 9000, seed % 5)
    framer, at = Framer(8000), 0
    for count in [*samples, len(pcm) // 2]:
        framer.audio(at // PER_MS, pcm[2 * at : 2 * (at + count)])
        at = min(at + count, len(pcm) // 2)
    assert heard(framer) == pcm
    assert framer.position == 400


def test_audio_that_touches_is_one_block() -> None:
    framer = Framer(8000)
    for at in (0, 20, 40):
        framer.audio(at, noise(20, 500, 1))
    assert shape(framer) == [(0, 3, "audio")]


@pytest.mark.parametrize("off", [-SNAP_MS, -13, 7, SNAP_MS])
def test_a_piece_within_40_ms_of_its_place_goes_on_where_the_track_is(off: int) -> None:
    framer = Framer(8000)
    framer.audio(0, noise(60, 500, 1))
    framer.audio(60 + off, noise(60, 500, 2))
    assert heard(framer) == noise(60, 500, 1) + noise(60, 500, 2)
    assert framer.late_ms == 0


def test_a_hole_of_more_than_40_ms_is_silence_of_its_length() -> None:
    framer = Framer(8000)
    framer.audio(0, noise(40, 500, 1))
    framer.audio(40 + SNAP_MS + 20, noise(40, 500, 2))
    assert shape(framer) == [(0, 2, "audio"), (2, 3, "silence"), (5, 2, "audio")]


def test_a_hole_need_not_begin_or_end_on_the_grid() -> None:
    framer = Framer(8000)
    framer.audio(0, noise(30, 500, 1))
    framer.audio(130, noise(30, 500, 2))
    assert heard(framer) == noise(30, 500, 1) + bytes(100 * 16) + noise(30, 500, 2)


def test_what_comes_for_a_time_that_has_passed_is_dropped_and_counted() -> None:
    framer = Framer(8000)
    framer.audio(0, noise(200, 500, 1))
    framer.audio(60, noise(20, 500, 2))
    assert (framer.position, framer.late_ms) == (200, 20)
    framer.audio(120, noise(100, 500, 3))  # only its last 20 ms are new
    assert (framer.position, framer.late_ms) == (220, 100)
    assert heard(framer) == noise(200, 500, 1) + noise(100, 500, 3)[80 * 16 :]


def test_a_stall_is_unknown_and_later_audio_keeps_its_place() -> None:
    framer = Framer(8000)
    framer.audio(0, noise(40, 500, 1))
    framer.blank(1040, unknown=True)
    framer.audio(1040, noise(20, 500, 2))
    assert shape(framer) == [(0, 2, "audio"), (2, 50, "unknown"), (52, 1, "audio")]


@pytest.mark.parametrize(("lost", "kind"), [(9, "audio"), (11, "unknown")])
def test_a_frame_that_was_lost_for_the_most_part_is_unknown(lost: int, kind: str) -> None:
    framer = Framer(8000)
    framer.audio(0, noise(20 - lost, 500, 1))
    framer.blank(20, unknown=True)
    assert shape(framer) == [(0, 1, kind)]


def test_nothing_before_the_position_can_be_blanked() -> None:
    framer = Framer(8000)
    framer.audio(0, noise(100, 500, 1))
    framer.blank(60, unknown=True)
    assert shape(framer) == [(0, 5, "audio")]


def test_a_time_stamp_more_than_ten_minutes_ahead_is_damage_not_silence() -> None:
    framer = Framer(8000)
    framer.audio(0, noise(20, 500, 1))
    framer.audio(MAX_JUMP_MS + 21, noise(20, 500, 2))
    framer.audio(20, noise(20, 500, 3))
    assert framer.jumps == 1
    assert shape(framer) == [(0, 2, "audio")]


@pytest.mark.parametrize(("rest", "frames"), [(9, 1), (10, 2)])
def test_at_the_end_half_a_frame_counts_as_one(rest: int, frames: int) -> None:
    framer = Framer(8000)
    framer.audio(0, noise(20 + rest, 500, 1))
    framer.finish()
    assert sum(block.frames for block in framer.take()) == frames


def test_an_empty_piece_is_nothing() -> None:
    framer = Framer(8000)
    framer.audio(5000, b"")
    assert (framer.position, framer.take()) == (0, [])


def test_wide_audio_has_frames_of_twice_the_samples() -> None:
    framer = Framer(16000)
    framer.audio(0, bytes(2 * 640))
    assert framer.take() == [Block(0, 2, bytes(1280))]


@pytest.mark.parametrize(
    ("at", "ms", "short"),
    [(60, 20, True), (75, 20, True), (60, 10, False), (60, 40, False), (120, 20, False), (0, 20, False)],
)
def test_the_short_way_is_for_the_next_frame_alone_and_else_does_nothing(at: int, ms: int, short: bool) -> None:
    framer = Framer(8000)
    framer.audio(0, noise(60, 500, 1))
    assert framer.follows(at, noise(ms, 500, 2)) is short
    assert framer.position == (80 if short else 60)


def test_the_short_way_is_closed_while_a_frame_is_unfinished() -> None:
    framer = Framer(8000)
    framer.audio(0, noise(30, 500, 1))
    assert not framer.follows(30, noise(20, 500, 2))
