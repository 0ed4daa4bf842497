"""Same audio, same events: whatever the pieces, and however the tracks interleave. And the rules, against their
oracle."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from connectors import inputs
from connectors.inputs import TRACKS
from monitor.core.encode import encode
from tests.builders import Speech, even, interleave, of, pieces, sound, started, transitions_of, turns_of, watch

TOOLS = Path(__file__).resolve().parents[4] / "shared" / "tools"


def oracle() -> Any:
    """The rules as the labels of the shared calls were made with."""
    sys.path.insert(0, str(TOOLS))
    try:
        import score_timeline
    finally:
        sys.path.remove(str(TOOLS))
    return score_timeline


@st.composite
def talks(draw: st.DrawFn, most: int = 9) -> list[Speech]:
    """Stretches of both sides: 120 ms to 3 s long, silences of 240 ms to 2.4 s between them. All times are multiples of
    60 ms, so that none lies on a threshold of the rules (200, 500, 1000 ms), where the oracle's seconds are a hair
    off."""
    said = []
    for track in TRACKS:
        at = 60 * draw(st.integers(7, 50))
        for _ in range(draw(st.integers(0, most))):
            long = 60 * draw(st.one_of(st.integers(2, 20), st.integers(2, 50)))
            said.append(Speech(track, at, at + long))
            at += long + 60 * draw(st.one_of(st.integers(4, 20), st.integers(4, 40)))
    return said


def ways_in(said: list[Speech], silence_ms: int, rng: random.Random) -> Iterator[list[inputs.Input]]:
    """The same audio as it may come: in even pieces, in odd ones in another order, and one track whole before the
    other. `silence_ms` follow behind the last word."""
    length = max((s.end for s in said), default=0) + silence_ms
    tracks = sound(said, length)
    begin, end = started(), inputs.CallEnded(length, "end_of_file")
    yield [begin, *interleave([even(t, tracks[t]) for t in TRACKS], random.Random(1)), end]
    sizes = [[rng.choice((1, 7, 80, 160, 333, 8000, 23200)) for _ in range(2000)] for _ in TRACKS]
    yield [begin, *interleave([pieces(t, tracks[t], s) for t, s in zip(TRACKS, sizes, strict=True)], rng), end]
    yield [begin, *even("agent", tracks["agent"], 1000), *even("caller", tracks["caller"], 700), end]


@given(talks(), st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None)
def test_any_chunking_and_any_interleaving_give_the_same_events(said: list[Speech], seed: int) -> None:
    straight, odd, one_by_one = ways_in(said, 1500, random.Random(seed))
    lines = [encode(e) for e in watch(straight)]
    assert [encode(e) for e in watch(odd)] == lines
    assert [encode(e) for e in watch(one_by_one)] == lines


@given(talks())
@settings(max_examples=150, deadline=None)
def test_turns_backchannels_and_transitions_are_the_rules_over_the_whole_call(said: list[Speech]) -> None:
    rules = oracle()
    length = max((s.end for s in said), default=0) + 1500
    tracks = sound(said, length)
    tape = [started(), *interleave([even(t, tracks[t], 100) for t in TRACKS], random.Random(2))]
    events = watch([*tape, inputs.CallEnded(length, "end_of_file")])
    roles = {"caller": "user", "agent": "assistant"}
    ipus = {r: [[s.start / 1000, s.end / 1000] for s in said if s.track == t] for t, r in roles.items()}
    wanted = rules.turns_from_ipus(ipus)
    assert turns_of(events) == [
        ("~" * t["backchannel"] + t["role"], round(t["start"] * 1000), round(t["end"] * 1000)) for t in wanted
    ]
    paired = [
        None if t["backchannel"] else {"role": t["role"], "start_time": t["start"], "duration": t["end"] - t["start"]}
        for t in wanted
    ]
    passed = rules.transitions(paired)
    assert transitions_of(events) == [(t["kind"], round(t["gap_seconds"] * 1000)) for t in passed]
    cut = {b["of_turn"] for b in rules.barge_ins(wanted, ipus) if b["outcome"] == "yielded"}
    assert {e.turn.index for e in of(events, "turn.ended") if e.turn.interrupted} == cut


@given(talks())
@settings(max_examples=60, deadline=None)
def test_the_stream_keeps_its_contract(said: list[Speech]) -> None:
    length = max((s.end for s in said), default=0) + 200
    tracks = sound(said, length)
    tape = [started(), *interleave([even(t, tracks[t], 60) for t in TRACKS], random.Random(3))]
    events = watch([*tape, inputs.CallEnded(length, "hangup")])
    assert [e.seq for e in events] == list(range(len(events)))
    assert all(a.known_at_ms <= b.known_at_ms for a, b in pairwise(events))
    assert all(e.at_ms <= e.known_at_ms for e in events)
    assert events[0].type == "call.started"
    assert events[-1].type == "call.ended"
    begun = [e.turn for e in of(events, "turn.started")]
    over = [e.turn for e in of(events, "turn.ended")]
    assert [t.index for t in begun] == list(range(len(begun)))
    assert begun == sorted(begun, key=lambda t: (t.start_ms, t.role == "assistant"))
    assert sorted(t.index for t in over) == [t.index for t in begun]
    assert {t.index: t.start_ms for t in begun} == {t.index: t.start_ms for t in over}
    final = {
        (e.transition.from_turn, e.transition.to_turn) for e in of(events, "transition.scored") if e.transition.final
    }
    told = {(e.transition.from_turn, e.transition.to_turn) for e in of(events, "transition.scored")}
    gone = {(e.from_turn, e.to_turn) for e in of(events, "transition.withdrawn")}
    assert told == final | gone
    assert not final & gone
