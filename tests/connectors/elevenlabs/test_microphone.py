"""Where the caller's audio lies in time: the anchor, when it moves, and what a microphone that stopped looks like."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connectors.elevenlabs.microphone import MAX_HELD, Microphone, Placed

LOUD = b"\x00\x40"
STILL = b"\x01\x00"


def chunk(ms: int, sample: bytes = LOUD) -> bytes:
    return sample * (8 * ms)


def spans(placed: list[Placed]) -> list[tuple[int, int]]:
    """[start, end) in ms, joined where they touch."""
    joined: list[tuple[int, int]] = []
    for at, pcm in placed:
        end = at + len(pcm) // 16
        if joined and joined[-1][1] == at:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((at, end))
    return joined


def test_the_worked_example() -> None:
    """Chunks of 250 ms at 1285, 1530, 1799, a one-way delay of 30: sample 0 was captured at 1030 - 30."""
    microphone = Microphone()
    for at in (1285, 1530, 1799):
        assert microphone.arrive(at, chunk(250), 30) == []
    assert microphone.waiting_since == 1285
    assert microphone.elapsed(2284, 30) == []
    assert spans(microphone.elapsed(2285, 30)) == [(1000, 1750)]
    assert microphone.waiting_since is None


def test_after_the_first_second_chunks_find_their_place_at_once() -> None:
    microphone = Microphone()
    placed: list[Placed] = []
    for n in range(10):
        placed += microphone.arrive(500 + 250 * n, chunk(250), 0)
        assert bool(placed) == (n >= 4)
    assert spans(placed) == [(250, 2750)]


def test_a_smaller_anchor_is_taken_over_only_in_silence() -> None:
    microphone = Microphone()
    placed: list[Placed] = []
    for n in range(60):
        placed += microphone.arrive(100 + 20 * n + (15 if n < 55 else 0), chunk(20), 0)
    assert spans(placed) == [(95, 95 + 1200)]
    placed = microphone.arrive(1300, chunk(20, STILL), 0) + microphone.arrive(1320, chunk(20), 0)
    assert spans(placed) == [(1295, 1320)]


def test_a_delay_that_proves_smaller_moves_the_audio_later_in_silence() -> None:
    microphone = Microphone()
    placed: list[Placed] = []
    for n in range(60):
        placed += microphone.arrive(120 + 20 * n, chunk(20), 50)
    assert spans(placed) == [(50, 1250)]
    placed = microphone.arrive(1320, chunk(20, STILL), 10) + microphone.arrive(1340, chunk(20), 10)
    assert spans(placed) == [(1290, 1330)]


def test_a_microphone_that_stopped_leaves_silence_of_that_length() -> None:
    microphone = Microphone()
    placed: list[Placed] = []
    for n in range(100):
        placed += microphone.arrive(20 + 20 * n, chunk(20), 0)
    for n in range(100):
        placed += microphone.arrive(5020 + 20 * n, chunk(20), 0)
    assert spans(placed) == [(0, 2000), (5000, 7000)]


def test_nothing_is_placed_while_it_is_not_clear_whether_the_microphone_stopped() -> None:
    microphone = Microphone()
    for n in range(100):
        microphone.arrive(20 + 20 * n, chunk(20), 0)
    assert [microphone.arrive(5020 + 20 * n, chunk(20), 0) for n in range(25)] == [[]] * 25
    assert spans(microphone.arrive(5520, chunk(20), 0)) == [(5000, 5520)]


def test_one_chunk_after_a_pause_does_not_wait_for_the_next_utterance() -> None:
    microphone = Microphone()
    for n in range(100):
        microphone.arrive(20 + 20 * n, chunk(20), 0)
    assert microphone.arrive(9400, chunk(400), 0) == []
    assert microphone.elapsed(9899, 0) == []
    assert spans(microphone.elapsed(9900, 0)) == [(9000, 9400)]


def test_a_stall_of_the_network_that_catches_up_in_a_burst_moves_nothing() -> None:
    microphone = Microphone()
    placed: list[Placed] = []
    for n in range(100):
        placed += microphone.arrive(20 + 20 * n, chunk(20), 0)
    for _ in range(150):
        placed += microphone.arrive(5000, chunk(20), 0)
    placed += microphone.arrive(5020, chunk(20), 0)
    assert spans(placed) == [(0, 5020)]


def test_what_was_captured_before_the_call_began_is_left_out() -> None:
    microphone = Microphone()
    microphone.arrive(100, chunk(250), 20)
    assert spans(microphone.flush(20)) == [(0, 80)]


def test_a_call_shorter_than_the_settling_is_not_lost() -> None:
    microphone = Microphone()
    microphone.arrive(300, chunk(100), 0)
    assert spans(microphone.flush(0)) == [(200, 300)]
    assert Microphone().flush(0) == []


def test_lost_chunks_let_the_anchor_be_found_again() -> None:
    microphone = Microphone()
    for n in range(100):
        microphone.arrive(20 + 20 * n, chunk(20), 0)
    microphone.restart()
    placed: list[Placed] = []
    for n in range(100):
        placed += microphone.arrive(2520 + 20 * n, chunk(20), 0)
    assert spans(placed) == [(2500, 4500)]


def test_what_waits_is_bounded() -> None:
    microphone = Microphone()
    assert microphone.arrive(0, b"\x00\x40" * MAX_HELD, 0) == []
    assert microphone.waiting_since is None
    microphone.arrive(1, chunk(1), 0)
    assert len(microphone._held) <= 1


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 400), st.booleans(), st.integers(0, 500)), max_size=40),
    st.booleans(),
)
def test_time_never_goes_back_and_nothing_is_invented(
    arrivals: list[tuple[int, int, bool, int]], sweeping: bool
) -> None:
    """Nor does audio lie in the future, but for a smaller anchor that waits for silence."""
    microphone = Microphone()
    now, reached, came, given_out = 0, 0, 0, 0
    for pause, ms, loud, delay in arrivals:
        now += pause
        placed = microphone.elapsed(now, delay) if sweeping else []
        placed += microphone.arrive(now, chunk(ms, LOUD if loud else STILL), delay)
        came += ms
        for at, pcm in placed:
            assert at >= reached - 1
            reached = at + len(pcm) // 16
            assert microphone._anchor is not None
            assert reached <= now + 1 + max(0, microphone._anchor - microphone._lowest) // 8
            given_out += len(pcm) // 16
    given_out += sum(len(pcm) // 16 for _, pcm in microphone.flush(0))
    assert given_out <= came
