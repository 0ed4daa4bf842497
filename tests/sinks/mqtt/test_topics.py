"""Names of any kind in topics that any broker takes."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from monitor.sinks.mqtt import topics
from tests.sinks.mqtt.listening import notice

names = st.text(st.characters(codec=None), max_size=300) | st.text("+#/%~\0ab", max_size=12)


@given(names)
@example("+")
@example("#")
@example("a/b")
@example("\0")
@example("\ud800")
@example("é" * 200)
def test_a_name_is_one_level_and_bounded(name: str) -> None:
    level = topics.level(name)
    assert level
    assert not set("+#/\0") & set(level)
    assert all(ord(sign) >= 32 and not 0x7F <= ord(sign) <= 0x9F for sign in level)
    assert len(level.encode("utf-8")) <= topics.MAX_LEVEL


@given(names, names)
@example("a/b", "a%2Fb")
@example("", "%")
@example("x" * 129, "x" * 130)
@example("x" * 200, topics.level("x" * 200))
def test_two_names_have_two_levels(one: str, two: str) -> None:
    assert (topics.level(one) == topics.level(two)) == (one == two)


def test_plain_names_stay_as_they_are() -> None:
    assert topics.level("CA1f-9_x.y:z ü") == "CA1f-9_x.y:z ü"
    assert topics.calls("berlin", "CA/1", "turn.ended") == "turnwatch/berlin/calls/CA%2F1/turn.ended"
    assert topics.alerts("berlin", "CA1/rule/0") == "turnwatch/berlin/alerts/CA1%2Frule%2F0"
    assert topics.monitors("berlin", "m1") == "turnwatch/berlin/monitors/m1"


def test_the_identity_is_call_and_seq() -> None:
    assert topics.event_id(notice(7, "CA/1")) == "CA/1#7"
    assert topics.event_id(notice(7, "a\0b")) == "a%00b#7"
    assert len(topics.event_id(notice(7, "x" * 5000))) <= topics.MAX_LEVEL + 2
