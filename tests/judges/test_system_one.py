"""Jev alone over the whole conversation, against a server that speaks its wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.judges import JudgeFailure
from monitor.judges.estimates import Prices, tokens_of
from monitor.judges.jev import CONVERSATION, SystemOneJudge
from monitor.judges.jev_wire import MAX_TOKENS, Jev, state_of
from monitor.judges.whole import ConversationAnswer, WholeJudge
from tests.judges.conversations import CALL, lines
from tests.judges.jev_server import KEY, Answering, JevServer, answering, failing, noul, score
from tests.judges.loopback import CutAnswer, unused_address

GOOD = answering(relevant=noul(0.9), on_subject=noul(0.7), level=score(2.4, 0.8, p0=0.05, p1=0.1, p2=0.25, p3=0.6))


async def ask(
    server: JevServer, words: Any = CALL, key: str | None = KEY, timeout_s: float = 5.0
) -> ConversationAnswer:
    async with server.listening() as url:
        judge = SystemOneJudge(Jev(key, base_url=url, timeout_s=timeout_s, prices=Prices(0.042, 0.0)))
        assert isinstance(judge, WholeJudge)
        try:
            return await judge.judge_conversation(lines(words))
        finally:
            await judge.close()


async def test_the_wire_is_as_its_api_describes_it() -> None:
    server = JevServer([GOOD])
    await ask(server)
    (body,) = server.bodies
    assert set(body) == {"model", "state", "questions"}
    assert body["model"] == "jev-latest"
    assert body["state"] == {
        "turns": [{"role": line.role, "content": line.text} for line in lines(CALL)],
    }
    assert [question["type"] for question in body["questions"].values()] == ["noul", "noul", "score"]
    assert all(question["instructions"] for question in body["questions"].values())
    assert len(body["questions"]["level"]["criteria"]) == 4
    assert body["questions"]["level"]["criteria"][-1] == "all relevant"


async def test_the_score_is_the_weighted_mean_and_the_confidence_the_least() -> None:
    answer = await ask(JevServer([GOOD]))
    assert answer.score == pytest.approx((2 * 0.9 + 0.7 + 2.4 / 3) / 4)
    assert answer.confidence == pytest.approx(abs(2 * 0.7 - 1))
    assert answer.answers == pytest.approx({"relevant": 0.9, "on_subject": 0.7, "level": 0.8})
    for figure in ("0.90", "0.70", "2.40 of 3", "all relevant 0.60", "mostly irrelevant 0.05"):
        assert figure in answer.reason
    assert answer.spent.input_tokens == 1000
    assert answer.spent.cost_usd == pytest.approx(0.042 / 1000)


@pytest.mark.parametrize(
    ("answers", "value", "confidence"),
    [
        ((noul(1), noul(1), score(3, 1.0)), 1.0, 1.0),
        ((noul(0), noul(0), score(0, 1.0)), 0.0, 1.0),
        ((noul(0.5), noul(1.0), score(3, 1.0)), 0.75, 0.0),
        ((noul(1.0), noul(1.0), score(1.5, 0.25)), 0.875, 0.25),
    ],
)
async def test_extremes_and_doubt(answers: tuple[Any, Any, Any], value: float, confidence: float) -> None:
    first, second, third = answers
    answer = await ask(JevServer([answering(relevant=first, on_subject=second, level=third)]))
    assert answer.score == pytest.approx(value)
    assert answer.confidence == pytest.approx(confidence)


def spoilt(**changed: Any) -> Answering:
    good: dict[str, Any] = {"relevant": noul(0.9), "on_subject": noul(0.7), "level": score(2.4)}
    return answering(**{name: value for name, value in (good | changed).items() if value is not None})


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (spoilt(relevant=None), "broken"),
        (spoilt(level=None), "broken"),
        (spoilt(relevant=noul(1.4)), "broken"),
        (spoilt(relevant=noul(-0.2)), "broken"),
        (spoilt(relevant=noul("0.9")), "broken"),
        (spoilt(relevant=noul(True)), "broken"),
        (spoilt(relevant=noul(None)), "broken"),
        (spoilt(relevant=score(2.0)), "broken"),
        (spoilt(level=score(3.4)), "broken"),
        (spoilt(level=score(2.0, None)), "broken"),
        (spoilt(level=score(2.0, p0=7.0)), "broken"),
        (lambda _: CutAnswer(b'{"answers": {"relevant": {"type": "noul", "noul": NaN}}}', 56), "broken"),
        (lambda _: CutAnswer(b'{"answers": []}', 15), "broken"),
        (lambda _: CutAnswer(b"<html></html>", 13), "broken"),
        (lambda _: CutAnswer(b'{"answers": {"relev'), "unreachable"),
        (failing(400, {"detail": {"error_type": "max_tokens_exceeded", "message": "too long"}}), "refusal"),
        (failing(422, {"detail": [{"loc": ["body"], "msg": "bad", "type": "x"}]}), "refusal"),
        (failing(401), "configuration"),
        (failing(403), "configuration"),
        (failing(404), "configuration"),
        (failing(402), "quota"),
        (failing(429, retry_after="3"), "rate_limit"),
        (failing(500, {"detail": f"{KEY} broke it"}), "server"),
        (failing(503), "server"),
    ],
)
async def test_nobody_stands_in_for_jev(answer: Answering, kind: str) -> None:
    with pytest.raises(JudgeFailure) as raised:
        await ask(JevServer([answer]))
    assert raised.value.kind == kind
    assert KEY not in str(raised.value)
    assert raised.value.retry_after_s == (3.0 if kind == "rate_limit" else None)


async def test_a_server_that_never_answers_is_not_waited_for() -> None:
    with pytest.raises(JudgeFailure, match=r"within 0\.1 seconds") as raised:
        await ask(JevServer(silent=True), timeout_s=0.1)
    assert raised.value.kind == "timeout"


@pytest.mark.parametrize("key", [None, "another"])
async def test_a_missing_or_a_wrong_key_is_a_matter_of_configuration(key: str | None) -> None:
    server = JevServer()
    with pytest.raises(JudgeFailure) as raised:
        await ask(server, key=key)
    assert raised.value.kind == "configuration"
    assert server.bodies == []


async def test_nobody_at_the_address_is_told_as_such() -> None:
    judge = SystemOneJudge(Jev(KEY, base_url=unused_address()))
    with pytest.raises(JudgeFailure, match="cannot be reached") as raised:
        await judge.judge_conversation(lines(CALL))
    await judge.close()
    assert raised.value.kind == "unreachable"


async def test_of_a_conversation_beyond_the_limit_the_oldest_turns_are_left_out_and_told() -> None:
    words = [f"turn {index} " + "and so on " * 40 for index in range(400)]
    server = JevServer([GOOD])
    answer = await ask(server, words)
    assert answer.left_out > 0
    assert f"the first {answer.left_out} turns did not fit" in answer.reason
    sent = server.bodies[0]
    assert len(sent["state"]["turns"]) == 400 - answer.left_out
    assert sent["state"]["turns"][-1]["content"] == words[-1]
    longest = max(json.dumps(question) for question in sent["questions"].values())
    assert tokens_of(json.dumps(sent["state"])) + tokens_of(longest) <= MAX_TOKENS
    assert tokens_of(json.dumps(sent["state"])) > 0.9 * MAX_TOKENS


def test_one_turn_alone_is_always_shown() -> None:
    state = state_of(lines(["word " * 100_000]), CONVERSATION)
    assert len(state.turns) == 1
    assert tokens_of(state.turns[0]["content"]) < MAX_TOKENS / 2
