"""Speech frames of a track -> the edges of its stretches.

A track is drawn with one letter a frame: `v` voice, `-` silence, `?` unknown, `0` nothing but zeros.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.edges import Edge
from monitor.core.segments import Segmenter
from monitor.core.speech import SILENT, UNKNOWN, VOICED, ZERO, SpeechSettings
from monitor.core.tones import ToneFrame

KINDS = {"v": VOICED, "-": SILENT, "?": UNKNOWN, "0": ZERO}
LOUD = 10**9


def plain(first: int, energies: list[int]) -> list[ToneFrame]:
    """No tone anywhere."""
    return [ToneFrame(energy, False, False) for energy in energies]


def steady_tone(first: int, energies: list[int]) -> list[ToneFrame]:
    """A ringing tone of the network in every frame with sound."""
    return [ToneFrame(energy, energy > 0, False, energy > 0) for energy in energies]


def edges(drawn: str, look: object = plain, energy: list[int] | None = None) -> list[Edge]:
    segmenter = Segmenter(SpeechSettings(), look)  # type: ignore[arg-type]
    return segmenter.feed(0, bytes(KINDS[k] for k in drawn), energy or [LOUD] * len(drawn))


def told(drawn: str, look: object = plain, energy: list[int] | None = None) -> list[tuple[str, int, int]]:
    """The edges as (kind, at, known), ms."""
    return [(edge.kind, edge.at, edge.known) for edge in edges(drawn, look, energy)]


def stretches(drawn: str, look: object = plain, energy: list[int] | None = None) -> list[tuple[int, int]]:
    """The stretches as (start, end), ms."""
    found = edges(drawn, look, energy)
    starts = [edge.at for edge in found if edge.kind == "open"]
    return list(zip(starts, (edge.at for edge in found if edge.kind == "close"), strict=True))


def test_a_stretch_opens_after_100_ms_and_is_dated_back_to_its_first_frame() -> None:
    assert told("-----vvvvv") == [("rise", 100, 120), ("open", 100, 200)]


def test_it_ends_with_its_last_voice_not_with_the_silence_that_tells_it() -> None:
    assert told("vvvvvvv----------")[2:] == [("lull", 140, 160), ("close", 140, 340)]


def test_a_pause_of_less_than_200_ms_is_inside_a_stretch() -> None:
    assert told("vvvvv---------vv")[2:] == [("lull", 100, 120), ("resume", 300, 300)]


def test_two_stretches_in_one_chunk_stay_two() -> None:
    assert stretches("vvvvvvvvvv" + "-" * 45 + "vvvvvvvvvv" + "-" * 10) == [(0, 200), (1100, 1300)]


def test_single_frames_of_noise_leak_away() -> None:
    assert told("v-v-v-") == [
        (kind, at, at + 20) if kind == "rise" else (kind, at, at)
        for kind, at in (("rise", 0), ("fall", 40), ("rise", 40), ("fall", 80), ("rise", 80), ("fall", 120))
    ]


def test_a_voice_with_holes_counts_up_slowly_and_keeps_its_first_frame() -> None:
    assert stretches("vv-vv-vv" + "-" * 10) == [(0, 160)]


def test_a_candidate_that_never_settles_begins_anew_so_that_nothing_waits_for_it() -> None:
    found = told("v" + "v-" * 20)
    assert [at for kind, at, _ in found if kind == "rise"][:2] == [0, 300]
    assert "open" not in [kind for kind, _, _ in found]


@pytest.mark.parametrize(("frames", "word"), [(4, []), (5, [(0, 100)])])
def test_a_word_lasts_100_ms_at_least(frames: int, word: list[tuple[int, int]]) -> None:
    assert stretches("v" * frames + "-" * 12) == word


@pytest.mark.parametrize(("lost", "split"), [(15, False), (24, False), (25, True)])
def test_what_was_lost_counts_as_a_pause_only_after_300_ms(lost: int, split: bool) -> None:
    found = edges("v" * 10 + "?" * lost + "v" * 10)
    assert ("close" in [edge.kind for edge in found]) is split
    if split:
        assert [(e.at, e.stall) for e in found if e.kind == "close"] == [(200, True)]


def test_a_loss_inside_a_pause_does_not_end_a_stretch() -> None:
    assert [e.kind for e in edges("v" * 10 + "----" + "???" + "----" + "vv")] == ["rise", "open", "lull", "resume"]


@pytest.mark.parametrize(("zeros", "split"), [(3, False), (15, False), (16, True)])
def test_zeros_next_to_sound_are_a_loss_for_as_long_as_losses_last(zeros: int, split: bool) -> None:
    found = edges("v" * 10 + "0" * zeros + "v" * 10)
    closes = [(edge.at, edge.stall) for edge in found if edge.kind == "close"]
    assert closes == ([(200, False)] if split else [])


def test_a_candidate_waits_while_nothing_comes() -> None:
    assert told("vv" + "?" * 10 + "vvv") == [("rise", 0, 20), ("open", 0, 260)]


def test_the_soft_end_is_trimmed_by_200_ms_at_most() -> None:
    quiet = LOUD // 4000  # 36 dB less
    assert stretches("v" * 30 + "-" * 10, energy=[LOUD] * 24 + [quiet] * 6 + [0] * 10) == [(0, 480)]
    assert stretches("v" * 30 + "-" * 10, energy=[LOUD] * 12 + [quiet] * 18 + [0] * 10) == [(0, 400)]
    nearly = LOUD // 1900  # 32.8 dB less is still speech
    assert stretches("v" * 30 + "-" * 10, energy=[LOUD] * 24 + [nearly] * 6 + [0] * 10) == [(0, 600)]


def test_the_soft_beginning_is_trimmed_before_it_is_told() -> None:
    quiet = LOUD // 4000
    assert stretches("v" * 30 + "-" * 10, energy=[quiet] * 3 + [LOUD] * 27 + [0] * 10) == [(60, 600)]


def test_the_loud_level_is_that_of_the_last_ten_seconds() -> None:
    quiet = LOUD // 4000
    energy = [LOUD] * 100 + [quiet] * 700 + [0] * 10
    assert stretches("v" * 800 + "-" * 10, energy=energy) == [(0, 16000)]


def test_a_tone_of_the_network_never_opens() -> None:
    found = told("v" * 100 + "-" * 20, steady_tone)
    assert [kind for kind, _, _ in found] == ["rise", "fall"]
    assert found[1][2] == 460


def test_a_voice_after_a_tone_opens_where_it_began() -> None:
    def look(first: int, energies: list[int]) -> list[ToneFrame]:
        tones = steady_tone(first, energies)
        return [t if first + n < 50 else ToneFrame(t.energy, False, False) for n, t in enumerate(tones)]

    found = told("v" * 80 + "-" * 10, look)
    assert [kind for kind, _, _ in found] == ["rise", "fall", "rise", "open", "lull", "close"]
    assert found[3][1] == 1000
    assert found[3][2] <= 1120


def test_at_the_end_of_the_track_what_is_open_closes() -> None:
    segmenter = Segmenter(SpeechSettings(), plain)
    segmenter.feed(0, bytes([VOICED] * 20 + [SILENT] * 3), [LOUD] * 23)
    assert segmenter.finish(460) == [Edge(460, "close", 400)]
    assert segmenter.finish(460) == []


def test_at_the_end_of_the_track_a_click_falls() -> None:
    segmenter = Segmenter(SpeechSettings(), plain)
    segmenter.feed(0, bytes([VOICED] * 3), [LOUD] * 3)
    assert segmenter.finish(60) == [Edge(60, "fall", 60)]
    assert segmenter.idle


runs = st.lists(st.tuples(st.sampled_from("v-?0"), st.integers(1, 30)), max_size=14)


@given(runs, st.data())
def test_any_chunks_give_the_same_edges(drawn: list[tuple[str, int]], data: st.DataObject) -> None:
    track = "".join(letter * count for letter, count in drawn)
    energy = [LOUD >> (k * 7 % 16) for k in range(len(track))]
    segmenter, cut, at = Segmenter(SpeechSettings(), plain), [], 0
    while at < len(track):
        count = data.draw(st.integers(1, 40))
        part = track[at : at + count]
        cut += segmenter.feed(at, bytes(KINDS[k] for k in part), energy[at : at + count])
        at += count
    assert cut == edges(track, energy=energy)


@given(runs)
def test_no_stretch_opens_or_closes_sooner_than_was_said(drawn: list[tuple[str, int]]) -> None:
    track = "".join(letter * count for letter, count in drawn)
    segmenter = Segmenter(SpeechSettings(), plain)
    due = segmenter.soonest
    for k, letter in enumerate(track):
        found = segmenter.feed(k, bytes([KINDS[letter]]), [LOUD])
        if {edge.kind for edge in found} & {"open", "close"}:
            assert k + 1 >= due
        due = k + 1 + segmenter.soonest if found or letter == "v" else max(due, k + 1 + segmenter.soonest)


@given(runs)
def test_edges_come_in_order_and_pair_up(drawn: list[tuple[str, int]]) -> None:
    track = "".join(letter * count for letter, count in drawn)
    found = edges(track)
    assert [edge.known for edge in found] == sorted(edge.known for edge in found)
    assert all(edge.at <= edge.known for edge in found)
    ends = [edge for edge in found if edge.kind in ("open", "close")]
    assert [edge.kind for edge in ends] == (["open", "close"] * len(ends))[: len(ends)]
    assert all(close.at - open_.at >= 100 for open_, close in zip(ends[::2], ends[1::2], strict=False))
