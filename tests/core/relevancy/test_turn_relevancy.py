"""Turn relevancy of a conversation that is over, with the options of the founding document."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from monitor.core.events import Turn
from monitor.judges import JudgeFailure
from monitor.relevancy_metric import TurnRelevancy
from tests.core.relevancy.opinions import CALL, Opinion, Whole, long, measured


def test_the_options_are_those_of_the_founding_document() -> None:
    names = (
        "threshold",
        "model",
        "include_reason",
        "strict_mode",
        "async_mode",
        "verbose_mode",
        "window_size",
        "flaky",
    )
    wanted = [*names, "eval_mode", "system_one_model"]
    defaults = {name: one.default for name, one in inspect.signature(TurnRelevancy).parameters.items()}
    assert list(defaults)[:10] == wanted
    assert [defaults[name] for name in wanted] == [
        0.5,
        "gpt-5.4",
        True,
        False,
        True,
        False,
        10,
        False,
        None,
        "jev-latest",
    ]


def test_the_score_is_the_share_of_relevant_turns() -> None:
    metric = measured(CALL)
    assert metric.score == pytest.approx(2 / 3)
    assert (metric.success, metric.skipped) == (True, False)
    assert [(one["index"], one["verdict"], one["window"]) for one in metric.verdicts] == [
        (0, "yes", [0]),
        (2, "yes", [0, 1, 2]),
        (4, "no", [0, 1, 2, 3, 4]),
    ]
    assert metric.reason == (
        "Turn relevancy was 0.67: 2 of 3 assistant turns were judged relevant. Turn 4 was not: speaks of the weather."
    )
    assert metric.score_breakdown == {
        "relevant": 2,
        "judged": 3,
        "unscored": 0,
        "not_asked": {},
        "requests": 1,
        "tokens": {"input": 50, "output": 5},
        "cost_usd": 0.01,
        "assistant_turns": 3,
        "verdicts": metric.verdicts,
    }


@pytest.mark.parametrize(
    "turns",
    [
        tuple(CALL),
        iter(CALL),
        [SimpleNamespace(**turn) for turn in CALL],
        [{"role": turn["role"], "content": turn["text"]} for turn in CALL],
        [Turn(**turn, index=n, start_ms=n) for n, turn in enumerate(CALL)],  # type: ignore[arg-type]
        [{**turn, "index": 3 * n} for n, turn in reversed(list(enumerate(CALL)))],
    ],
    ids=["tuple", "iterator", "objects", "content", "our turns", "by index"],
)
def test_it_takes_turns_in_any_dress(turns: Any) -> None:
    assert measured(turns).score == pytest.approx(2 / 3)


def test_ninety_turns_take_fifteen_requests_and_no_more_than_four_at_once() -> None:
    judge = Opinion()
    metric = measured(long(90), judge=judge)
    assert (len(judge.requests), judge.most, metric.score) == (15, 4, 1.0)
    one_by_one = Opinion()
    measured(long(90), judge=one_by_one, async_mode=False)
    assert (len(one_by_one.requests), one_by_one.most) == (15, 1)


def test_a_conversation_longer_than_any_call_is_judged_whole() -> None:
    metric = measured(long(900))
    assert metric.score_breakdown is not None
    assert (metric.score_breakdown["judged"], metric.score_breakdown["unscored"]) == (900, 0)


def test_the_window_ends_in_the_turn_judged() -> None:
    metric = measured(long(6), window_size=3)
    assert [one["window"] for one in metric.verdicts] == [[0, 1], *([n - 2, n - 1, n] for n in range(3, 12, 2))]
    units = measured(long(6), window_size=2, window_unit="interactions")
    assert units.verdicts[-1]["window"] == [8, 9, 10, 11]


@pytest.mark.parametrize(
    ("options", "score", "success"),
    [
        ({"threshold": 0.9}, 2 / 3, False),
        ({"threshold": None}, 2 / 3, None),
        ({"strict_mode": True}, 0.0, False),
        ({"flaky": True, "threshold": 0.9}, 2 / 3, False),
    ],
)
def test_options_judge_the_score(options: dict[str, Any], score: float, success: bool | None) -> None:
    metric = measured(CALL, **options)
    assert (metric.score, metric.success) == (pytest.approx(score), success)
    assert metric.threshold == (1.0 if options.get("strict_mode") else options.get("threshold", 0.5))
    assert metric.flaky == options.get("flaky", False)


def test_without_reasons_there_are_none() -> None:
    assert measured(CALL, include_reason=False).reason is None


def test_verbose_mode_prints_the_breakdown(capsys: pytest.CaptureFixture[str]) -> None:
    metric = measured(CALL, verbose_mode=True)
    printed = capsys.readouterr().out
    assert str(metric.reason) in printed
    assert printed.count("'verdict'") == 3


def test_a_failure_of_the_judge_is_no_verdict() -> None:
    metric = measured(CALL, judge=Opinion(JudgeFailure("refusal", "it will not say")))
    assert (metric.score, metric.success, metric.skipped) == (None, None, True)
    assert {one["verdict"] for one in metric.verdicts} == {"unscored"}
    assert metric.reason is not None
    assert metric.reason.startswith("No score: no assistant turn was judged.")
    assert "it will not say" in metric.reason


def test_nothing_to_judge_is_a_skip() -> None:
    for turns in ([{"role": "user", "text": "Hello?"}], [{"role": "assistant", "text": " "}, {"role": "user"}]):
        metric = measured(turns)
        assert (metric.score, metric.success, metric.skipped, metric.verdicts) == (None, None, True, [])


def test_backchannels_and_silent_turns_are_left_out() -> None:
    turns = [*CALL[:2], {"role": "assistant", "text": "mm", "backchannel": True}, {"role": "assistant"}, *CALL[2:]]
    metric = measured(turns)
    assert [one["index"] for one in metric.verdicts] == [0, 4, 6]
    assert metric.verdicts[-1]["window"] == [0, 1, 4, 5, 6]


def test_a_judge_of_whole_conversations_gives_a_score_and_no_verdicts() -> None:
    judge = Whole()
    metric = measured(long(20), judge=judge)
    assert (metric.score, metric.success, metric.verdicts, judge.shown) == (0.7, True, [], [40])
    assert metric.score_breakdown is not None
    assert (metric.score_breakdown["confidence"], metric.score_breakdown["judged"]) == (0.4, 20)
