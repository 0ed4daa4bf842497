"""Answers that will not get better, answers that ask for patience, answers that are a nuisance."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from monitor.sinks.webhook.answers import answer as weighed
from monitor.sinks.webhook.answers import retry_after_s
from monitor.sinks.webhook.circuit import Circuit
from tests.sinks.webhook.alerts import cleared, raised, sending, until
from tests.sinks.webhook.receiver import (
    Behaviour,
    Receiver,
    answer,
    endless_body,
    endless_headers,
    slow_body,
)

_SECOND = timedelta(seconds=1)
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [400, 409, 413, 415, 422])
async def test_an_event_that_is_at_fault_is_given_up_after_a_few_tries_and_costs_the_others_nothing(
    tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    refusing = [answer(status, b"no")] * 3
    async with Receiver(*refusing, answer(200), *refusing) as receiver, sending(tmp_path, receiver.url) as sink:
        for seq in range(4):
            await sink.deliver(raised(seq))
        await until(lambda: sink.figures()["spooled"] == 0)
        assert receiver.ids == [f"call-1#{seq}" for seq in (0, 0, 0, 1, 2, 2, 2, 3)]
        figures = sink.figures()
        assert (figures["failed"], figures["delivered"], figures["connected"]) == (2, 2, 1)
    told = [record.message for record in caplog.records]
    assert len(told) == 2  # the same again, within ten minutes, is not told again
    assert str(status) in told[0]
    assert "1 were given up" in told[1]


async def test_an_event_that_is_taken_at_the_second_try_is_not_given_up(tmp_path: Path) -> None:
    async with Receiver(answer(400), answer(400)) as receiver, sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised())
        await until(lambda: sink.figures()["delivered"] == 1)
        assert (len(receiver.requests), sink.figures()["failed"]) == (3, 0)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405, 406, 410, 418, 451, 300, 302, 304, 308])
async def test_what_people_can_put_right_is_kept_and_told_once(
    tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A deployment that takes the receiver away for a minute, or a key that was changed, costs no alert."""
    refusing = answer(status, b"" if status == 304 else b"no")
    quick = {"refused_rest_s": 0.01, "refused_longest_rest_s": 0.02}
    async with Receiver(*[refusing] * 5) as receiver, sending(tmp_path, receiver.url, **quick) as sink:
        for seq in range(3):
            await sink.deliver(raised(seq))
        await receiver.has(3)
        assert sink.figures()["connected"] == 0
        await until(lambda: sink.figures()["delivered"] == 3)
        assert receiver.ids == ["call-1#0"] * 6 + ["call-1#1", "call-1#2"]
        assert (sink.figures()["failed"], sink.figures()["connected"]) == (0, 1)
    told = [record.message for record in caplog.records]
    assert len(told) == 2
    assert str(status) in told[0]
    assert "webhook.keep_h" in told[0]
    assert "takes events again" in told[1]


async def test_a_target_that_refuses_is_left_alone_for_long_and_the_event_outlives_the_program(tmp_path: Path) -> None:
    async with Receiver(answer(404)) as receiver:
        async with sending(tmp_path, receiver.url) as sink:
            await sink.deliver(raised(1))
            await receiver.has(1)
            await until(lambda: sink.figures()["connected"] == 0)
            await sink.deliver(cleared(2))
        assert len(receiver.requests) == 1  # neither the next event nor the end hurries it
        async with sending(tmp_path, receiver.url):
            await receiver.has(3)
        assert receiver.ids == ["call-1#1", "call-1#1", "call-1#2"]


def test_the_pauses_after_a_refusal_grow_to_a_bound() -> None:
    circuit = Circuit(
        open_after=5,
        first_rest_s=0.5,
        longest_rest_s=30,
        refused_rest_s=30,
        refused_longest_rest_s=600,
        spread=lambda: 0.0,
    )
    assert [circuit.refused() for _ in range(6)] == [30, 60, 120, 240, 480, 600]
    assert circuit.state == "open"
    circuit.answered()
    assert (circuit.failed(), circuit.refused()) == (0.5, 30)


async def test_what_is_refused_for_too_long_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old = {"keep_h": 0.01, "refused_rest_s": 0.01, "refused_longest_rest_s": 0.01}
    async with Receiver(always=answer(410)) as receiver, sending(tmp_path, receiver.url, **old) as sink:
        sink._too_old = lambda item: len(receiver.requests) >= 2  # type: ignore[method-assign]
        await sink.deliver(raised())
        await until(lambda: sink.figures()["failed"] == 1)
    assert "webhook.keep_h" in caplog.text


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nobody_follows_a_redirect(tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture) -> None:
    async with Receiver() as elsewhere:
        moved = answer(status, location=f"{elsewhere.url}/secret-path-of-the-other")
        async with Receiver(always=moved) as receiver, sending(tmp_path, receiver.url) as sink:
            await sink.deliver(raised())
            await until(lambda: "it redirects" in caplog.text)
        assert not elsewhere.requests
        assert sink.figures()["spooled"] == 1
    assert "it redirects to http://127.0.0.1" in caplog.text
    assert "secret-path" not in caplog.text


def test_a_key_that_pagerduty_does_not_know_is_no_fault_of_the_event() -> None:
    said = '{"status":"invalid event","message":"Event object is invalid","errors":["Invalid routing key"]}'
    assert weighed(400, {}, said, NOW).outcome == "refused"
    assert weighed(400, {}, "Length of 'summary' is incorrect", NOW).outcome == "unfit"


@pytest.mark.parametrize("behaviour", [endless_body, slow_body], ids=["endless", "slow"])
async def test_a_taken_event_is_taken_whatever_its_body_does(tmp_path: Path, behaviour: Behaviour) -> None:
    async with Receiver(behaviour) as receiver, sending(tmp_path, receiver.url, timeout_s=5) as sink:
        await sink.deliver(raised(1))
        await sink.deliver(raised(2))
        await receiver.has(2)
        await until(lambda: sink.figures()["delivered"] == 2)
        assert receiver.ids == ["call-1#1", "call-1#2"]


async def test_endless_headers_are_a_failure_like_others(tmp_path: Path) -> None:
    async with Receiver(endless_headers) as receiver, sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised())
        await until(lambda: sink.figures()["delivered"] == 1)
        assert receiver.ids == ["call-1#7"] * 2


async def test_cookies_are_not_kept(tmp_path: Path) -> None:
    async with Receiver(answer(200, set_cookie="a=b")) as receiver, sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised(1))
        await sink.deliver(raised(2))
        assert "cookie" not in (await receiver.has(2))[1].headers


@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "date"])
async def test_a_wish_for_a_pause_is_respected(tmp_path: Path, as_date: bool) -> None:
    until_when: list[datetime] = []

    async def busy(writer: asyncio.StreamWriter) -> None:
        now = datetime.now(UTC)
        until_when.append((now + timedelta(seconds=1.5)).replace(microsecond=0) if as_date else now + _SECOND)
        wish = format_datetime(until_when[0], usegmt=True) if as_date else "1"
        await answer(429, retry_after=wish)(writer)

    async with Receiver(busy) as receiver, sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised())
        await receiver.has(2)
        assert datetime.now(UTC) >= until_when[0]
        await until(lambda: sink.figures()["delivered"] == 1)


async def test_a_wish_for_a_pause_is_bounded(tmp_path: Path) -> None:
    busy = answer(503, retry_after="999999999999999999999")
    async with Receiver(busy) as receiver, sending(tmp_path, receiver.url, retry_after_max_s=0.05) as sink:
        await sink.deliver(raised())
        await receiver.has(2)


async def test_the_end_does_not_break_into_a_pause_that_was_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Receiver(answer(429, retry_after="500")) as receiver:
        async with sending(tmp_path, receiver.url) as sink:
            await sink.deliver(raised())
            await receiver.has(1)
            await until(lambda: "it answers 429" in caplog.text)
        assert len(receiver.requests) == 1
        assert sink.figures()["spooled"] == 1


async def test_flapping_does_not_fill_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    flapping = [one for _ in range(40) for one in (answer(500), answer(200))]
    async with Receiver(*flapping) as receiver, sending(tmp_path, receiver.url) as sink:
        for seq in range(40):
            await sink.deliver(raised(seq))
        await until(lambda: sink.figures()["delivered"] == 40)
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("wish", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("9" * 30, 999_999_999.0),
        ("Fri, 01 May 2026 12:01:00 GMT", 60.0),
        ("Fri, 01 May 2026 11:00:00 GMT", 0.0),
        ("Friday, 01-May-26 12:01:00 GMT", 60.0),
        ("Fri May  1 12:01:00 2026", 60.0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("Fri, 99 May 2026 12:01:00 GMT", None),
    ],
)
def test_retry_after_is_read_as_http_has_it(wish: str, seconds: float | None) -> None:
    assert retry_after_s(wish, NOW) == seconds


def test_a_redirect_to_nonsense_is_told_without_it() -> None:
    told = weighed(302, {"location": "http://[::bad\x1b[2J"}, "", NOW)
    assert told.outcome == "refused"
    assert "\x1b" not in told.reason
