"""Assistant turns that nobody is asked about are counted, with the reason; and a score of a few turns says so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import Text
from monitor.core.relevancy_score import RelevancyScore
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.turn_relevancy import FinishedConversation
from tests.core.relevancy.judged_calls import Said, exchange, judging, listen, says, tape_of

GREETING = Said("agent", 500, 1100, "Swift Parcel, hello.", 520)


def finished(roles: str, silent: tuple[int, ...] = (), **settings: Any) -> FinishedConversation:
    """A conversation of `U` and `A` turns, with words but for those in `silent`, and every verdict a yes."""
    names = {"U": "user", "A": "assistant"}
    turns = [{"role": names[r], "text": None if n in silent else f"words {n}"} for n, r in enumerate(roles)]
    conversation = FinishedConversation(turns, RelevancySettings(**settings))
    for request in conversation.requests:
        conversation.answer(says(request, "yes"))
    return conversation


def test_by_interactions_the_greeting_is_not_asked_about_and_the_summary_says_so() -> None:
    told = finished("AUAUA", window_unit="interactions").summary
    assert (told["judged"], told["not_asked"], told["assistant_turns"]) == (2, {"interaction": 1}, 3)
    assert told["reason"].endswith(
        "1 assistant turn was not asked about: an interaction is judged by its last turn, and what is part of none is "
        "not judged (1)."
    )
    assert finished("AUAUA").summary["not_asked"] == {}


def test_in_a_call_by_interactions_too() -> None:
    tape = tape_of([GREETING, *exchange(2, first=1600)])
    heard = listen(tape, judging(window_unit="interactions"))
    assert (heard.summary["judged"], heard.summary["not_asked"]) == (2, {"interaction": 1})
    assert listen(tape, judging()).summary["not_asked"] == {}


def test_turns_without_words_are_counted() -> None:
    told = finished("UAUA", silent=(3,)).summary
    assert (told["judged"], told["not_asked"]) == (1, {"no_words": 1})
    words = [Text("caller", 1400, "question", "transcript"), Text("agent", 1520, "answer", "response")]
    heard = listen(tape_of(exchange(3), words), judging())
    assert heard.summary["not_asked"] == {"no_words": 2}
    assert "2 assistant turns were not asked about: their words are not known (2)." in heard.summary["reason"]


ROLES = st.text("UA", min_size=1, max_size=30)
UNITS = st.sampled_from(["turns", "interactions"])


@given(roles=ROLES, unit=UNITS, silent=st.sets(st.integers(0, 30)), size=st.integers(1, 4))
def test_every_assistant_turn_is_judged_or_unscored_or_counted_as_not_asked(
    roles: str, unit: str, silent: set[int], size: int
) -> None:
    told = finished(roles, tuple(silent), window_unit=unit, window_size=size).summary
    rest = sum(told["not_asked"].values())
    assert told["judged"] + told["unscored"] + rest == told["assistant_turns"] == roles.count("A")
    assert unit == "interactions" or "interaction" not in told["not_asked"]


def score(yes: int, no: int, unscored: int) -> dict[str, Any]:
    made = RelevancyScore()
    for n, answer in enumerate(["yes"] * yes + ["no"] * no + ["unscored"] * unscored):
        made.settle(n, answer, "the judge is out of reach" if answer == "unscored" else None)
    return made.summary(RelevancySettings())


def test_a_score_that_rests_on_a_few_turns_says_so_first() -> None:
    told = score(1, 0, 4)
    assert (told["score"], told["judged"], told["unscored"]) == (1.0, 1, 4)
    assert told["reason"] == (
        "Turn relevancy was 1.00, but rests on 1 of 5 assistant turns: 1 of 1 assistant turn was judged relevant. "
        "4 assistant turns were not scored: the judge is out of reach (4)."
    )


@pytest.mark.parametrize(("yes", "unscored"), [(4, 1), (3, 3), (1, 0)])
def test_a_score_of_most_turns_is_told_as_it_is(yes: int, unscored: int) -> None:
    assert score(yes, 0, unscored)["reason"].startswith("Turn relevancy was 1.00: ")
