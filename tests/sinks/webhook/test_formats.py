"""What Slack and PagerDuty are told, and that words from a call can do nothing there."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.sinks.webhook.formats import FORMATS
from monitor.sinks.webhook.formats.pagerduty import dedup_key
from monitor.sinks.webhook.formats.shape import About, CallsKnown
from tests.sinks.webhook.alerts import cleared, raised, sending, started, until
from tests.sinks.webhook.receiver import Receiver, answer

KEY = "0123456789abcdef0123456789abcdef"
SLACK, PAGERDUTY = FORMATS["slack"], FORMATS["pagerduty"]
ABOUT = CallsKnown().follow(started())


def slack(event: Any, about: About = ABOUT) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(SLACK.body(event, about))
    return told


def pagerduty(event: Any, about: About = ABOUT) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(PAGERDUTY.sent(PAGERDUTY.body(event, about), KEY))
    return told


def test_slack_is_told_in_three_lines() -> None:
    told = slack(raised(suppressed=2))
    assert told["text"].split("\n") == [
        "🔴 critical: barge_in_spike",
        "4 barge-ins in 60 s (measured 4, threshold 3)",
        "call call-1 · agent agent-9 · since 1:01 · turns 3, 5 · 2 more while it was quiet",
    ]
    assert told["mrkdwn"] is False
    over = slack(cleared(value=None, because=tuple(range(20))), About())["text"].split("\n")
    assert over[0] == "✅ over: barge_in_spike"
    assert over[2] == "call call-1 · from 1:01 to 1:30 · turns 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …"


@pytest.mark.parametrize(
    "words", ["<!channel>", "<!here|x>", "<@U123>", "@channel", "@here @all", "<http://evil|click>", "a & b"]
)
def test_words_ping_nobody_in_slack_and_link_to_nothing(words: str) -> None:
    about = ABOUT._replace(agent_id=words)
    text = slack(raised(call=words, message=words, rule=words), about)["text"]
    assert "<" not in text
    assert ">" not in text
    assert "@channel" not in text
    assert "@here" not in text
    assert text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").count("&") == 0


@given(words=st.text(max_size=3000))
def test_any_words_make_a_message_of_three_bounded_lines(words: str) -> None:
    about = About(words, words, words, ((words, words),))
    event = raised(call=words, message=words, rule=words)
    text = slack(event, about)["text"]
    assert text.count("\n") == 2
    assert len(text) < 6000
    acting = {one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert acting <= set("\n\u200b\u200c\u200d")
    told = pagerduty(event, about)
    assert len(told["payload"]["summary"]) <= 1024
    assert len(json.dumps(told)) < 100_000


def test_pagerduty_opens_an_incident_under_the_alerts_id() -> None:
    told = pagerduty(raised())
    payload = told.pop("payload")
    details = payload.pop("custom_details")
    assert told == {
        "routing_key": KEY,
        "event_action": "trigger",
        "dedup_key": "call-1/barge_in_spike/0",
        "client": "turnwatch",
    }
    assert payload == {
        "summary": "barge_in_spike: 4 barge-ins in 60 s (call call-1, agent agent-9)",
        "severity": "critical",
        "source": "agent-9",
        "component": "twilio",
        "class": "barge_in_spike",
        "group": "call",
        "timestamp": "2026-05-01T10:01:01.500+00:00",
    }
    assert details["labels"] == {"team": "billing"}
    assert (details["value"], details["threshold"], details["because_turns"]) == (4.0, 3.0, [3, 5])


def test_pagerduty_resolves_it_and_that_takes_no_more_than_its_key() -> None:
    assert pagerduty(cleared()) == {
        "routing_key": KEY,
        "event_action": "resolve",
        "dedup_key": "call-1/barge_in_spike/0",
    }


@pytest.mark.parametrize(
    ("ours", "theirs"), [("info", "info"), ("warning", "warning"), ("critical", "critical"), ("new", "error")]
)
def test_severities_are_those_of_pagerduty(ours: str, theirs: str) -> None:
    assert pagerduty(raised(severity=ours))["payload"]["severity"] == theirs


@pytest.mark.parametrize("started_at", [None, "", "yesterday", "2026-05-01T10:00:00", "9999-12-31T23:59:59Z"])
def test_a_start_that_is_not_known_makes_no_timestamp(started_at: str | None) -> None:
    told = pagerduty(raised(), About(started_at=started_at))
    assert "timestamp" not in told["payload"]
    assert told["payload"]["source"] == "call-1"


def test_a_long_id_makes_a_key_that_pagerduty_takes_and_no_other_has() -> None:
    one, other = "x" * 400 + "/a/0", "x" * 400 + "/a/1"
    assert len(dedup_key(one)) == 255
    assert dedup_key(one) != dedup_key(other)
    assert dedup_key("call/rule/0") == "call/rule/0"


async def test_the_routing_key_is_sent_and_stands_in_no_file(tmp_path: Path) -> None:
    async with Receiver(answer(503), always=answer(202, b'{"status":"success"}')) as receiver:
        url = "pagerduty+" + receiver.url.replace("http://", f"http://{KEY}@")
        async with sending(tmp_path, url, secret="whsec_MDEyMzQ1Njc4OWFiY2RlZg==", first_rest_s=0.2) as sink:
            await sink.deliver(started())
            await sink.deliver(raised())
            await sink.deliver(cleared())
            await receiver.has(1)
            files = b"".join(file.read_bytes() for file in (tmp_path / "spool").iterdir())
            await until(lambda: sink.figures()["delivered"] == 2)
    assert b"dedup_key" in files
    assert KEY.encode() not in files
    assert [one.told["event_action"] for one in receiver.requests] == ["trigger", "trigger", "resolve"]
    assert {one.told["routing_key"] for one in receiver.requests} == {KEY}
    assert all("webhook-signature" not in one.headers for one in receiver.requests)
    assert all("authorization" not in one.headers for one in receiver.requests)


async def test_a_slack_url_gets_the_message(tmp_path: Path) -> None:
    async with Receiver() as receiver, sending(tmp_path, f"slack+{receiver.url}") as sink:
        await sink.deliver(raised())
        (request,) = await receiver.has(1)
        assert request.line.startswith("POST /hook ")
        assert request.told["text"].startswith("🔴 critical: barge_in_spike")
        assert request.id == "call-1#7"


def test_what_is_known_of_calls_is_bounded_and_forgotten_at_their_end() -> None:
    calls = CallsKnown(limit=3)
    for number in range(9):
        calls.follow(started(f"call-{number}", labels={str(n): "v" * 500 for n in range(50)}))
    assert len(calls) == 3
    known = calls.follow(raised(call="call-8"))
    assert (len(known.labels), len(known.labels[0][1])) == (10, 100)
    assert calls.follow(raised(call="call-0")) == About()
