"""An answer that was cut: what the caller did not hear is not judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import Cut, Text
from monitor.core.text_heard import beginning
from tests.builders import of
from tests.core.relevancy.judged_calls import Heard, judging, listen
from tests.core.words.relayed_calls import Response, relayed

TEN = "one two three four five six seven eight nine ten"
CALLER = [(500, 1500), (4500, 6500)]


def cut_call(*texts: Text, number: int | None = 4, cut: int = 4700, ms: int = 5000) -> Heard:
    """The agent says ten words in `ms`, from 2000 ms on, and is cut."""
    tape = relayed(
        CALLER,
        [Response(2000, ms, number), Response(9000, 1000, None if number is None else 6)],
        [
            Text("caller", 1900, "count for me", "transcript"),
            Text("agent", 2000, TEN, "response", number),
            Cut("agent", cut, number),
            Text("caller", 6800, "stop", "transcript"),
            Text("agent", 9000, "sorry", "response", None if number is None else 6),
            *texts,
        ],
    )
    return listen(tape, judging())


def correction(at: int, text: str, number: int | None = 4) -> Text:
    return Text("agent", at, text, "correction", number)


@pytest.mark.parametrize("number", [4, None], ids=["with ids", "without"])
@pytest.mark.parametrize(
    ("cut", "shown"),
    [(3000, "one two…"), (4700, "one two three four five…"), (6000, "one two three four five six seven eight…")],
)
def test_without_a_correction_the_judge_is_shown_the_share_that_was_heard(
    cut: int, shown: str, number: int | None
) -> None:
    call = cut_call(cut=cut, number=number)
    assert of(call.events, "turn.ended")[1].turn.ended_by == "interruption"
    assert call.shown()[1] == shown
    assert call.texts()[1] == TEN
    assert call.shown()[3] == "sorry"


@pytest.mark.parametrize("at", [1990, 4100, 4750, 5900, 7500])
@pytest.mark.parametrize("number", [4, None], ids=["with an id", "without"])
def test_a_correction_is_what_was_heard_whenever_it_comes(at: int, number: int | None) -> None:
    if number is None and at < 2000:
        at = 4720
    call = cut_call(correction(at, "one two three four", number))
    assert call.shown()[1] == "one two three four"
    assert call.texts()[1] == "one two three four"
    late = [(e.turn.index, e.text, e.reason) for e in of(call.events, "turn.text")]
    assert late == ([(1, "one two three four", "correction")] if at > 5720 else [])


def test_a_correction_to_nothing_leaves_nothing_to_judge() -> None:
    call = cut_call(correction(4750, ""))
    assert call.texts()[1] == ""
    assert set(call.verdicts()) == {3}


def test_a_response_that_is_told_again_after_its_correction_does_not_undo_it() -> None:
    call = cut_call(correction(4750, "one two"), Text("agent", 5000, TEN, "response", 4))
    assert call.texts()[1] == "one two"


def test_what_was_delivered_late_and_dropped_counts_as_not_heard() -> None:
    late = relayed(
        CALLER,
        [Response(2000, 2500, 4), Response(4750, 2500, 4)],
        [
            Text("caller", 1900, "count", "transcript"),
            Text("agent", 2000, TEN, "response", 4),
            Cut("agent", 4300, 4),
        ],
    )
    assert listen(late, judging()).shown()[1] == "one two three four five…"


def test_no_more_is_shown_than_can_be_said_in_the_time() -> None:
    """Where the rest had not been delivered when the answer was cut, the share of what was says too much."""
    tape = relayed(
        CALLER,
        [Response(2000, 3000, 4)],
        [
            Text("caller", 1900, "tell me", "transcript"),
            Text("agent", 2000, "a word and another " * 40, "response", 4),
            Cut("agent", 4600, 4),
        ],
    )
    shown = listen(tape, judging()).shown()[1]
    assert 30 < len(shown) <= 2600 * 25 // 1000 + 10


def test_the_end_of_the_call_cuts_as_well() -> None:
    tape = relayed(
        [(500, 1500)],
        [Response(2000, 20_000, 4)],
        [Text("caller", 1900, "count", "transcript"), Text("agent", 2000, TEN, "response", 4)],
    )
    assert listen(tape, judging()).shown()[1] == "one two three four five…"


def test_an_answer_that_was_heard_is_shown_whole() -> None:
    assert cut_call(cut=7500).shown()[1] == TEN
    assert cut_call(cut=6900).shown()[1] == TEN


def test_the_judge_waits_a_moment_for_the_correction() -> None:
    call = cut_call()
    (one,) = [e for e in of(call.events, "turn.ended") if e.turn.index == 1]
    tape = [given for given in call.tape if not hasattr(given, "verdicts")]
    eager = listen(tape, judging(batch_size=1))
    assert eager.requests[0].at_ms == one.known_at_ms + 1500


@given(st.text(alphabet="ab ", min_size=1), st.floats(0, 1), st.integers(0, 60_000))
def test_the_beginning_is_a_beginning(text: str, share: float, heard_ms: int) -> None:
    shown = beginning(text, share, heard_ms)
    if shown != text:
        assert shown.endswith("…")
        assert " ".join(text.split()).startswith(shown[:-1]) or text.startswith(shown[:-1])


def test_scripts_without_spaces_are_counted_by_characters() -> None:
    assert beginning("私は九時に行きます。それから駅の前で会いましょう。", 0.5, 60_000) == "私は九時に行きます。それ…"
