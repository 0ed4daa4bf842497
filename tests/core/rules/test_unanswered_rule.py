"""A caller who is not answered, and says so: his own words do not end his wait."""

from __future__ import annotations

import pytest

from connectors import inputs
from monitor.core.events import Alert, Event
from tests.builders import Speech, call, of, speech, watch
from tests.core.call.live_feed import as_it_comes
from tests.pipeline.contract import check_stream

GREETING = speech("agent", 600, 2000)
ASKS = speech("caller", 3000, 5000)
HELLOS = [speech("caller", at, at + 500) for at in (9000, 14_000, 19_000)]


def told(events: list[Event]) -> list[tuple[str, str, int]]:
    """(raised or cleared, severity, when it was true) of the rule, in order."""
    check_stream(events)
    found = [event for event in events if event.type.startswith("alert.")]
    return [
        (e.type.removeprefix("alert."), e.alert.severity, e.at_ms)  # type: ignore[attr-defined]
        for e in found
        if e.alert.rule == "unanswered"  # type: ignore[attr-defined]
    ]


def first(events: list[Event]) -> Alert:
    return next(event.alert for event in of(events, "alert.raised") if event.alert.rule == "unanswered")


def test_hello_hello_is_one_wait_until_the_agent_speaks() -> None:
    events = watch(call(GREETING, ASKS, *HELLOS, speech("agent", 24_000, 25_000)))
    assert told(events) == [
        ("raised", "warning", 11_500),
        ("raised", "critical", 21_500),
        ("cleared", "critical", 24_000),
    ]
    assert first(events).message == (
        "the caller has had no reply in 6.0 s of silence since 5.0 s, and has spoken again: look at what the agent "
        "made of turn 1"
    )
    worse = [event.alert for event in of(events, "alert.raised") if event.alert.severity == "critical"][-1]
    assert (worse.value, worse.threshold, worse.because) == (15.0, 15.0, (1, 2, 3, 4))
    assert "has spoken 3 more times" in worse.message
    assert events[-1].summary["unanswered"]["count"] == 0, "no single turn had six seconds of silence behind it"  # type: ignore[attr-defined]


def test_the_cool_down_does_not_hide_a_longer_wait() -> None:
    said = (
        GREETING,
        ASKS,
        speech("agent", 11_500, 12_000),
        speech("caller", 12_500, 14_000),
        speech("agent", 30_500, 31_000),
    )
    assert told(watch(call(*said))) == [
        ("raised", "warning", 11_000),
        ("cleared", "warning", 11_500),
        ("raised", "critical", 29_000),
        ("cleared", "critical", 30_500),
    ]


def test_an_answer_ends_what_has_added_up() -> None:
    said = GREETING, ASKS, HELLOS[0], speech("agent", 11_000, 12_000), speech("caller", 13_000, 14_000)
    assert told(watch(call(*said, speech("agent", 19_900, 21_000)))) == []


def slow(pause: int, many: int = 7) -> list[Speech]:
    """A caller who talks for 2 s at a time, with pauses of so many ms."""
    return [speech("caller", 3000 + (2000 + pause) * k, 5000 + (2000 + pause) * k) for k in range(many)]


@pytest.mark.parametrize("pause", [600, 1500, 1980])
def test_a_slow_speaker_is_not_waiting(pause: int) -> None:
    said = slow(pause)
    assert told(watch(call(GREETING, *said, speech("agent", said[-1].end + 800, said[-1].end + 2000)))) == []


def test_silences_of_two_seconds_add_up_and_so_does_the_last() -> None:
    said = slow(2500, many=3)
    reply = said[-1].end + 1980
    assert told(watch(call(GREETING, *said, speech("agent", reply, reply + 1000)))) == []
    reply += 1020
    assert told(watch(call(GREETING, *said, speech("agent", reply, reply + 1000))))[0][2] == said[-1].end + 2000


def test_what_the_caller_says_is_no_part_of_the_wait() -> None:
    said = ASKS, speech("caller", 8000, 30_000), speech("agent", 32_900, 34_000)
    assert told(watch(call(GREETING, *said))) == []


def test_a_caller_who_speaks_while_it_is_raised_does_not_end_it() -> None:
    said = ASKS, speech("caller", 12_000, 13_000), speech("agent", 13_500, 14_000)
    assert told(watch(call(GREETING, *said))) == [("raised", "warning", 11_000), ("cleared", "warning", 13_500)]


def test_a_long_gap_makes_the_wait_unknown_and_it_begins_anew() -> None:
    said = [GREETING, ASKS, HELLOS[0], speech("caller", 14_000, 14_500), speech("caller", 18_000, 18_500)]
    tape = as_it_comes(said, 24_200, silent_from={"agent": 9600}, back_at={"agent": 11_000})
    assert told(watch([*tape, inputs.CallEnded(24_200, "hangup")])) == [
        ("raised", "warning", 21_000),
        ("cleared", "warning", 24_200),
    ]


def test_so_many_unanswered_turns_are_named_and_no_more() -> None:
    said = [speech("caller", 3000 + 2500 * k, 3400 + 2500 * k) for k in range(30)]
    events = watch(call(GREETING, *said))
    worse = [event.alert for event in of(events, "alert.raised") if event.alert.severity == "critical"][-1]
    assert worse.because[0] == 1
    assert len(worse.because) == 8
    assert f"has spoken {worse.because[-1] - 1} more times" in worse.message
