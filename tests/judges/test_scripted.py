"""Verdicts from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connectors.inputs import Verdict
from monitor.judges import JudgeFailure
from monitor.judges.script_file import ScriptError
from monitor.judges.scripted import scripted_judge
from tests.judges.conversations import CALL, batch


def write(tmp_path: Path, **content: Any) -> Path:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(content), "utf-8")
    return file


async def test_a_turn_is_named_by_index_order_or_words(tmp_path: Path) -> None:
    rows = [
        {"index": 3, "verdict": "no", "reason": "off"},
        {"order": 0, "verdict": "yes"},
        {"text": "on THURSDAY", "verdict": "no"},
    ]
    judge = scripted_judge(write(tmp_path, verdicts=rows, name="script 1"))
    answer = await judge.judge(batch())
    assert answer.verdicts == (Verdict(1, "yes"), Verdict(3, "no", "off"), Verdict(5, "no"))
    assert judge.name == "script 1"


async def test_the_order_goes_on_from_batch_to_batch_and_is_kept_when_a_turn_is_asked_about_again(
    tmp_path: Path,
) -> None:
    judge = scripted_judge(write(tmp_path, verdicts=[{"order": 2, "verdict": "no"}], otherwise="yes"))
    assert (await judge.judge(batch(asked=[1, 3]))).verdicts == (Verdict(1, "yes"), Verdict(3, "yes"))
    for _ in range(2):
        assert (await judge.judge(batch(asked=[5], number=1))).verdicts == (Verdict(5, "no"),)
    assert (await judge.judge(batch(asked=[5], call="another"))).verdicts == (Verdict(5, "yes"),)


async def test_what_the_script_does_not_name_is_unscored_with_a_reason(tmp_path: Path) -> None:
    answer = await scripted_judge(write(tmp_path)).judge(batch(CALL[:2]))
    assert answer.verdicts == (Verdict(1, "unscored", "the script says nothing of this turn"),)


async def test_failures_come_as_often_as_the_script_says(tmp_path: Path) -> None:
    failures = [{"batch": 1, "kind": "rate_limit", "retry_after_s": 2, "times": 2}]
    judge = scripted_judge(write(tmp_path, otherwise="yes", failures=failures))
    await judge.judge(batch())
    for _ in range(2):
        with pytest.raises(JudgeFailure) as raised:
            await judge.judge(batch(number=1))
        assert (raised.value.kind, raised.value.retry_after_s) == ("rate_limit", 2)
    assert len((await judge.judge(batch(number=1))).verdicts) == 3


async def test_an_outage_goes_on_for_ever(tmp_path: Path) -> None:
    judge = scripted_judge(write(tmp_path, failures=[{"kind": "server"}]))
    for number in range(5):
        with pytest.raises(JudgeFailure):
            await judge.judge(batch(number=number))


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("{", "no script"),
        ('{"verdict": []}', "verdict"),
        ('{"verdicts": [{"verdict": "yes"}]}', "by index, by order or by text"),
        ('{"verdicts": [{"index": 1, "text": "a", "verdict": "yes"}]}', "one of them alone"),
        ('{"verdicts": [{"index": 1, "verdict": "perhaps"}]}', "perhaps"),
        ('{"failures": [{"kind": "mood"}]}', "mood"),
    ],
)
def test_a_script_that_makes_no_sense_is_told_at_once(tmp_path: Path, content: str, wrong: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(content, "utf-8")
    with pytest.raises(ScriptError, match=wrong):
        scripted_judge(file)


def test_a_script_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="cannot read"):
        scripted_judge(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ('{"delay_s": -0.5}', "at delay_s: expected `float` >= 0"),
        ('{"failures": [{"kind": "server", "times": -1}]}', r"at failures\[0\].times: expected `int` >= 0"),
        ('{"failures": [{"kind": "server", "retry_after_s": -1}]}', r"at failures\[0\].retry_after_s: expected"),
        ('{"verdicts": [{"index": -1, "verdict": "yes"}]}', r"at verdicts\[0\].index: expected `int` >= 0"),
        ('{"verdicts": [', "its JSON is cut off"),
        (" ", "it is empty"),
        ("verdicts", "it is no JSON"),
        ('{"otherwise": "maybe"}', "at otherwise: invalid enum value 'maybe'"),
    ],
)
def test_what_is_wrong_with_a_script_is_said_in_one_line(tmp_path: Path, content: str, wrong: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(content, "utf-8")
    with pytest.raises(ScriptError, match=wrong) as raised:
        scripted_judge(file)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(f"{file} is no script of verdicts: ")
