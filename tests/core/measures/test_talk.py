"""Who spoke for how long, both at once, neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.clock import Span
from monitor.core.events import Turn
from monitor.core.measures.talk import Talk

BOTH = ("caller", "agent")


def test_a_call_is_talk_of_one_or_both_and_silence(play, say):
    user, agent = say
    figures = play(Talk, agent(0, 5), user(4, 8), agent(9, 12, sounds=[(9, 10), (10.5, 12)]), until=15)
    assert figures == {
        "user": 4.0,
        "assistant": 7.5,
        "overlap": 1.0,
        "silence": 4.5,
        "unknown": 0.0,
        "shares": {"user": 4 / 11.5, "assistant": 7.5 / 11.5},
        "longest_monologue": {"user": 4.0, "assistant": 5.0},
    }


def test_what_was_lost_is_unknown_unless_the_other_spoke(play, say):
    _user, agent = say
    figures = play(Talk, agent(0, 5), stalls=[("caller", 3, 7), ("agent", 6, 8)], until=10)
    assert (figures["assistant"], figures["unknown"], figures["silence"]) == (5.0, 3.0, 2.0)


def test_a_silent_call_has_no_shares(play):
    figures = play(Talk, until=10)
    assert (figures["user"], figures["assistant"], figures["overlap"], figures["silence"]) == (0.0, 0.0, 0.0, 10.0)
    assert figures["shares"] == {"user": None, "assistant": None}
    assert figures["longest_monologue"] == {"user": None, "assistant": None}


def test_an_absent_track_is_not_silent(play, say):
    user, _ = say
    figures = play(Talk, user(0, 4), until=10, tracks=("caller",))
    assert figures["user"] == 4.0
    assert (figures["assistant"], figures["overlap"], figures["silence"]) == (None, None, None)
    assert figures["shares"] == {"user": None, "assistant": None}
    assert figures["longest_monologue"] == {"user": 4.0, "assistant": None}


def track(pieces):
    """Disjoint stretches of one track from (pause, length) pairs."""
    at, out = 0, []
    for pause, length in pieces:
        out.append(Span(at + pause, at + pause + length))
        at = out[-1].end
    return out


tracks = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 1500)), max_size=150).map(track)


def told(caller, agent):
    """Stretches as they close, and before each the turn that it lies in, open."""
    hooks = [(span.end, name, span) for name, spans in (("caller", caller), ("agent", agent)) for span in spans]
    return sorted(hooks)


@given(tracks, tracks, st.lists(st.tuples(st.integers(0, 90_000), st.integers(1, 4000)), max_size=9))
def test_the_sums_are_exact_however_many_stretches_there_are(caller, agent, holes):
    stalls = [Span(start, start + length) for start, length in sorted(holes)]
    measure = Talk(BOTH)
    hooks = told(caller, agent)
    for end, name, span in hooks:
        for stall in [s for s in stalls if s.end <= end]:
            measure.stalled("caller", stall)
            stalls.remove(stall)
        measure.stretch(name, span)
    late = list(stalls)
    for stall in late:
        measure.stalled("agent", stall)
    end = max([span.end for span in (*caller, *agent)] + [start + length for start, length in holes], default=0) + 500

    def cells(spans):
        heard = bytearray(end)
        for span in spans:
            heard[span.start : span.end] = b"\1" * span.duration
        return heard

    on = [cells(caller), cells(agent), cells([Span(start, start + length) for start, length in holes])]
    figures = measure.figures(end)
    assert figures["user"] == sum(on[0]) / 1000
    assert figures["assistant"] == sum(on[1]) / 1000
    assert figures["overlap"] == sum(a & b for a, b in zip(on[0], on[1], strict=True)) / 1000
    assert figures["unknown"] == sum(u and not a and not b for a, b, u in zip(*on, strict=True)) / 1000
    assert figures["silence"] == sum(not (a or b or u) for a, b, u in zip(*on, strict=True)) / 1000


def test_one_sound_of_an_hour_over_a_thousand_short_ones():
    measure = Talk(BOTH)
    measure.turn_started(Turn(index=0, role="assistant", start_ms=0))
    for n in range(1000):
        measure.stretch("caller", Span(n * 3600, n * 3600 + 1000))
    hour = 3_600_000
    measure.turn_ended(Turn(index=0, role="assistant", start_ms=0, duration_ms=hour))  # told before its last stretch
    measure.stretch("caller", Span(hour, hour + 1000))
    measure.stretch("agent", Span(0, hour))
    figures = measure.figures(hour + 2000)
    assert (figures["overlap"], figures["silence"]) == (1000.0, 1.0)


def test_memory_does_not_grow_with_the_call():
    measure = Talk(BOTH)
    for n in range(20_000):
        turn = Turn(index=n, role="assistant" if n % 2 else "user", start_ms=n * 3000)
        measure.turn_started(turn)
        measure.stretch("agent" if n % 2 else "caller", Span(n * 3000, n * 3000 + 2500))
        measure.turn_ended(Turn(index=n, role=turn.role, start_ms=turn.start_ms, duration_ms=2500))
    assert len(measure._gathered) < 200
    assert len(measure._turns) < 200
    assert measure.figures(60_000_000)["silence"] == pytest.approx(10_000.0)
