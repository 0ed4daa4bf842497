"""Every row of the table, and the panel that plays a call to all of them."""

from __future__ import annotations

import json

import pytest

from monitor.core.clock import Span
from monitor.core.events import Turn
from monitor.core.measures import MEASURES, Measure
from monitor.core.measures.panel import Panel
from monitor.core.measures.stalls import Stalls

BOTH = ("caller", "agent")
CONTRACT = {
    "talk": {"user", "assistant", "overlap", "silence"},
    "response_time": {"count", "p50", "p95", "max", "mean", "spread"},
    "barge_in": {"user", "agent", "backchannels", "yield_p50", "recovery_p50"},
    "dead_air": {"count", "total"},
}


def leaves(data):
    if isinstance(data, dict):
        for value in data.values():
            yield from leaves(value)
    else:
        yield data


@pytest.mark.parametrize("row", MEASURES, ids=lambda row: row.key)
@pytest.mark.parametrize("tracks", [BOTH, ("caller",), ("agent",), ()])
def test_a_call_in_which_nothing_happened_has_plain_figures(row, tracks):
    figures = row(tracks).summary(0)
    assert list(figures) == [row.key]
    json.dumps(figures, allow_nan=False)
    if not tracks:
        assert set(leaves(figures)) <= {None, 0.0}


def test_every_key_of_the_summary_is_somebodys_and_only_one_measures():
    keys = [row.key for row in MEASURES]
    assert len(set(keys)) == len(keys)
    summary = Panel(BOTH).summary(1000)
    assert list(summary) == keys
    for key, names in CONTRACT.items():
        assert names <= set(summary[key])


def test_a_hook_reaches_those_who_listen_and_nobody_else():
    class Quiet(Measure):
        key = "quiet"

    class Loud(Measure):
        key = "loud"

        def __init__(self, tracks):
            super().__init__(tracks)
            self.heard = []

        def stretch(self, track, span):
            self.heard.append(("stretch", track, span))

        def advance(self, now_ms):
            self.heard.append(("advance", now_ms))

        def waiting_ms(self, now_ms):
            return now_ms - 5

        def figures(self, duration_ms):
            return len(self.heard)

    panel = Panel(BOTH, (Quiet, Loud))
    turn = Turn(index=0, role="user", start_ms=0, duration_ms=5)
    panel.turn_started(turn)
    panel.turn_ended(turn)
    panel.stalled("caller", Span(0, 5))
    panel.stretch("agent", Span(1, 2))
    panel.advance(20)
    loud = panel.measures[1]
    assert loud.heard == [("stretch", "agent", Span(1, 2)), ("advance", 20)]
    assert panel.waiting_ms(30) == 25
    assert panel.summary(40) == {"quiet": None, "loud": 2}
    assert panel._turn_started == ()


def test_pieces_of_a_stall_that_touch_are_one():
    stalls = Stalls()
    assert stalls.add("caller", Span(0, 600)) is None
    assert stalls.add("caller", Span(700, 1300)) is None
    assert stalls.add("caller", Span(1300, 1700)) == Span(700, 1700)
    assert stalls.add("caller", Span(1700, 1720)) == Span(700, 1720)
    assert stalls.touch(1720, 9000)
    assert stalls.touch(0, 700)
    assert not stalls.touch(0, 699)
    assert not stalls.touch(1721, 9000)
    assert not stalls.touch(0, 9000, "agent")
