"""Whatever a network does to the order: each event once, each call's in order."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from monitor.core import events
from monitor.core.events import Event
from monitor.core.fleet.ordering import HOLD_EVENTS, HOLD_MS, Ordering, Seen


def event(call: str, seq: int) -> Event:
    return events.Notice(call=call, seq=seq, at_ms=0, known_at_ms=0, kind="n", track=None, count=1, message="")


def ended(call: str, seq: int) -> Event:
    return events.CallEnded(call=call, seq=seq, at_ms=0, known_at_ms=0, cause="hangup", summary={})


@given(st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**32))
def test_shuffled_and_doubled_events_come_out_once_in_order(calls: int, length: int, seed: int) -> None:
    rng = random.Random(seed)
    sent = [event(f"{call}", seq) for call in range(calls) for seq in range(length)]
    brought = sent + rng.sample(sent, len(sent) // 2)
    rng.shuffle(brought)
    ordering = Ordering()
    told = [one for given_one in brought for one in ordering.take(given_one, 0)]
    for call in range(calls):
        assert [one.seq for one in told if one.call == f"{call}"] == list(range(length))
    assert ordering.doubles == len(brought) - len(sent)
    assert (ordering.held, ordering.missing) == (0, 0)


def test_what_is_missing_is_waited_for_a_moment() -> None:
    ordering = Ordering()
    assert ordering.take(event("a", 0), 0)
    assert ordering.take(event("a", 2), 100) == []
    assert ordering.overdue(100 + HOLD_MS - 1) == []
    assert [one.seq for one in ordering.overdue(100 + HOLD_MS)] == [2]
    assert ordering.missing == 1
    assert ordering.take(event("a", 1), 5000) == []  # too late: the call has gone on


def test_a_call_that_was_joined_lacks_nothing() -> None:
    ordering = Ordering()
    assert ordering.take(event("a", 70), 0) == []
    assert [one.seq for one in ordering.overdue(HOLD_MS)] == [70]
    assert ordering.missing == 0


def test_no_call_holds_back_more_than_its_bound() -> None:
    ordering = Ordering()
    told = [one for seq in range(1, HOLD_EVENTS + 2) for one in ordering.take(event("a", seq), 0)]
    assert [one.seq for one in told] == list(range(1, HOLD_EVENTS + 2))


def test_a_call_that_has_ended_stays_ended_while_it_is_remembered() -> None:
    ordering = Ordering(max_calls=100)
    ordering.take(event("a", 0), 0)
    ordering.take(ended("a", 1), 0)
    assert ordering.take(ended("a", 1), 0) == []
    for number in range(99):
        ordering.take(event(f"other-{number}", 0), 0)
    assert ordering.take(event("a", 0), 0) == []
    assert ordering.calls_let_go == 0


def test_a_day_of_calls_stays_bounded() -> None:
    ordering = Ordering(max_calls=1000)
    for number in range(20_000):
        ordering.take(event(f"{number}", 0), number)
        if number % 3:
            ordering.take(ended(f"{number}", 1), number)
        else:
            ordering.take(event(f"{number}", 5), number)
    assert len(ordering._lines) == 1000
    assert ordering.held <= 1000


def test_the_last_events_are_remembered_where_order_is_not_to_be_had() -> None:
    seen = Seen(limit=10)
    assert [seen.add(event("a", seq)) for seq in (3, 1, 3, 1, 2)] == [True, True, False, False, True]
    for seq in range(100, 110):
        assert seen.add(event("a", seq))
    assert seen.add(event("a", 3))
