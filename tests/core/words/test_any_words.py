"""Whatever words and verdicts come, and in whatever order: the stream keeps its contract."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.inputs import AnyInput, Cut, Input, Text, Verdict, Verdicts
from monitor.core.events import Turn
from tests.builders import of
from tests.core.relevancy.judged_calls import judging, listen, placed, replay, says
from tests.core.words.relayed_calls import Response, relayed

LENGTH = 16_000
times = st.integers(0, LENGTH)
ids = st.one_of(st.none(), st.integers(1, 6))
kinds = st.sampled_from(["transcript", "response", "correction"])
bodies = st.sampled_from(["", "yes", "no", "a table for two on Friday, please", "a table for two", "yes yes"])
texts = st.builds(
    Text,
    track=st.sampled_from(["caller", "agent"]),
    at=times,
    text=bodies,
    kind=kinds,
    response=ids,
    start=st.one_of(st.none(), st.none(), times),
    turn=st.one_of(st.none(), st.none(), st.integers(-1, 9)),
)
verdicts = st.builds(
    Verdicts,
    at=times,
    batch=st.integers(-1, 4),
    judge=st.just("another"),
    verdicts=st.lists(
        st.builds(Verdict, st.integers(-1, 9), st.sampled_from(["yes", "no", "unscored"])), max_size=3
    ).map(tuple),
)
cuts = st.builds(Cut, track=st.just("agent"), at=times, response=ids)
responses = st.builds(
    Response,
    at=st.integers(0, 12_000),
    ms=st.integers(200, 4000),
    number=ids,
    pauses=st.sampled_from([(), ((500, 1800),)]),
)


@st.composite
def calls(draw: st.DrawFn) -> list[Input]:
    """A relayed call with any words, cuts and verdicts in it."""
    at, spoken = 300, []
    for gap, ms in draw(st.lists(st.tuples(st.integers(300, 3000), st.integers(150, 3000)), max_size=4)):
        spoken.append((at + gap, at + gap + ms))
        at += gap + ms
    others = draw(st.lists(st.one_of(texts, cuts), max_size=14))
    tape = relayed(spoken, draw(st.lists(responses, max_size=5)), others, max(LENGTH, at + 1000))
    return placed(tape, draw(st.lists(verdicts, max_size=3)))


@given(calls(), st.sampled_from(["turns", "interactions"]), st.integers(1, 3), st.booleans())
@settings(max_examples=40)
def test_the_stream_keeps_its_contract(call: list[Input], unit: str, batch: int, answered: bool) -> None:
    options = judging(window_unit=unit, batch_size=batch, window_size=3, deadline_s=4)
    heard = listen(call, options, (lambda r: says(r, "yes")) if answered else (lambda r: None))
    events = heard.events
    assert [e.seq for e in events] == list(range(len(events)))
    assert all(a.known_at_ms <= b.known_at_ms for a, b in pairwise(events))
    assert all(e.at_ms <= e.known_at_ms for e in events)
    assert events[-1].type == "call.ended"

    ended: dict[int, Turn] = {e.turn.index: e.turn for e in of(events, "turn.ended")}
    known = heard.texts()
    judged = Counter(e.turn.index for e in of(events, "relevancy.judged"))
    may = {i for i, turn in ended.items() if turn.role == "assistant" and not turn.backchannel}
    assert set(judged) <= may
    assert all(count == 1 for count in judged.values())
    if unit == "turns":
        assert {index for index in may if known[index]} <= set(judged)
    last = heard.summary
    said = Counter(heard.verdicts().values())
    assert (last["relevant"], last["judged"]) == (said["yes"], said["yes"] + said["no"])
    assert last["unscored"] == said["unscored"]
    for event in of(events, "relevancy.judged"):
        assert event.window[-1] == event.turn.index
        assert not any(ended[index].backchannel for index in event.window if index in ended)
        assert unit == "interactions" or len(event.window) <= 3

    tape = msgspec.msgpack.decode(msgspec.msgpack.encode(heard.tape), type=list[AnyInput])
    assert replay(tape, options) == heard.lines()


@given(calls())
@settings(max_examples=15)
def test_turns_and_transitions_do_not_depend_on_words_or_verdicts(call: list[Input]) -> None:
    def turns(inputs: list[Input]) -> list[object]:
        kept = [e for e in listen(inputs, judging(batch_size=1)).events if e.type.startswith(("turn.", "transition."))]
        bare = [msgspec.structs.replace(e, seq=0) for e in kept if e.type != "turn.text"]
        return [
            msgspec.structs.replace(e, turn=msgspec.structs.replace(e.turn, text=None)) if hasattr(e, "turn") else e  # type: ignore[call-arg]
            for e in bare
        ]

    assert turns(call) == turns([one for one in call if not isinstance(one, Text | Verdicts)])
