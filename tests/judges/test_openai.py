"""The judge behind OpenAI's chat API, through the real client and a real server on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeFailure
from monitor.judges.estimates import Prices
from monitor.judges.openai import OpenAIJudge, openai_judge
from tests.judges.chat_server import Answering, Body, ChatServer, all_yes, completion, error, saying, silence, verdicts
from tests.judges.conversations import batch
from tests.judges.loopback import CutAnswer, unused_address

KEY = "sk-secret-4711"


def judge_at(url: str, **more: Any) -> OpenAIJudge:
    return OpenAIJudge("m", base_url=url, api_key=KEY, **more)


async def failure(*script: Answering, **more: Any) -> JudgeFailure:
    """What comes of a batch that the server answers like this."""
    server = ChatServer(script)
    async with server.listening() as url:
        judge = judge_at(url, **more)
        with pytest.raises(JudgeFailure) as raised:
            await judge.judge(batch())
        await judge.close()
    assert KEY not in str(raised.value)
    return raised.value


async def test_a_batch_is_one_request_with_a_schema_and_each_turn_gets_its_verdict() -> None:
    server = ChatServer([lambda _: verdicts([(1, "yes"), (5, "no"), (3, "yes")], "speaks of something else")])
    async with server.listening() as url:
        judge = judge_at(url, prices=Prices(1.0, 10.0))
        answer = await judge.judge(batch())
        await judge.close()
    assert [(one.index, one.verdict) for one in answer.verdicts] == [(1, "yes"), (3, "yes"), (5, "no")]
    assert [one.reason for one in answer.verdicts] == [None, None, "speaks of something else"]
    assert (answer.requests, answer.input_tokens, answer.output_tokens) == (1, 700, 90)
    assert answer.cost_usd == pytest.approx((700 * 1.0 + 90 * 10.0) / 1e6)
    (body,) = server.bodies
    assert body["model"] == "m"
    assert body["response_format"]["json_schema"]["strict"] is True
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_without_prices_the_cost_is_unknown_and_without_usage_the_tokens_are_none() -> None:
    text = '{"verdicts": [{"index": 1, "verdict": "yes"}]}'
    server = ChatServer([lambda body: completion(text, usage=None)])
    async with server.listening() as url:
        judge = judge_at(url)
        answer = await judge.judge(batch())
        await judge.close()
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (0, 0, None)


def takes_only(formats: set[str | None], limits: set[str]) -> Answering:
    """A server that lacks some of what the API can do."""

    def answering(body: Body) -> Any:
        if body.get("response_format", {}).get("type") not in formats:
            return error(400, message="'response_format.type' must be one of another kind")(body)
        if unknown := {"max_tokens", "max_completion_tokens"} & body.keys() - limits:
            return error(400, message=f"Unsupported parameter: '{unknown.pop()}'")(body)
        return all_yes(body)

    return answering


@pytest.mark.parametrize(
    ("formats", "limits", "first"),
    [
        ({"json_schema"}, {"max_completion_tokens"}, 1),
        ({"json_object"}, {"max_completion_tokens"}, 2),
        ({None}, {"max_completion_tokens"}, 3),
        ({"json_schema"}, {"max_tokens"}, 2),
        ({None}, set(), 5),
    ],
)
async def test_what_a_server_lacks_is_found_out_once(formats: set[str | None], limits: set[str], first: int) -> None:
    server = ChatServer(otherwise=takes_only(formats, limits))
    async with server.listening() as url:
        judge = judge_at(url)
        answers = [await judge.judge(batch()) for _ in range(3)]
        await judge.close()
    assert all(one.verdict == "yes" for answer in answers for one in answer.verdicts)
    assert [answer.requests for answer in answers] == [first, 1, 1]
    assert len(server.bodies) == first + 2


async def test_a_server_that_takes_no_form_at_all_is_wrongly_configured() -> None:
    failed = await failure(*[error(400, message="no such thing as a chat here")] * 9)
    assert failed.kind == "configuration"
    assert failed.spent is not None
    assert failed.spent.requests == 3


async def test_a_server_that_took_the_form_before_refuses_the_request_and_not_its_form() -> None:
    server = ChatServer([all_yes, error(400, message="cannot be tokenized")])
    async with server.listening() as url:
        judge = judge_at(url)
        await judge.judge(batch())
        with pytest.raises(JudgeFailure, match="cannot be tokenized") as raised:
            await judge.judge(batch())
        await judge.close()
    assert raised.value.kind == "refusal"
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("answering", "kind"),
    [
        (saying(None, refusal="I will not judge people"), "refusal"),
        (saying("", finish="content_filter"), "refusal"),
        (error(400, "content_filter"), "refusal"),
        (error(400, "context_length_exceeded"), "refusal"),
        (saying('{"verdicts": [{"index": 1, "verdict": "yes"}', finish="length"), "broken"),
        (saying('{"verdicts": [{"index": 1, "verdict": "yes"}]}', finish="length"), "broken"),
        (saying(""), "broken"),
        (saying(None), "broken"),
        (lambda _: CutAnswer(b'{"choices": [{"message": '), "unreachable"),
        (lambda _: CutAnswer(b"<html>hello</html>", 18), "broken"),
        (lambda _: CutAnswer(b'{"choices": []}', 15), "broken"),
        (lambda _: CutAnswer(b"x" * 1_200_000, 1_200_000), "broken"),
        (lambda _: CutAnswer(b'{"error": {"code": 503, "message": "busy"}}', 43), "server"),
        (error(401, message=f"Incorrect API key provided: {KEY}"), "configuration"),
        (error(403), "configuration"),
        (error(404), "configuration"),
        (error(404, "model_not_found"), "configuration"),
        (error(429, "insufficient_quota"), "quota"),
        (error(429, message="You exceeded your current quota, please check your plan"), "quota"),
        (error(402), "quota"),
        (error(429, "rate_limit_exceeded"), "rate_limit"),
        (error(500), "server"),
        (error(500, message=f"the key {KEY} broke it"), "server"),
        (error(529), "server"),
        (error(504), "timeout"),
    ],
)
async def test_each_failure_is_told_apart(answering: Answering, kind: str) -> None:
    assert (await failure(answering)).kind == kind


async def test_a_server_that_never_answers_is_not_waited_for() -> None:
    failed = await failure(silence, timeout_s=0.1)
    assert failed.kind == "timeout"
    assert "0.1 seconds" in str(failed)


async def test_nobody_at_the_address_is_told_as_such() -> None:
    judge = judge_at(f"{unused_address()}/v1")
    with pytest.raises(JudgeFailure, match="cannot be reached") as raised:
        await judge.judge(batch())
    await judge.close()
    assert raised.value.kind == "unreachable"


async def test_a_password_in_an_address_from_the_environment_is_not_told() -> None:
    address = unused_address().replace("http://", "http://me:hunter2@")
    judge = openai_judge(RelevancySettings(), {"OPENAI_BASE_URL": f"{address}/v1?key=hunter2"})
    with pytest.raises(JudgeFailure) as raised:
        await judge.judge(batch())
    await judge.close()
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry_after": "2"}, 2, 2),
        ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5, 1.5),
        ({"retry_after": format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)}, 3600, 7200),
        ({"retry_after": format_datetime(datetime.now(UTC) - timedelta(seconds=60), usegmt=True)}, 0, 0),
    ],
)
async def test_the_wish_of_a_server_is_read_in_every_form(headers: dict[str, str], least: float, most: float) -> None:
    wish = (await failure(error(429, "rate_limit_exceeded", **headers))).retry_after_s
    assert wish is not None
    assert least <= wish <= most


@pytest.mark.parametrize("wish", ["soon", "-1", "nan", "", "inf"])
async def test_a_wish_without_sense_is_none(wish: str) -> None:
    assert (await failure(error(429, "rate_limit_exceeded", retry_after=wish))).retry_after_s is None


async def test_reasons_are_asked_for_turns_that_are_known_to_be_off() -> None:
    content = json.dumps({"reasons": [{"index": 3, "reason": "asks for the weather"}, {"index": 9, "reason": "?"}]})
    server = ChatServer([saying(content)])
    async with server.listening() as url:
        judge = judge_at(url)
        reasons, spent = await judge.explain(batch(asked=[3, 5]))
        await judge.close()
    assert reasons == {3: "asks for the weather"}
    assert spent.verdicts == ()
    assert "why" not in server.bodies[0]["messages"][1]["content"]


def test_without_a_key_and_a_server_of_ones_own_it_says_what_to_set() -> None:
    import asyncio

    with pytest.raises(JudgeFailure, match="OPENAI_API_KEY") as raised:
        asyncio.run(openai_judge(RelevancySettings(), {}).judge(batch()))
    assert raised.value.kind == "configuration"


def test_without_the_package_it_says_what_to_install() -> None:
    program = """
import asyncio, sys
sys.modules["openai"] = None
from monitor.judges import JudgeFailure
from monitor.judges.openai import OpenAIJudge
from tests.judges.conversations import batch
try:
    asyncio.run(OpenAIJudge(api_key="k").judge(batch()))
except JudgeFailure as failure:
    print(failure.kind, failure)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("configuration")
    assert "pip install 'turnwatch[judge]'" in ran.stdout


def test_the_client_is_loaded_for_those_who_ask_only() -> None:
    program = "import sys, monitor.judges.jev, monitor.runtime.asking; print('openai' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
