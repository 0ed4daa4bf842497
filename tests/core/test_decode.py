"""A line back into its event: the same line again, and no harm from what is none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core import events
from monitor.core.decode import Undecodable, UnknownType, decode
from monitor.core.encode import encode
from monitor.core.events import Event
from tests.builders import call, speech, watch

ms = st.integers(0, 10**12)
texts = st.text(max_size=20)
counts = st.integers(0, 10**6)
scores = st.floats(0, 1, allow_nan=False)
maybe = st.none()
indexes = st.lists(counts, max_size=5).map(tuple)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
turns = st.builds(
    events.Turn,
    index=counts,
    role=st.sampled_from(["user", "assistant"]),
    start_ms=ms,
    duration_ms=maybe | ms,
    ended_by=maybe | st.sampled_from(["silence", "interruption", "stall", "call_end"]),
    backchannel=st.booleans(),
    interrupted=st.booleans(),
    text=maybe | texts,
    after_stall=st.booleans(),
    sure=maybe | scores,
)
running = st.builds(events.TurnTaking, maybe | scores, counts)
relevancy = st.builds(events.Relevancy, maybe | scores, maybe | counts, counts, counts, counts)
alerts = st.builds(
    events.Alert,
    id=texts,
    rule=texts,
    severity=st.sampled_from(["info", "warning", "critical"]),
    scope=st.sampled_from(["call", "fleet"]),
    message=texts,
    value=maybe | scores,
    threshold=maybe | scores,
    because=indexes,
    since_ms=ms,
    until_ms=maybe | ms,
    suppressed=counts,
)
BODIES: dict[type[Event], dict[str, Any]] = {
    events.CallStarted: {
        "source": texts,
        "started_at": maybe | texts,
        "agent_id": maybe | texts,
        "labels": st.dictionaries(texts, texts, max_size=3),
        "tracks": st.dictionaries(texts, plain, max_size=2),
        "playout": maybe | texts,
    },
    events.TurnStarted: {"turn": turns},
    events.TurnUpdated: {"turn": turns},
    events.TurnEnded: {"turn": turns},
    events.TurnText: {
        "turn": turns,
        "text": texts,
        "reason": st.sampled_from(["transcript", "response", "correction"]),
    },
    events.TransitionScored: {
        "transition": st.builds(
            events.Transition,
            from_turn=counts,
            to_turn=counts,
            kind=st.sampled_from(["gap", "user_barge_in", "agent_overlap"]),
            gap_ms=st.integers(-(10**9), 10**9),
            score=scores,
            final=st.booleans(),
            sure=maybe | scores,
        ),
        "turn_taking": running,
    },
    events.TransitionWithdrawn: {"from_turn": counts, "to_turn": counts, "reason": texts, "turn_taking": running},
    events.RelevancyJudged: {
        "turn": turns,
        "verdict": st.sampled_from(["yes", "no", "unscored"]),
        "reason": maybe | texts,
        "window": indexes,
        "batch": maybe | counts,
        "judge": maybe | texts,
        "relevancy": relevancy,
    },
    events.RelevancyScored: {
        "turns": indexes,
        "score": maybe | scores,
        "confidence": maybe | scores,
        "reason": maybe | texts,
        "batch": counts,
        "judge": maybe | texts,
        "relevancy": relevancy,
    },
    events.AlertRaised: {"alert": alerts},
    events.AlertCleared: {"alert": alerts},
    events.Notice: {"kind": texts, "track": maybe | texts, "count": counts, "message": texts},
    events.CallEnded: {
        "cause": st.sampled_from(["hangup", "disconnected", "end_of_file", "stopped", "failed"]),
        "summary": st.dictionaries(texts, plain, max_size=4),
    },
}
any_event = st.one_of(
    [st.builds(kind, call=texts, seq=counts, at_ms=ms, known_at_ms=ms, **body) for kind, body in BODIES.items()]
)


def test_every_type_of_the_contract_is_tried() -> None:
    def kinds(of: type[Event]) -> set[type[Event]]:
        return {of, *(found for below in of.__subclasses__() for found in kinds(below))}

    assert {kind for kind in kinds(Event) if kind.type} == set(BODIES)


@given(any_event)
def test_an_event_that_is_read_is_told_in_the_same_line(event: Event) -> None:
    line = encode(event)
    again = decode(line)
    assert type(again) is type(event)
    assert encode(again) == line


def test_a_whole_call_is_read() -> None:
    told = watch(call(speech("agent", 500, 4000), speech("caller", 3000, 6000), speech("agent", 7000, 9000)))
    assert [encode(decode(encode(event))) for event in told] == [encode(event) for event in told]


@given(any_event, st.dictionaries(texts.filter(lambda key: key not in ("v", "type")), plain, max_size=3))
def test_what_a_later_version_adds_is_passed_over(event: Event, more: dict[str, Any]) -> None:
    told = {**{f"x_{key}": value for key, value in more.items()}, **msgspec.json.decode(encode(event))}
    if isinstance(told.get("turn"), dict):
        told["turn"]["x_new"] = 1
    assert encode(decode(msgspec.json.encode(told))) == encode(event)


@given(st.binary(max_size=200) | texts.map(str.encode) | plain.map(msgspec.json.encode))
def test_what_is_no_event_is_refused_as_such(line: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(line)


@given(any_event, st.data())
def test_a_damaged_event_is_read_or_refused(event: Event, data: Any) -> None:
    told = msgspec.json.decode(encode(event))
    key = data.draw(st.sampled_from(sorted(told)))
    told[key] = data.draw(plain)
    try:
        again = decode(msgspec.json.encode(told))
    except Undecodable:
        return
    assert encode(decode(encode(again))) == encode(again)


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b'{"v":2,"type":"notice"}', b'{"v":1,"type":"notice"}', b"\xff\xfe"]
)
def test_lines_that_are_none(text: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(text)


def test_a_type_of_tomorrow_is_told_apart() -> None:
    with pytest.raises(UnknownType):
        decode(b'{"v":1,"type":"call.transferred","call":"a","seq":3,"at":1.0,"known_at":1.0}')
