"""The summary on a screen says what there is, and nothing that is not."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from monitor.sinks.call_summary import summary_lines
from tests.sinks.screens import SUMMARY


def shown(summary: dict[str, Any]) -> list[str]:
    return ["".join(bit.text for bit in line.what) for line in summary_lines(summary)]


def test_a_call_of_one_speaker_has_dashes_and_no_score() -> None:
    summary = {
        "turns": {"user": 2, "assistant": 0},
        "talk": {"user": 3.0, "assistant": None, "overlap": None, "silence": None},
        "turn_taking": {"score": None, "transitions": 0, "kinds": {"gap": 0}},
        "response_time": {"count": None, "p50": None},
        "barge_in": {"user": None, "agent": None, "backchannels": None},
        "dead_air": {"count": None, "total": None},
    }
    assert shown(summary) == [
        "turn-taking    no score  0 transitions",
        "turns          caller 2 · agent 0",
        "talk           caller 3.0 s · agent – · both – · nobody –",
    ]


def test_one_is_not_said_in_the_plural() -> None:
    taking = {"score": 0.5, "transitions": 1, "kinds": {"gap": 1}}
    assert shown({"turn_taking": taking})[0] == "turn-taking    0.50  1 transition: 1 gap"


def test_what_later_versions_add_is_shown_where_it_is_known() -> None:
    relevancy = {"score": 0.875, "relevant": 7, "judged": 8}
    lines = shown({**SUMMARY, "relevancy": relevancy, "alerts": {"barge_in_spike": 1}, "something": {"new": 1}})
    assert lines[-3:] == [
        "relevancy      0.88  7 of 8 answers to the point",
        "alerts         barge_in_spike 1",
        "notices        gap 2",
    ]


FIGURE = st.none() | st.integers(0, 10**6) | st.floats(0, 1e6)
PART = st.none() | st.dictionaries(st.sampled_from(["user", "assistant", "agent", "count", "total", "p50"]), FIGURE)


@given(st.dictionaries(st.sampled_from(sorted(SUMMARY)), PART))
def test_no_summary_breaks_the_feed(summary: dict[str, Any]) -> None:
    assert shown(summary)[0].startswith("turn-taking")
