"""The playout clock's rules: the worked examples of the fact sheet, one by one, and what each client does at a cut."""

from __future__ import annotations

import pytest

from connectors.inputs import PlayoutPolicy
from monitor.core import playout
from monitor.core.playout import Heard, Playout

RATE = 8000
DELAY = 30
"""The one-way delay of the worked examples; whoever feeds the playout has added it already."""

IMMEDIATE_DROP = PlayoutPolicy("immediate_drop", 60, "immediate", "drop", keep_equal=True)
PY_DEVICE = PlayoutPolicy("py_device", 60, "message", "drop", keep_equal=False)
JS_FADE = PlayoutPolicy("js_fade", 60, "fade", "keep")
IMMEDIATE_KEEP = PlayoutPolicy("immediate_keep", 60, "immediate", "keep")


def speech(ms: int) -> bytes:
    return b"\x10\x27" * (ms * RATE // 1000)


def spans(heard: list[Heard]) -> list[tuple[int, int]]:
    """The pieces as [start, end) in ms, those that touch joined."""
    joined: list[tuple[int, int]] = []
    for piece in heard:
        end = piece.at_ms + len(piece.pcm) // 2 * 1000 // RATE
        if joined and joined[-1][1] == piece.at_ms:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((piece.at_ms, end))
    return joined


def three_bursts(policy: PlayoutPolicy) -> Playout:
    """Step 1 of the worked examples: 500, 1000 and 750 ms of audio within 90 ms."""
    queue = Playout(policy, RATE)
    for forwarded, ms in [(1000, 500), (1040, 1000), (1090, 750)]:
        queue.deliver(forwarded + DELAY, speech(ms), 1)
    return queue


def test_a_burst_is_heard_for_as_long_as_it_lasts() -> None:
    queue = three_bursts(IMMEDIATE_DROP)
    assert spans(queue.release(10_000)) == [(1090, 3340)]
    assert queue.heard_of(1) == (1090, 3340)


@pytest.mark.parametrize(
    ("policy", "end"),
    [(IMMEDIATE_DROP, 2030), (PY_DEVICE, 2590), (JS_FADE, 2030), (IMMEDIATE_KEEP, 2030)],
)
def test_an_interruption_ends_what_is_playing(policy: PlayoutPolicy, end: int) -> None:
    queue = three_bursts(policy)
    queue.cut(2000 + DELAY, 1)
    assert spans(queue.release(10_000)) == [(1090, end)]
    assert queue.unheard_ms == 3340 - end
    assert queue.heard_of(1) == (1090, end)


@pytest.mark.parametrize(
    ("policy", "heard", "dropped"),
    [
        (IMMEDIATE_DROP, [(1090, 2030)], 1),
        (PY_DEVICE, [(1090, 2590)], 1),
        (JS_FADE, [(1090, 2030), (2190, 2440)], 0),
        (IMMEDIATE_KEEP, [(1090, 2030), (2190, 2440)], 0),
    ],
)
def test_late_audio_of_the_cut_response(policy: PlayoutPolicy, heard: list[tuple[int, int]], dropped: int) -> None:
    queue = three_bursts(policy)
    queue.cut(2000 + DELAY, 1)
    queue.deliver(2100 + DELAY, speech(250), 1)
    assert spans(queue.release(10_000)) == heard
    assert (queue.late_dropped, queue.late_dropped_ms) == (dropped, 250 * dropped)


@pytest.mark.parametrize(
    ("policy", "heard"),
    [
        (IMMEDIATE_DROP, [(1090, 2030), (2490, 2990)]),
        (PY_DEVICE, [(1090, 3090)]),
        (JS_FADE, [(1090, 2030), (2490, 2990)]),
    ],
)
def test_the_next_response_after_a_cut(policy: PlayoutPolicy, heard: list[tuple[int, int]]) -> None:
    queue = three_bursts(policy)
    queue.cut(2000 + DELAY, 1)
    queue.deliver(2400 + DELAY, speech(500), 2)
    assert spans(queue.release(10_000)) == heard


def test_the_answer_of_the_worked_example_is_heard_at_5990() -> None:
    queue = three_bursts(IMMEDIATE_DROP)
    queue.deliver(5900 + DELAY, speech(500), 2)
    assert queue.heard_of(2) == (5990, 6490)


def test_a_fade_just_after_a_delivery_stays_audible_for_half_a_second() -> None:
    queue = Playout(JS_FADE, RATE)
    queue.deliver(1000, speech(5000), 1)
    queue.cut(1200, 1)
    assert spans(queue.release(10_000)) == [(1060, 1200 + 500 - 150)]


def test_a_fade_is_flushed_by_the_next_audio() -> None:
    queue = Playout(JS_FADE, RATE)
    queue.deliver(1000, speech(5000), 1)
    queue.cut(1200, 1)
    queue.deliver(1300, speech(100), 2)
    assert spans(queue.release(10_000)) == [(1060, 1300), (1360, 1460)]


def test_a_cut_between_two_responses_only_takes_what_was_to_come() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.deliver(0, speech(200), 1)
    queue.release(1000)
    queue.cut(1000, 1)
    assert queue.unheard_ms == 0
    queue.deliver(1010, speech(200), 2)
    assert spans(queue.release(5000)) == [(1070, 1270)]


def test_a_cut_before_anything_started_leaves_the_response_unheard() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.deliver(1000, speech(400), 3)
    queue.cut(1020, 3)
    assert queue.release(9000) == []
    assert queue.heard_of(3) is None
    assert queue.unheard_ms == 400


def test_the_last_interruption_counts_and_not_the_largest() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.cut(100, 5)
    queue.cut(200, 3)
    queue.deliver(300, speech(100), 4)
    queue.deliver(310, speech(100), 2)
    assert queue.late_dropped == 1
    assert spans(queue.release(5000)) == [(360, 460)]


def test_a_cut_without_an_id_means_everything_so_far() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.deliver(0, speech(2000), 6)
    queue.deliver(0, speech(2000), 4)
    queue.cut(1060, None)
    queue.deliver(1100, speech(500), 6)
    queue.deliver(1200, speech(500), 7)
    assert spans(queue.release(9000)) == [(60, 1060), (1260, 1760)]


def test_a_cut_without_an_id_in_a_call_without_ids_drops_nothing_later() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.deliver(0, speech(2000))
    queue.cut(1060)
    queue.deliver(1500, speech(300))
    assert spans(queue.release(9000)) == [(60, 1060), (1560, 1860)]


def test_what_was_handed_on_is_never_taken_back_even_by_a_cut_from_the_past() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.deliver(0, speech(2000), 1)
    before = queue.release(1500)
    queue.cut(1000, 1)
    assert spans(before) == [(60, 1500)]
    assert queue.release(9000) == []
    assert queue.heard_of(1) == (60, 1500)


def test_audio_that_comes_after_its_time_was_told_is_heard_from_then_on() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.release(5000)
    queue.deliver(4000, speech(100), 1)
    assert spans(queue.release(9000)) == [(5000, 5100)]


def test_empty_audio_changes_nothing() -> None:
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.deliver(0, b"", 1)
    queue.deliver(0, speech(100), 1)
    queue.deliver(0, b"", 1)
    queue.deliver(0, b"\x01", 1)
    assert spans(queue.release(9000)) == [(60, 160)]


def test_what_waits_is_bounded_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playout, "MAX_WAITING_S", 2)
    queue = Playout(IMMEDIATE_DROP, RATE)
    queue.deliver(0, speech(1500), 1)
    queue.deliver(0, speech(1500), 1)
    assert (queue.waiting_ms, queue.overflow_ms) == (2000, 1000)
    assert spans(queue.release(9000)) == [(60, 2060)]
    queue.deliver(9000, speech(1500), 1)
    assert (queue.waiting_ms, queue.overflow_ms) == (1500, 1000)


def test_the_number_of_pieces_and_of_responses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playout, "MAX_PIECES", 10)
    monkeypatch.setattr(playout, "MAX_RESPONSES", 3)
    queue = Playout(IMMEDIATE_DROP, RATE)
    for response in range(20):
        queue.deliver(0, speech(10), response)
    assert queue.waiting_ms == 100
    assert [queue.heard_of(response) is not None for response in range(10)] == [False] * 7 + [True] * 3
