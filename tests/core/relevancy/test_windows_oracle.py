"""The windows: those of the batch metric by interactions, and by turns what the founding document says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import Verdicts
from monitor.core.events import Role
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.relevancy_windows import interaction_windows, turn_windows
from monitor.core.turn_relevancy import FinishedConversation
from tests.core.relevancy.judged_calls import says

ORACLE = json.loads(
    (Path(__file__).resolve().parents[4] / "shared" / "data" / "relevancy_windows_oracle.json").read_text()
)
CASES: list[dict[str, Any]] = [*ORACLE["cases"], *ORACLE["odd_window_sizes"]]
ROLE: dict[str, Role] = {"U": "user", "A": "assistant"}
roles = st.lists(st.sampled_from(["user", "assistant"]), max_size=60)


def name(case: dict[str, Any]) -> str:
    return f"{case['name']}-{case['window_size']}"


def judged(turns: list[Role], **settings: Any) -> FinishedConversation:
    """A conversation of such turns, with every verdict a yes."""
    spoken = [{"role": role, "text": f"words {n}"} for n, role in enumerate(turns)]
    conversation = FinishedConversation(spoken, RelevancySettings(**settings))
    for request in conversation.requests:
        conversation.answer(says(request, "yes"))
    return conversation


def test_the_oracle_is_whole() -> None:
    assert len({case["roles"] for case in ORACLE["cases"]}) >= ORACLE["sequences"] - 1
    assert len(CASES) == 231


@pytest.mark.parametrize("case", CASES, ids=name)
def test_interactions_are_those_of_the_batch_metric(case: dict[str, Any]) -> None:
    windows = interaction_windows([ROLE[letter] for letter in case["roles"]], case["window_size"])
    assert windows == case["windows"]
    assert [window[-1] if window else None for window in windows] == case["judged_turn_index"]


@pytest.mark.parametrize("case", [case for case in CASES if case["window_size"] > 0], ids=name)
def test_a_conversation_is_asked_about_in_these_windows(case: dict[str, Any]) -> None:
    conversation = judged(
        [ROLE[letter] for letter in case["roles"]], window_unit="interactions", window_size=case["window_size"]
    )
    asked = [one for request in conversation.requests for one in request.asked]
    assert [list(one.window) for one in asked] == case["windows"]
    assert [one.index for one in asked] == case["judged_turn_index"]
    assert conversation.score == (case["score_all_yes"] if case["n_windows"] else None)


@given(roles, st.integers(1, 12))
def test_by_turns_each_assistant_turn_has_one_window_that_ends_in_it(turns: list[Role], size: int) -> None:
    windows = turn_windows(turns, size)
    assert [window[-1] for window in windows] == [n for n, role in enumerate(turns) if role == "assistant"]
    for window in windows:
        assert window == list(range(window[0], window[-1] + 1))
        assert len(window) == min(size, window[-1] + 1)


@given(roles.filter(bool), st.integers(1, 12), st.integers(1, 8))
def test_every_assistant_turn_is_judged_once_in_its_window(turns: list[Role], size: int, batch: int) -> None:
    conversation = judged(turns, window_size=size, batch_size=batch)
    asked = [one for request in conversation.requests for one in request.asked]
    assert [list(one.window) for one in asked] == turn_windows(turns, size)
    assert sorted(conversation.verdicts) == [n for n, role in enumerate(turns) if role == "assistant"]
    assert len(conversation.requests) == -(-turns.count("assistant") // batch)
    for request in conversation.requests:
        shown = [line.index for line in request.lines]
        assert shown == sorted({index for one in request.asked for index in one.window})


@given(roles.filter(bool), st.integers(1, 6))
def test_the_score_is_the_share_of_yes_among_yes_and_no(turns: list[Role], cycle: int) -> None:
    spoken = [{"role": role, "text": "words"} for role in turns]
    conversation = FinishedConversation(spoken, RelevancySettings())
    answers: tuple[str, ...] = ("yes", "no", "unscored")
    given_by_turn = {}
    for request in conversation.requests:
        parts = [says(request, answers[one.index // cycle % 3]).verdicts[n] for n, one in enumerate(request.asked)]
        given_by_turn |= {one.index: one.verdict for one in parts}
        conversation.answer(Verdicts(0, request.batch, "judge", tuple(parts)))
    said = list(given_by_turn.values())
    clear = said.count("yes") + said.count("no")
    assert conversation.score == (said.count("yes") / clear if clear else None)
    assert (conversation.summary["judged"], conversation.summary["unscored"]) == (clear, said.count("unscored"))
