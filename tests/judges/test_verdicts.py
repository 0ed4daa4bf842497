"""What a judge wrote -> yes, no or unscored for each turn. Faults B53 and B55."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import Verdict
from monitor.judges.verdicts import read_reasons, read_verdicts, settled

ASKED = [1, 3, 5]


def entries(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"index": index, "reason": "", "verdict": verdict} for index, verdict in pairs]


GOOD = {"verdicts": entries((1, "yes"), (3, "no"), (5, "yes"))}


def words(text: str, asked: list[int] = ASKED) -> list[str]:
    return [one.verdict for one in read_verdicts(text, asked)]


def reasons(text: str, asked: list[int] = ASKED) -> list[str | None]:
    return [one.reason for one in read_verdicts(text, asked)]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        json.dumps(GOOD["verdicts"]),
        f"```json\n{json.dumps(GOOD, indent=2)}\n```",
        f"Here is what I found {{as asked}}:\n\n{json.dumps(GOOD)}\n\nLet me know if you need more!",
        f"\ufeff{json.dumps(GOOD)}",
        f"<think>Turn 1 might be {{'verdict': 'no'}} … [no]</think>{json.dumps(GOOD)}",
        json.dumps({"1": "yes", "3": "no", "5": "yes"}),
        json.dumps({"verdicts": {"1": "yes", "3": "no", "5": {"verdict": "yes"}}}),
        json.dumps({"verdicts": entries(("1", "YES."), ("turn 3", " No "), (5.0, "Yes"))}),
        json.dumps({"verdicts": entries((1, True), (3, False), (5, "true"))}),
        json.dumps([{"index": 1, "relevant": "true"}, {"index": 3, "relevant": False}, {"index": 5, "score": "0.8"}]),
        json.dumps({"verdicts": entries((1, "relevant"), (3, "irrelevant"), (5, "Relevant"))}),
        json.dumps({"verdicts": entries((1, "relevant"), (3, "not_relevant"), (5, "Relevant"))}),
        json.dumps({"verdicts": entries((1, "yes"), (3, "no"), (5, "yes"), (99, "no"), (0, "no"))}),
        "\n".join(json.dumps(entry) for entry in GOOD["verdicts"]),
    ],
)
def test_a_clear_answer_is_found_whatever_stands_around_it(text: str) -> None:
    assert words(text) == ["yes", "no", "yes"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("<think>so many turns, let me see", "empty"),
        ("All of these turns look relevant to me.", "no JSON"),
        (json.dumps(GOOD)[:-20], "cut off"),
        (json.dumps(GOOD)[:40], "cut off"),
        (f"```json\n{json.dumps(GOOD)[:60]}\n```", "cut off"),
        ('{"verdicts": [{"index": 1, "verdict": tru', "cut off"),
        ('{"verdicts": [{"index": 1 "verdict": "yes"}]}', "broken"),
        ("[" * 100_000, "broken"),
        ('{"verdicts": ' + "1" * 5000 + "}", "broken"),
        (" " * 10 + "x" * 300_000, "longer than 200000 characters"),
        ('{"answer": "relevant"}', "leaves out"),
        ('{"verdicts": []}', "leaves out"),
        ('{"verdicts": null}', "leaves out"),
        ("[1, 3, 5]", "leaves out"),
    ],
)
def test_no_answer_leaves_every_turn_unscored_and_says_why(text: str, reason: str) -> None:
    assert words(text) == ["unscored"] * 3
    assert all(reason in str(one) for one in reasons(text))


@pytest.mark.parametrize(
    ("rows", "expected", "reason"),
    [
        (entries((1, "yes"), (5, "yes")), ["yes", "unscored", "yes"], "leaves out"),
        (entries((1, "yes"), (3, "no"), (3, "no"), (5, "yes")), ["yes", "unscored", "yes"], "twice"),
        (entries((1, "yes"), (3, "no"), (3, "yes"), (5, "yes")), ["yes", "unscored", "yes"], "contradicts"),
        (entries((1, "yes"), (99, "no"), (5, "yes")), ["yes", "unscored", "yes"], "leaves out"),
        (entries((1, "yes"), (None, "no"), (5, "yes")), ["yes", "unscored", "yes"], "leaves out"),
        (entries((1, "yes"), (True, "no"), (5, "yes")), ["yes", "unscored", "yes"], "leaves out"),
        (entries((1, "yes"), (3, "maybe"), (5, "yes")), ["yes", "unscored", "yes"], "neither"),
        (entries((1, "yes"), (3, "not irrelevant"), (5, "yes")), ["yes", "unscored", "yes"], "neither"),
        (entries((1, "yes"), (3, None), (5, "yes")), ["yes", "unscored", "yes"], "neither"),
        (entries((1, "yes"), (3, ["no"]), (5, "yes")), ["yes", "unscored", "yes"], "neither"),
        (entries((1, "yes"), (3, 7), (5, "yes")), ["yes", "unscored", "yes"], "outside of 0 to 1"),
        (entries((1, "yes"), (3, "7"), (5, "yes")), ["yes", "unscored", "yes"], "outside of 0 to 1"),
        (entries((1, "yes"), (3, float("nan")), (5, "yes")), ["yes", "unscored", "yes"], "no number"),
        (entries((1, "yes"), (3, "NaN"), (5, "yes")), ["yes", "unscored", "yes"], "no number"),
        ([*entries((1, "yes"), (5, "yes")), {"index": 3}], ["yes", "unscored", "yes"], "gives no verdict"),
        (
            [*entries((1, "yes"), (5, "yes")), {"index": 3, "verdict": "yes", "relevant": False}],
            ["yes", "unscored", "yes"],
            "contradicts",
        ),
    ],
)
def test_what_is_wrong_with_one_turn_leaves_the_others_alone(rows: Any, expected: list[str], reason: str) -> None:
    text = json.dumps({"verdicts": rows})
    assert words(text) == expected
    assert reason in str(reasons(text)[1])


def test_a_key_given_twice_with_two_values_is_no_answer() -> None:
    text = '{"verdicts": [{"index": 1, "verdict": "no", "verdict": "yes"}]}'
    assert words(text, [1]) == ["unscored"]
    assert "contradicts" in str(reasons(text, [1])[0])
    assert words('{"1": "yes", "1": "no"}', [1]) == ["unscored"]


MOVED = [[0, 1, 2], [1, 2, 3], [2, 4, 6], [0, 2, 4], [3, 5, 7], [0, 1], [11, 13, 15], [4]]


@pytest.mark.parametrize("given_indexes", MOVED)
def test_indexes_that_are_moved_or_counted_anew_leave_every_turn_unscored(given_indexes: list[int]) -> None:
    text = json.dumps({"verdicts": entries(*((index, "no") for index in given_indexes))})
    assert words(text) == ["unscored"] * 3
    assert all("not about the turns" in str(reason) for reason in reasons(text))


def test_two_answers_in_one_reply_that_contradict_each_other_settle_nothing() -> None:
    other = {"verdicts": entries((1, "no"), (3, "no"), (5, "yes"))}
    text = f"Draft: {json.dumps(other)} Final: {json.dumps(GOOD)}"
    assert words(text) == ["unscored"] * 3


def test_a_single_turn_needs_no_index() -> None:
    assert words('{"reason": "", "verdict": "no"}', [7]) == ["no"]
    assert words('{"score": "0.8"}', [7]) == ["yes"]
    assert words('{"verdict": "no"}', [7, 9]) == ["unscored", "unscored"]
    assert words('{"score": 7}', [7]) == ["unscored"]


def test_the_reason_of_a_no_is_kept_on_one_line_and_short() -> None:
    long = "it\nspeaks \x1b[31mof\u202e " + "weather " * 100
    text = json.dumps({"verdicts": [{"index": 1, "reason": long, "verdict": "no"}]})
    (reason,) = reasons(text, [1])
    assert reason is not None
    assert reason.startswith("it speaks [31mof weather")
    assert len(reason) == 300
    assert reasons(text.replace('"no"', '"yes"'), [1]) == [None]
    assert read_verdicts(text, [1], include_reason=False) == (Verdict(1, "no"),)


def test_reasons_are_matched_by_index_and_taken_where_they_are_clear() -> None:
    rows = [
        {"index": 3, "reason": "changes the subject"},
        {"index": 5, "reason": "one"},
        {"index": 5, "reason": "two"},
        {"index": 7, "reason": ""},
        {"index": 9, "reason": "foreign"},
    ]
    assert read_reasons(json.dumps({"reasons": rows}), [1, 3, 5, 7]) == {3: "changes the subject"}
    assert read_reasons(json.dumps({"reason": "off"}), [3]) == {3: "off"}
    assert read_reasons("I cannot say", [3]) == {}


def test_any_judge_is_held_to_one_verdict_for_a_turn() -> None:
    given = [Verdict(1, "yes"), Verdict(3, "no"), Verdict(3, "yes"), Verdict(9, "no")]
    found = settled(given, ASKED)
    assert found[1] == Verdict(1, "yes")
    assert found[3].verdict == "unscored"
    assert set(found) == {1, 3}


KEYS = st.sampled_from(["verdicts", "index", "verdict", "relevant", "score", "1", "3"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["yes", "3"])
anything = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(anything, max_size=3), st.text(max_size=20), st.integers(0, 200))
def test_whatever_is_written_each_turn_gets_one_verdict(values: list[Any], prose: str, cut: int) -> None:
    text = prose + " ".join(json.dumps(value) for value in values)
    for reply in (text, text[:cut]):
        found = read_verdicts(reply, ASKED)
        assert [one.index for one in found] == ASKED
        assert all(one.verdict in ("yes", "no") or one.reason for one in found)


@given(st.permutations(ASKED), st.integers(1, 3), st.data())
def test_a_cut_answer_never_turns_into_verdicts(order: list[int], indent: int, data: st.DataObject) -> None:
    text = json.dumps({"verdicts": entries(*((index, "no") for index in order))}, indent=indent)
    cut = data.draw(st.integers(0, len(text) - 1))
    assert words(text[:cut]) == ["unscored"] * 3
