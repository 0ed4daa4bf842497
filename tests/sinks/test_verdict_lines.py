"""What the judge of relevancy says, on the screen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from monitor.core import events
from monitor.core.call import Status
from monitor.core.events import Relevancy, Turn
from monitor.sinks.call_summary import summary_lines
from monitor.sinks.console import ConsoleSink
from monitor.sinks.status_line import status_bits
from monitor.sinks.verdict_lines import summary_bits
from tests.sinks.screens import Screen, bare, show, state, terminal_of

ENDED = Turn(index=3, role="assistant", start_ms=1000, duration_ms=2000, ended_by="silence", text="We open at eight.")
AFTER: dict[str, Any] = {"call": "c", "seq": 1, "at_ms": 3000, "known_at_ms": 9000}


def judged(verdict: events.Verdict, reason: str | None, score: float | None = 0.5) -> list[events.Event]:
    """A turn, and its verdict."""
    relevancy = Relevancy(score, 1, 2, 0, 2)
    turn = events.TurnEnded(call="c", seq=0, at_ms=3000, known_at_ms=4000, turn=ENDED)
    fields: dict[str, Any] = {"window": (1, 2, 3), "batch": 0, "judge": "m", "relevancy": relevancy}
    return [
        turn,
        events.RelevancyJudged(
            **AFTER, turn=Turn(index=3, role="assistant", start_ms=1000), verdict=verdict, reason=reason, **fields
        ),
    ]


def last_line(*told: events.Event) -> str:
    screen = Screen()
    show(list(told), screen)
    return screen.getvalue().splitlines()[-1]


@pytest.mark.parametrize(
    ("verdict", "reason", "shown"),
    [
        ("yes", None, "00:03.000  agent   ✓ to the point  relevancy 0.50"),
        (
            "no",
            "a refund was asked for",
            "00:03.000  agent   ✗ beside the point: a refund was asked for  relevancy 0.50: “We open at eight.”",
        ),
        (
            "unscored",
            "the judge did not answer in time",
            "00:03.000  agent   · not judged: the judge did not answer in time",
        ),
    ],
)
def test_a_verdict_is_one_line_and_a_no_says_why_and_to_what(verdict: Any, reason: str | None, shown: str) -> None:
    assert last_line(*judged(verdict, reason)) == shown


def test_a_reason_that_would_act_on_the_terminal_is_only_shown() -> None:
    line = last_line(*judged("no", "bad\x1b[2J\nreason"))
    assert "\x1b" not in line
    assert "\\x1b[2J" in line


def test_a_no_stands_out_on_a_terminal_and_a_yes_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_of(monkeypatch, 120)
    show([*judged("yes", None), *judged("no", "a refund was asked for")], screen)
    yes, no = (line for line in screen.getvalue().splitlines() if "the point" in line)
    assert "\x1b[1;31m" in no
    assert "\x1b[1;31m" not in yes
    assert "We open at eight." in bare(no)


def test_a_judge_of_whole_conversations_gives_a_score() -> None:
    fields: dict[str, Any] = {"turns": (1, 3), "batch": 0, "judge": "jev", "relevancy": Relevancy(0.9, None, 2, 0, 2)}
    scored = events.RelevancyScored(**AFTER, score=0.9, confidence=0.7, reason="all relevant", **fields)
    assert last_line(scored).endswith("✓ relevancy of the conversation 0.90, confidence 0.70: all relevant")
    failed = events.RelevancyScored(**AFTER, score=None, confidence=None, reason="no quota", **fields)
    assert last_line(failed).endswith("· conversation not judged: no quota")


def bottom(now: Status) -> str:
    return "".join(bit.text for bit in status_bits([now], {}))


def test_the_status_line_has_the_running_score_and_what_is_awaited() -> None:
    some = Relevancy(0.75, 3, 4, 1, 6)
    now = state(now_ms=9000, score=0.5, transitions=2)._replace(relevancy=some, waiting_for_verdicts=2)
    assert bottom(now).endswith("call 0.50 2 transitions  relevancy 0.75 4/6  2 verdicts awaited")
    closing = now._replace(closing=True, waiting_for_verdicts=1)
    assert " over " in bottom(closing)
    assert bottom(closing).endswith("last 1 verdict awaited")
    unjudged = now._replace(relevancy=Relevancy(None, 0, 0, 0, 1), waiting_for_verdicts=0)
    assert "relevancy" not in bottom(unjudged)


def test_the_feed_begins_with_who_judges() -> None:
    async def run(screen: Screen) -> None:
        sink = ConsoleSink(screen, opening="relevancy: local, approximate")
        await sink.open()
        await sink.close()

    screen = Screen()
    asyncio.run(run(screen))
    assert screen.getvalue() == "relevancy: local, approximate\n"


NOTHING = {"score": None, "relevant": 0, "judged": 0, "unscored": 0, "requests": 0}
SPENT = {"requests": 3, "tokens": {"input": 2100, "output": 260}, "cost_usd": 0.0123}


@pytest.mark.parametrize(
    ("relevancy", "told"),
    [
        (
            {"score": 0.8, "relevant": 4, "judged": 5, "unscored": 2, **SPENT},
            "4 of 5 answers to the point · 2 not judged · 3 requests · 2,360 tokens, $0.0123",
        ),
        (NOTHING, "no answer whose words are known"),
        ({**NOTHING, "unscored": 8, "requests": 3}, "8 not judged · 3 requests"),
        ({**NOTHING, "relevant": None, "judged": 1, "requests": 1}, "over 1 answer · 1 request"),
        ({**NOTHING, "not_asked": {"no_words": 2}}, "2 not asked about, without words"),
        (
            {"score": 1.0, "relevant": 3, "judged": 3, "not_asked": {"interaction": 1, "no_words": 2}},
            "3 of 3 answers to the point · 1 not asked about, not the last of an interaction · "
            "2 not asked about, without words",
        ),
        ({**NOTHING, "not_asked": {"new\x1b[2J": 1}}, r"1 not asked about, new\x1b[2J"),
    ],
)
def test_the_summary_tells_what_it_rests_on_and_what_it_took(relevancy: dict[str, Any], told: str) -> None:
    assert "".join(bit.text for bit in summary_bits(relevancy)) == f"  {told}"


def test_where_most_turns_have_no_verdict_that_stands_out_and_the_score_does_not_shine() -> None:
    relevancy = {"score": 1.0, "relevant": 1, "judged": 1, "unscored": 4}
    (line,) = (line for line in summary_lines({"relevancy": relevancy}) if line.what[0].text.startswith("relevancy"))
    assert [(bit.text, bit.style) for bit in line.what[1:]] == [
        ("1.00", "fair"),
        ("  1 of 1 answer to the point", "dim"),
        (" · 4 not judged", "fair"),
    ]


def test_the_summary_tells_what_the_transcriber_did() -> None:
    took = {"turns": 4, "worded": 3, "lost": 1, "requests": 5, "seconds": 12.3, "cost_usd": 0.0031}
    (line,) = (line for line in summary_lines({"transcription": took}) if "transcriber" in line.what[0].text)
    assert line.what[1].text == "3 of 4 turns with words · 1 without sound · 12.3 s of sound, $0.0031"
    assert not [line for line in summary_lines({"transcription": None}) if "transcriber" in line.what[0].text]
