"""Parity with the batch metric's own answers, in one go and step by step."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from monitor.core.naturalness import TurnTakingNaturalness
from monitor.core.turn_taking import RunningScore, transition_kind

ORACLE = Path(__file__).parents[4] / "shared" / "data" / "turn_taking_oracle.json"
CASES = json.loads(ORACLE.read_text("utf-8"))["cases"]
ANSWERED = [case for case in CASES if "exception" not in case]
EXACT = 1e-12


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["name"])


def near(value):
    return value if value is None else pytest.approx(value, abs=EXACT, rel=0)


@named(ANSWERED)
def test_the_batch_metric_gives_the_reference_answers(case):
    metric = TurnTakingNaturalness(**case["params"])
    metric.measure(case["turns"])
    assert metric.score_with_consistency == near(case["score"])
    assert metric.skipped == case["skipped"]
    assert metric.threshold == case["threshold"]
    assert (metric.reason is None) == (case["reason"] is None)
    breakdown = metric.score_breakdown
    noisy = case.get("float_noise", ())
    if case["transitions"] is None:
        assert breakdown["transitions"] is None
    else:
        found = breakdown["transitions"]
        assert len(found) == len(case["transitions"])
        for place, (ours, theirs) in enumerate(zip(found, case["transitions"], strict=True)):
            assert (ours["from_turn"], ours["to_turn"]) == (theirs["from_turn"], theirs["to_turn"])
            assert ours["gap_seconds"] == near(theirs["gap_seconds"])
            assert ours["score"] == near(theirs["score"])
            assert ours["kind"] == ("gap" if place in noisy else theirs["kind"])
    if case["response_delays"] is None:
        assert breakdown["response_delays"] is None
    elif not noisy:
        assert breakdown["response_delays"] == {key: near(v) for key, v in case["response_delays"].items()}
    for key, value in (case["breakdown_other"] or {}).items():
        assert breakdown[key] == value


@named([case for case in ANSWERED if case["transitions"] and not case["params"].get("strict_mode")])
def test_the_score_is_the_plain_mean_and_decides_success(case):
    metric = TurnTakingNaturalness(**case["params"])
    mean = sum(t["score"] for t in case["transitions"]) / len(case["transitions"])
    assert metric.measure(case["turns"]) == metric.score == near(mean)
    assert metric.success == (None if case["threshold"] is None else mean >= case["threshold"])


def test_success_parts_from_the_reference_only_where_consistency_decides():
    parted = []
    for case in ANSWERED:
        metric = TurnTakingNaturalness(**case["params"])
        metric.measure(case["turns"])
        if not case["skipped"] and metric.success != case["success"]:
            parted.append(case["name"])
    assert parted == ["rand_095_longsilence"]


@named([case for case in ANSWERED if case["skipped"]])
def test_nothing_to_score_is_neither_pass_nor_fail(case):
    metric = TurnTakingNaturalness(**case["params"])
    assert metric.measure(case["turns"]) is None
    assert (metric.score, metric.score_with_consistency, metric.success) == (None, None, None)


@named([case for case in CASES if "exception" in case])
def test_no_turns_at_all_is_refused_as_by_the_reference(case):
    assert case["exception"] == "TypeError"
    with pytest.raises(TypeError, match=case["message"]):
        TurnTakingNaturalness(**case["params"]).measure(case["turns"])


def steps(case, chance):
    """The reference's transitions as a live call tells them: guesses first, some of them withdrawn, then what is final,
    each transition's in order, all of them mixed."""
    ms = [{k: v if k == "role" or v is None else round(v * 1000) for k, v in turn.items()} for turn in case["turns"]]
    queues = []
    for expected in case["transitions"]:
        before, after = ms[expected["from_turn"]], ms[expected["to_turn"]]
        gap = after["start"] - before["start"] - before["duration"]
        guesses = [g for g in (gap // 3, gap // 2) if chance.random() < 0.7]
        told = [("set", expected, g, False, after["role"]) for g in guesses]
        if guesses and chance.random() < 0.3:
            told += [("withdraw", expected, 0, False, after["role"]), ("set", expected, gap, False, after["role"])]
        queues.append([*told, ("set", expected, gap, True, after["role"])])
    while queues:
        queue = chance.choice(queues)
        yield queue.pop(0)
        queues = [q for q in queues if q]


@named([case for case in ANSWERED if case["transitions"] and not case["params"].get("strict_mode")])
def test_the_running_score_ends_where_the_reference_does(case):
    for seed in range(5):
        running = told_live(case, random.Random(seed))
        assert running.transitions == len(case["transitions"])
        assert running.score_with_consistency == near(case["score"])
        if not case.get("float_noise"):
            kinds = [t["kind"] for t in case["transitions"]]
            assert running.kinds == {kind: kinds.count(kind) for kind in ("gap", "user_barge_in", "agent_overlap")}
            assert running.delays == case["response_delays"]["count"]
        if running.delays >= 3:
            assert running.spread_seconds == near(case["response_delays"]["spread_seconds"])


def told_live(case, chance):
    running = RunningScore()
    for verb, pair, gap, final, to_role in steps(case, chance):
        key = (pair["from_turn"], pair["to_turn"])
        if verb == "withdraw":
            running.withdraw(*key)
            continue
        kind = transition_kind("user" if to_role == "assistant" else "assistant", to_role, gap)
        told = running.set(*key, kind, gap, final, to_role=to_role)
        if final:
            assert told.score == near(pair["score"])
            assert told.gap_seconds == near(pair["gap_seconds"])
    return running
