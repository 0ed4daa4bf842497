"""The score, the options that judge it, and what it took."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.inputs import ConversationScore, Verdicts
from monitor.core.encode import event_to_dict
from monitor.core.relevancy_score import RelevancyScore, Spending
from monitor.core.relevancy_settings import RelevancySettings
from tests.builders import of
from tests.core.relevancy.judged_calls import exchange, judging, listen, says, tape_of


def score(yes: int, no: int, unscored: int = 0) -> RelevancyScore:
    made = RelevancyScore()
    for n, answer in enumerate(["yes"] * yes + ["no"] * no + ["unscored"] * unscored):
        made.settle(n, answer, f"reason {n}" if answer != "yes" else None)
    return made


def test_nothing_judged_is_no_score_and_neither_pass_nor_fail() -> None:
    told = score(0, 0, 3).summary(RelevancySettings())
    assert (told["score"], told["success"], told["unscored"]) == (None, None, 3)
    assert told["reason"].startswith("No score: no assistant turn was judged. 3 assistant turns were not scored:")


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, (0.75, True)),
        ({"threshold": 0.8}, (0.75, False)),
        ({"threshold": None}, (0.75, None)),
        ({"strict_mode": True}, (0.0, False)),
    ],
)
def test_options_judge_the_score(options: dict[str, Any], wanted: tuple[float, bool | None]) -> None:
    told = score(3, 1, 5).summary(RelevancySettings(**options))
    assert (told["score"], told["success"]) == wanted
    assert (told["relevant"], told["judged"], told["unscored"]) == (3, 4, 5)


def test_strict_mode_passes_a_perfect_score() -> None:
    told = score(4, 0, 1).summary(RelevancySettings(strict_mode=True, flaky=True))
    assert (told["score"], told["success"], told["flaky"]) == (1.0, True, True)


def test_the_reason_quotes_the_first_few_and_counts_the_rest() -> None:
    assert score(4, 5).reason == (
        "Turn relevancy was 0.44: 4 of 9 assistant turns were judged relevant. Turn 4 was not: reason 4. "
        "Turn 5 was not: reason 5. Turn 6 was not: reason 6. Nor were 2 more."
    )
    assert score(1, 0).summary(RelevancySettings(include_reason=False))["reason"] is None


def test_the_cost_is_known_where_all_of_it_is() -> None:
    spending = Spending()
    assert spending.cost_usd is None
    spending.add(Verdicts(0, 0, "j", (), 0))
    assert spending.cost_usd is None
    spending.add(Verdicts(0, 1, "j", (), 2, 100, 10, 0.25))
    spending.add(Verdicts(0, 2, "j", (), 1, 50, 5, 0.125))
    assert (spending.requests, spending.input_tokens, spending.output_tokens) == (3, 150, 15)
    assert spending.cost_usd == 0.375
    spending.add(Verdicts(0, 3, "j", (), 1, 50, 5, None))
    assert spending.cost_usd is None


def test_the_events_and_the_summary_are_the_contract() -> None:
    heard = listen(tape_of(exchange(1)), judging(), lambda r: says(r, "yes", input_tokens=9, output_tokens=2))
    (event,) = of(heard.events, "relevancy.judged")
    told = event_to_dict(event)
    assert list(told) == [
        *("v", "type", "call", "seq", "at", "known_at"),
        *("turn", "verdict", "reason", "window", "batch", "judge", "relevancy"),
    ]
    assert (told["turn"], told["window"], told["batch"], told["judge"]) == ({"index": 1}, (0, 1), 0, "judge-1")
    assert told["relevancy"] == {"score": 1.0, "relevant": 1, "judged": 1, "unscored": 0, "assistant_turns": 1}
    assert heard.summary == {
        "score": 1.0,
        "relevant": 1,
        "judged": 1,
        "unscored": 0,
        "not_asked": {},
        "success": True,
        "reason": "Turn relevancy was 1.00: 1 of 1 assistant turn was judged relevant.",
        "requests": 1,
        "tokens": {"input": 9, "output": 2},
        "cost_usd": None,
    }


def whole(judged: float | None, reason: str = "as it seems") -> Any:
    return lambda r: Verdicts(0, r.batch, "jev", (), conversation=ConversationScore(judged, 0.5, reason))


def test_a_judge_of_whole_conversations_is_shown_everything_and_gives_the_score() -> None:
    heard = listen(tape_of(exchange(9)), judging(eval_mode="system_one", window_size=2), whole(0.625))
    assert [[line.index for line in request.lines] for request in heard.requests] == [list(range(12)), list(range(18))]
    events = [event_to_dict(event) for event in of(heard.events, "relevancy.scored")]
    assert [event["turns"] for event in events] == [(1, 3, 5, 7, 9, 11), (13, 15, 17)]
    assert events[1]["relevancy"] == {
        "score": 0.625,
        "relevant": None,
        "judged": 9,
        "unscored": 0,
        "assistant_turns": 9,
    }
    assert (heard.summary["score"], heard.summary["confidence"], heard.summary["success"]) == (0.625, 0.5, True)
    assert heard.summary["reason"] == "Turn relevancy was 0.62 over the whole conversation. as it seems"
    assert of(heard.events, "relevancy.judged") == []


def test_where_it_fails_nobody_stands_in_and_its_next_answer_makes_up_for_it() -> None:
    def judge(request: Any) -> Verdicts:
        return whole(None if request.batch != 1 else 0.9, "out of reach")(request)  # type: ignore[no-any-return]

    heard = listen(tape_of(exchange(14)), judging(eval_mode="system_one"), judge)
    states = [event.relevancy for event in of(heard.events, "relevancy.scored")]
    assert [(state.score, state.judged, state.unscored) for state in states] == [
        (None, 0, 6),
        (0.9, 12, 0),
        (0.9, 12, 2),
    ]
    never = listen(tape_of(exchange(3)), judging(eval_mode="system_one"), whole(None, "out of reach"))
    assert (never.summary["score"], never.summary["unscored"]) == (None, 3)
    assert never.summary["reason"].endswith("3 assistant turns were not scored: out of reach (3).")


@pytest.mark.parametrize(("mode", "tokens"), [("llm", None), ("hybrid", None), ("local", 0)])
def test_a_server_that_tells_of_no_tokens_leaves_them_unknown(mode: Any, tokens: int | None) -> None:
    made, settings = score(1, 0), RelevancySettings(eval_mode=mode)
    assert made.summary(settings)["tokens"] == {"input": 0, "output": 0}
    made.spending.add(Verdicts(at=0, batch=0, judge="m", verdicts=(), requests=1))
    assert made.summary(settings)["tokens"] == {"input": tokens, "output": tokens}
    made.spending.add(Verdicts(at=0, batch=1, judge="m", verdicts=(), requests=1, input_tokens=5, output_tokens=1))
    assert made.summary(settings)["tokens"] == {"input": 5, "output": 1}
