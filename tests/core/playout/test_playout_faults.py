"""The faults that the field knows of playing: bursts, cuts, ids and pauses (B01, B02, B05, B07)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import PlayoutPolicy
from monitor.core.playout import Heard, Playout

RATE = 8000
UNKNOWN_CLIENT = PlayoutPolicy("immediate_drop", 40, "immediate", "drop", keep_equal=True)
PYTHON_CLIENT = PlayoutPolicy("py_interface", 40, "immediate", "drop", keep_equal=False)


def noise(samples: int) -> bytes:
    """Samples that tell their own place."""
    return b"".join((n % 30_000 + 1).to_bytes(2, "little") for n in range(samples))


def length_ms(heard: list[Heard]) -> float:
    return sum(len(piece.pcm) for piece in heard) / 2 / RATE * 1000


def test_b01_eight_seconds_in_three_hundred_ms_are_eight_seconds() -> None:
    queue = Playout(UNKNOWN_CLIENT, RATE)
    audio = noise(8 * RATE)
    for chunk in range(80):
        queue.deliver(10_000 + chunk * 300 // 80, audio[chunk * 1600 : chunk * 1600 + 1600], 1)
    heard: list[Heard] = []
    for now in range(10_000, 20_000, 50):
        pieces = queue.release(now)
        assert all(piece.at_ms + len(piece.pcm) // 16 <= now for piece in pieces)
        heard += pieces
    assert heard[0].at_ms == 10_040
    assert b"".join(piece.pcm for piece in heard) == audio


def test_b02_a_burst_cut_after_a_second_is_as_long_as_it_was_heard() -> None:
    queue = Playout(UNKNOWN_CLIENT, RATE)
    queue.deliver(10_000, noise(8 * RATE), 1)
    heard = queue.release(11_200)
    queue.cut(11_200, 1)
    heard += queue.release(30_000)
    assert length_ms(heard) == 1160
    assert queue.unheard_ms == 6840


def test_b05_the_reply_named_by_the_interruption_is_heard_and_the_older_one_is_not() -> None:
    queue = Playout(UNKNOWN_CLIENT, RATE)
    queue.deliver(1000, noise(4 * RATE), 6)
    queue.cut(3000, 7)
    queue.deliver(3200, noise(RATE), 6)
    queue.deliver(3300, noise(RATE * 3 // 2), 7)
    queue.release(9000)
    assert queue.heard_of(6) == (1040, 3000)
    assert queue.heard_of(7) == (3340, 4840)
    assert queue.late_dropped == 1


def test_b05_the_rest_of_a_response_that_was_cut_under_its_own_id_is_late() -> None:
    queue = Playout(UNKNOWN_CLIENT, RATE)
    queue.deliver(1000, noise(4 * RATE), 7)
    queue.cut(3000, 7)
    queue.deliver(3300, noise(RATE), 7)
    queue.release(9000)
    assert queue.heard_of(7) == (1040, 3000)


def test_b05_a_client_known_to_drop_equal_ids_does_so_and_its_caller_hears_nothing() -> None:
    queue = Playout(PYTHON_CLIENT, RATE)
    queue.cut(3000, 7)
    queue.deliver(3300, noise(RATE), 7)
    assert queue.release(9000) == []
    assert queue.heard_of(7) is None


def test_b07_a_pause_of_delivery_shorter_than_what_is_playing_is_not_heard() -> None:
    queue = Playout(UNKNOWN_CLIENT, RATE)
    audio = noise(3 * RATE)
    queue.deliver(0, audio[: 2 * RATE], 1)
    heard = queue.release(600)
    queue.deliver(600, audio[2 * RATE :], 1)
    heard += queue.release(9000)
    assert b"".join(piece.pcm for piece in heard) == audio
    assert queue.heard_of(1) == (40, 3040)


def test_b07_a_pause_of_delivery_longer_than_what_is_playing_is_heard_as_a_pause() -> None:
    queue = Playout(UNKNOWN_CLIENT, RATE)
    queue.deliver(0, noise(RATE), 1)
    queue.deliver(1300, noise(RATE), 1)
    assert [(piece.at_ms, len(piece.pcm)) for piece in queue.release(9000)] == [(40, 16_000), (1340, 16_000)]


ODD_LENGTHS = st.lists(st.integers(0, 3001), min_size=1, max_size=30)


@given(lengths=ODD_LENGTHS, cut_at=st.integers(0, 3000), policy=st.sampled_from([UNKNOWN_CLIENT, PYTHON_CLIENT]))
def test_any_chunking_of_a_delivery_is_heard_alike(lengths: list[int], cut_at: int, policy: PlayoutPolicy) -> None:
    audio = noise(sum(lengths))
    whole, parts = Playout(policy, RATE), Playout(policy, RATE)
    whole.deliver(500, audio, 1)
    begin = 0
    for length in lengths:
        parts.deliver(500, audio[2 * begin : 2 * (begin + length)], 1)
        begin += length
    for queue in (whole, parts):
        queue.cut(500 + cut_at, 1)
    assert whole.release(60_000) == parts.release(60_000)
    assert whole.unheard_ms == parts.unheard_ms


@given(
    bursts=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3000), st.integers(0, 4)), max_size=12),
    steps=st.lists(st.integers(0, 700), max_size=40),
    cut_after=st.integers(0, 12),
    policy=st.sampled_from([UNKNOWN_CLIENT, PlayoutPolicy("m", 60, "message"), PlayoutPolicy("f", 40, "fade", "keep")]),
)
def test_how_often_audio_is_released_changes_nothing(
    bursts: list[tuple[int, int, int]], steps: list[int], cut_after: int, policy: PlayoutPolicy
) -> None:
    """Samples land on the same places, whether they are fetched at once or piece by piece; and never before their
    time."""
    once, often = Playout(policy, RATE), Playout(policy, RATE)
    fetched: list[Heard] = []
    now = ticked = 0
    ticks = iter(steps)
    for number, (pause, samples, response) in enumerate(bursts):
        while (step := next(ticks, None)) is not None and ticked + step <= now + pause:
            ticked += step
            fetched += often.release(ticked)
        now += pause
        for queue in (once, often):
            if number == cut_after:
                queue.cut(now, response)
            queue.deliver(now, noise(samples), response)
    fetched += often.release(100_000)

    def places(heard: list[Heard]) -> list[tuple[int, bytes]]:
        joined: list[tuple[int, bytes]] = []
        for at_ms, pcm, _response in heard:
            if joined and abs(joined[-1][0] + len(joined[-1][1]) // 16 - at_ms) <= 1:
                joined[-1] = (joined[-1][0], joined[-1][1] + pcm)
            elif pcm:
                joined.append((at_ms, pcm))
        return joined

    assert places(fetched) == places(once.release(100_000))
