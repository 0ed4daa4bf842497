"""What becomes of the judge's answers: late, missing, doubled, foreign ones change nothing they are not about."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.inputs import CallEnded, Elapsed, Input, Verdict, Verdicts
from monitor.core.questions import JudgeRequest
from monitor.core.relevancy import GIVEN_UP, NAMED_TWICE, NO_ANSWER, NOT_NAMED
from tests.builders import of
from tests.core.relevancy.judged_calls import exchange, judging, lenient, listen, placed, replay, says, silent, tape_of

THREE = exchange(3)


def answered(*verdicts: Verdict) -> Any:
    """A judge that says exactly this."""
    return lambda request: Verdicts(0, request.batch, "judge-1", verdicts)


def reasons(events: list[Any]) -> dict[int, str | None]:
    return {e.turn.index: e.reason for e in of(events, "relevancy.judged")}


@pytest.mark.parametrize(
    ("verdicts", "wanted"),
    [
        ([(1, "yes"), (3, "no"), (5, "yes")], ["yes", "no", "yes"]),
        ([(5, "yes"), (1, "no"), (3, "yes")], ["no", "yes", "yes"]),
        ([(1, "yes"), (5, "yes")], ["yes", "unscored", "yes"]),
        ([(1, "yes"), (3, "yes"), (3, "yes"), (5, "yes")], ["yes", "unscored", "yes"]),
        ([(1, "yes"), (3, "yes"), (3, "no"), (5, "no")], ["yes", "unscored", "no"]),
        ([(2, "no"), (4, "no"), (6, "no")], ["unscored"] * 3),
        ([(1, "yes"), (3, "yes"), (5, "yes"), (99, "no"), (-1, "no"), (0, "no")], ["yes"] * 3),
        ([], ["unscored"] * 3),
    ],
    ids=["in order", "shuffled", "missing", "doubled", "contradicting", "shifted", "foreign", "empty"],
)
def test_a_verdict_counts_for_the_turn_it_names_alone(verdicts: list[tuple[int, Any]], wanted: list[str]) -> None:
    heard = listen(tape_of(THREE), judging(), answered(*(Verdict(*one) for one in verdicts)))
    assert [heard.verdicts()[index] for index in (1, 3, 5)] == wanted
    assert Counter(e.turn.index for e in of(heard.events, "relevancy.judged")) == {1: 1, 3: 1, 5: 1}
    clear = [word for word in wanted if word != "unscored"]
    assert heard.summary["score"] == (clear.count("yes") / len(clear) if clear else None)


def test_the_reason_says_what_was_wrong_with_the_answer() -> None:
    judge = answered(Verdict(1, "no", "speaks of the weather"), Verdict(3, "yes"), Verdict(3, "yes"))
    heard = listen(tape_of(THREE), judging(), judge)
    assert reasons(heard.events) == {1: "speaks of the weather", 3: NAMED_TWICE, 5: NOT_NAMED}
    assert heard.summary["reason"] == (
        "Turn relevancy was 0.00, but rests on 1 of 3 assistant turns: 0 of 1 assistant turn was judged relevant. "
        f"Turn 1 was not: speaks of the weather. 2 assistant turns were not scored: {NAMED_TWICE} (1); {NOT_NAMED} (1)."
    )


def test_an_answer_that_comes_too_late_is_counted_and_ignored() -> None:
    spent = {"input_tokens": 100, "output_tokens": 7, "cost_usd": 0.5}
    call = tape_of(exchange(6), length=40_000)
    heard = listen(call, judging(deadline_s=5), lambda r: says(r, "no", **spent), delay_ms=6000)
    (request,) = heard.requests
    told = of(heard.events, "relevancy.judged")
    assert {e.verdict for e in told} == {"unscored"}
    assert {e.reason for e in told} == {NO_ANSWER}
    assert {e.known_at_ms for e in told} == {request.due_ms}
    assert heard.summary["score"] is None
    assert heard.summary["tokens"] == {"input": 100, "output": 7}
    assert (heard.summary["requests"], heard.summary["cost_usd"]) == (1, 0.5)


def test_an_answer_in_the_last_moment_is_in_time() -> None:
    heard = listen(tape_of(exchange(6), length=40_000), judging(deadline_s=5), lenient, delay_ms=4980)
    assert set(heard.verdicts().values()) == {"yes"}


def test_the_second_answer_to_a_batch_and_one_to_no_batch_change_nothing() -> None:
    call = tape_of(exchange(6), length=30_000)
    heard = listen(call, judging())
    (request,) = heard.requests
    again = msgspec.structs.replace(says(request, "no", input_tokens=5), at=20_000)
    foreign = msgspec.structs.replace(again, batch=7)
    assert replay(placed(heard.tape, [again, foreign, again]), judging()) == heard.lines()


def test_turns_never_wait_for_the_judge() -> None:
    heard = listen(tape_of(exchange(20)), judging(), silent)
    plain = listen(tape_of(exchange(20)), judging(eval_mode="off"))

    def turns(events: list[Any]) -> list[Any]:
        kept = [e for e in events if e.type.startswith(("turn.", "transition."))]
        return [msgspec.structs.replace(e, seq=0) for e in kept]

    assert turns(heard.events) == turns(plain.events)
    assert set(heard.verdicts().values()) == {"unscored"}


def test_without_a_judge_nobody_is_asked_and_nothing_is_said() -> None:
    heard = listen(tape_of(exchange(10)), judging(eval_mode="off"))
    assert (heard.requests, of(heard.events, "relevancy.judged"), heard.summary) == ([], [], None)
    assert heard.monitor.status.relevancy is None


def test_a_judge_without_any_answer_leaves_every_turn_unscored_by_the_end() -> None:
    heard = listen(tape_of(exchange(3)), judging(), silent)
    assert heard.verdicts() == {1: "unscored", 3: "unscored", 5: "unscored"}
    assert isinstance(heard.tape[-1], Elapsed)
    assert heard.events[-1].type == "call.ended"


def test_a_reason_is_kept_short_and_clean() -> None:
    heard = listen(tape_of(exchange(1)), judging(), answered(Verdict(1, "no", "x\ud83d" + "y" * 9000)))
    reason = reasons(heard.events)[1]
    assert reason is not None
    assert len(reason) == 2000
    assert reason.startswith("x\ufffd")


ANSWERS = st.sampled_from(["yes", "no", "unscored", "nothing", "twice", "never", "late", "foreign"])


@given(st.lists(ANSWERS, min_size=1, max_size=6), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=15)
def test_whatever_the_judge_does_every_turn_ends_exactly_once(ways: list[str], batch: int, more: int) -> None:
    def judge(request: JudgeRequest) -> Verdicts | None:
        way = ways[request.batch % len(ways)]
        if way in ("never", "late"):
            return None
        word = way if way in ("yes", "no", "unscored") else "yes"
        verdicts = () if way == "nothing" else says(request, word).verdicts * (2 if way == "twice" else 1)
        if way == "foreign":
            verdicts = (*verdicts, Verdict(10**6, "no"))
        return Verdicts(0, request.batch, "judge-1", verdicts)

    call: list[Input] = tape_of(exchange(4 + more))
    heard = listen(call, judging(batch_size=batch, deadline_s=3), judge)
    told = Counter(e.turn.index for e in of(heard.events, "relevancy.judged"))
    assert told == dict.fromkeys(range(1, 2 * (4 + more), 2), 1)
    for request in heard.requests:
        way = ways[request.batch % len(ways)]
        right = {"foreign": "yes"}.get(way, way if way in ("yes", "no") else "unscored")
        assert {heard.verdicts()[one.index] for one in request.asked} == {right}
    assert replay(heard.tape, judging(batch_size=batch, deadline_s=3)) == heard.lines()


def test_the_call_ended_for_a_second_time_gives_up() -> None:
    call = tape_of(exchange(2))
    end = call[-1]
    assert isinstance(end, CallEnded)
    lines = replay([*call, end], judging())
    assert sum(GIVEN_UP.encode() in line and b'"relevancy.judged"' in line for line in lines) == 2
    assert b'"type":"call.ended"' in lines[-1]
