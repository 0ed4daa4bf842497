"""However a call ends, what was open is told before the summary, and the summary is the last word."""

from __future__ import annotations

import pytest

from connectors import inputs
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import Cause, Event
from monitor.detectors import new_detector
from tests.builders import call, of, speech, turns_of, watch
from tests.core.call.live_feed import as_it_comes


@pytest.mark.parametrize("cause", ["end_of_file", "hangup", "disconnected"])
def test_a_turn_that_is_open_at_the_end_is_told(cause: Cause) -> None:
    """B16: a file that ends, a stop message, a socket that closes with 1006."""
    events = watch(call(speech("caller", 3000, 5000), length=5000, cause=cause))
    assert turns_of(events) == [("user", 3000, 5000)]
    assert of(events, "turn.ended")[0].turn.ended_by == "call_end"
    assert [event.type for event in events[-2:]] == ["turn.ended", "call.ended"]
    assert events[-1].cause == cause  # type: ignore[attr-defined]


def test_a_socket_that_just_stops_loses_no_turn_either() -> None:
    tape = as_it_comes([speech("caller", 3000, 7000)], 8000, silent_from={"caller": 5000, "agent": 5000})
    events = watch([*tape, inputs.CallEnded(8000, "disconnected", "closed with 1006")])
    assert turns_of(events) == [("user", 3000, 5000)]
    assert of(events, "turn.ended")[0].turn.ended_by == "stall"
    assert of(events, "notice")[-1].message == "closed with 1006"


def test_a_turn_that_is_over_when_the_call_ends_was_ended_by_its_silence() -> None:
    events = watch(call(speech("caller", 3000, 4000), length=4400))
    assert of(events, "turn.ended")[0].turn.ended_by == "silence"


def test_the_length_of_the_call_is_what_the_connector_says() -> None:
    assert watch(call(speech("caller", 600, 1600), length=5000))[-1].summary["duration"] == 5.0  # type: ignore[attr-defined]


def test_a_call_without_a_sound_ends_with_figures_that_nothing_supports_left_open() -> None:
    ended = watch(call(length=3000))[-1]
    summary = ended.summary  # type: ignore[attr-defined]
    assert summary["turns"] == {"user": 0, "assistant": 0}
    assert summary["turn_taking"]["score"] is None
    assert summary["response_time"]["p50"] is None


def fed(monitor: CallMonitor, tape: list[inputs.Input]) -> list[Event]:
    return [event for given in tape for event in monitor.feed(given)]


def test_finish_ends_a_call_once_and_after_that_nothing_counts() -> None:
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    tape = call(speech("caller", 600, 1600), length=3000)
    fed(monitor, tape[:-1])
    ended = monitor.finish()
    assert (ended[-1].type, ended[-1].cause) == ("call.ended", "stopped")  # type: ignore[attr-defined]
    assert monitor.status.ended
    assert monitor.finish() == []
    assert fed(monitor, tape) == []


def test_what_comes_before_the_call_starts_or_when_it_starts_again_is_ignored() -> None:
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    tape = call(speech("caller", 600, 1600))
    assert fed(monitor, tape[1:]) == []
    assert monitor.finish() == []
    events = fed(monitor, [tape[0], tape[0], *tape[1:]])
    assert [event.type for event in events].count("call.started") == 1
    assert turns_of(events) == [("user", 600, 1600)]
