"""Audio may wait inside, but only while nothing can be said: live, an event comes with the piece that made it known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from connectors import inputs
from connectors.inputs import TRACKS
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.encode import encode
from monitor.detectors import new_detector
from tests.builders import Speech, call, even, sound, speech, started, watch
from tests.core.call.live_feed import as_it_comes
from tests.core.call.test_promises import talks


def late_by(monitor: CallMonitor, tape: list[inputs.Input]) -> list[int]:
    """For each event told before the end: how many ms of audio the monitor had when the event was known already."""
    out = []
    for given_ in tape:
        out += [monitor.status.now_ms - event.known_at_ms for event in monitor.feed(given_)]
    return out


@given(talks())
@settings(max_examples=60, deadline=None)
def test_no_event_of_a_live_call_comes_late(said: list[Speech]) -> None:
    length = max((one.end for one in said), default=0) + 2500
    tracks = sound(said, length)
    both = zip(*(even(track, tracks[track]) for track in TRACKS), strict=True)
    tape = [started(), *(piece for pair in both for piece in pair)]
    assert set(late_by(CallMonitor(CoreSettings(), new_detector("energy")), tape)) <= {0}


def test_nor_does_it_where_a_track_stops_coming() -> None:
    said = speech("caller", 1000, 8000), speech("agent", 3000, 9000)
    tape = as_it_comes(said, 12_000, silent_from={"caller": 2500}, back_at={"caller": 7000})
    assert set(late_by(CallMonitor(CoreSettings(), new_detector("energy")), tape)) <= {0}


def test_the_status_is_that_of_the_last_piece() -> None:
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    tracks = sound([speech("caller", 1000, 2000)], 4000)
    seen = {}
    monitor.feed(started())
    for caller, agent in zip(*(even(track, tracks[track]) for track in TRACKS), strict=True):
        monitor.feed(caller)
        monitor.feed(agent)
        assert monitor.status.now_ms == caller.at + 20
        seen[caller.at + 20] = monitor.status.speaking
    assert [seen[at] for at in (1080, 1100, 2180, 2200)] == [(), ("caller",), ("caller",), ()]


@pytest.mark.parametrize("ms", [1, 7, 10, 25, 30, 200])
def test_pieces_of_any_length_are_told_with_the_piece_that_made_them_known(ms: int) -> None:
    tracks = sound([speech("caller", 1000, 2400), speech("agent", 2900, 4000)], 6000)
    both = zip(*(even(track, tracks[track], ms) for track in TRACKS), strict=True)
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    tape = [started(), *(piece for pair in both for piece in pair)]
    assert max(late_by(monitor, tape)) < max(20, ms)


def test_a_wall_clock_that_jumps_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """B44: an hour back at 10 s, half a minute on at 20 s."""
    said = [speech("caller", 1000 + 6000 * k, 3000 + 6000 * k) for k in range(5)]
    said += [speech("agent", 3600 + 6000 * k, 6500 + 6000 * k) for k in range(5)]
    tape = call(*said)
    wanted = [encode(event) for event in watch(tape)]
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    lines = []
    for given_ in tape:
        at = getattr(given_, "at", 0)
        monkeypatch.setattr("time.time", lambda at=at: at / 1000 - (3600 if at >= 10_000 else 0) + 30 * (at >= 20_000))
        lines += [encode(event) for event in monitor.feed(given_)]
    assert lines == wanted


def test_words_are_told_with_the_time_they_came_at() -> None:
    tracks = sound([speech("caller", 1000, 2000)], 6000)
    both = zip(*(even(track, tracks[track]) for track in TRACKS), strict=True)
    tape: list[inputs.Input] = [started(), *(piece for pair in both for piece in pair)]
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    for given_ in tape[: 1 + 2 * 230]:
        monitor.feed(given_)
    told = monitor.feed(inputs.Notice(4600, "reconnected", "the line is back", "caller"))
    assert [(event.at_ms, event.known_at_ms) for event in told] == [(4600, 4600)]
