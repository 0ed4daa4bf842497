"""How the metric of a finished conversation is used: in an event loop, again and again, configured from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from monitor.relevancy_metric import TurnRelevancy
from monitor.runtime.judging import NoJudge
from tests.core.relevancy.opinions import CALL, Opinion, measured


async def test_within_an_event_loop_it_is_awaited() -> None:
    metric = TurnRelevancy(judge=Opinion())
    assert await metric.a_measure(CALL) == pytest.approx(2 / 3)
    with pytest.raises(RuntimeError, match=r"await metric\.a_measure"):
        metric.measure(CALL)


def test_one_metric_may_judge_conversation_after_conversation() -> None:
    judge = Opinion()
    metric = TurnRelevancy(judge=judge)
    metric.measure(CALL)
    metric.measure([{"role": "user", "text": "Hello?"}])
    assert (metric.score, metric.verdicts, judge.closed) == (None, [], 1)
    assert metric.measure(CALL) == pytest.approx(2 / 3)


def test_the_environment_names_the_mode_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURNWATCH_EVAL_MODE", raising=False)
    assert TurnRelevancy().settings.eval_mode == "llm"
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", "hybrid")
    assert TurnRelevancy().settings.eval_mode == "hybrid"
    assert TurnRelevancy(eval_mode="system_one").settings.eval_mode == "system_one"
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", "sometimes")
    with pytest.raises(ValueError, match="TURNWATCH_EVAL_MODE=sometimes: it takes one of llm, hybrid"):
        TurnRelevancy()
    with pytest.raises(ValueError, match=r"eval_mode=scripted: name the file of verdicts as well"):
        TurnRelevancy(eval_mode="scripted")
    assert measured(CALL, eval_mode="scripted").score == pytest.approx(2 / 3)


def test_a_judge_that_cannot_be_had_is_said_before_anything_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TYPESAFE_API_KEY", "TURNWATCH_EVAL_MODE"):
        monkeypatch.delenv(name, raising=False)
    for mode in ("llm", "hybrid", "system_one"):
        with pytest.raises(NoJudge):
            TurnRelevancy(eval_mode=mode).measure(CALL)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "mode"),
    [("LLM", "llm"), (" Local ", "local"), ("openai", "llm"), ("jev", "system_one"), ("OFF", "off")],
)
def test_a_judge_is_named_as_on_the_command_line(word: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TurnRelevancy(eval_mode=word).settings.eval_mode == mode
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", word)
    assert TurnRelevancy().settings.eval_mode == mode


def test_verdicts_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "Verdicts.json"
    file.write_text('{"verdicts": [{"order": 2, "verdict": "no", "reason": "of the weather"}], "otherwise": "yes"}')
    metric = TurnRelevancy(eval_mode=f"scripted:{file}")
    assert metric.measure(CALL) == pytest.approx(2 / 3)
    monkeypatch.setenv("TURNWATCH_EVAL_MODE", f"scripted:{file}")
    assert TurnRelevancy().measure(CALL) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="eval_mode: scripted: names no file of verdicts"):
        TurnRelevancy(eval_mode="scripted:")
    with pytest.raises(NoJudge, match="cannot read the script of verdicts"):
        TurnRelevancy(eval_mode=f"scripted:{tmp_path}/none.json").measure(CALL)


def test_off_asks_nobody() -> None:
    judge = Opinion()
    metric = measured(CALL, judge=judge, eval_mode="off")
    assert (metric.score, metric.skipped, judge.requests) == (None, True, [])
    assert metric.reason == "No score: eval_mode is off, so nobody was asked."


@pytest.mark.parametrize(
    ("turns", "error", "message"),
    [
        ([], TypeError, "must not be empty"),
        ("abc", TypeError, r"'turns' must be a list of turns, as in \[.*\]; got str"),
        (None, TypeError, "must be a list of turns.*; got NoneType"),
        (7, TypeError, "must be a list of turns.*; got int"),
        ({"turns": []}, TypeError, r"not the dict that holds it: give \['turns'\]"),
        ([{"role": "system", "text": "x"}], ValueError, "turn 0: role must be 'user' or 'assistant', got 'system'"),
        ([{"role": "user", "text": 7}], ValueError, "turn 0: text must be a string or None, got int"),
        ([{"role": "user", "index": 1}, {"role": "user", "index": 1}], ValueError, "two turns have the index 1"),
    ],
)
def test_what_cannot_be_a_conversation_is_refused(turns: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        measured(turns)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", "x"),
        ("threshold", float("nan")),
        ("window_size", 2.5),
        ("window_size", "3"),
        ("window_size", 0),
        ("window_unit", "x"),
        ("model", None),
        ("strict_mode", "no"),
        ("eval_mode", 3),
        ("base_url", "nowhere"),
    ],
)
def test_a_wrong_option_is_named(name: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
        TurnRelevancy(**{name: value})  # type: ignore[arg-type]
