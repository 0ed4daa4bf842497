"""Answers that will not get better, answers that ask for patience, answers that are a nuisance."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from monitor.sinks.webhook.answers import answer as weighed
from monitor.sinks.webhook.answers import retry_after_s
from tests.sinks.webhook.alerts import raised, sending, until
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


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 413, 422, 300, 304, 418])
async def test_what_cannot_get_better_is_given_up_and_told_once(
    tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    refusing = answer(status, b"" if status == 304 else b"no")
    async with Receiver(refusing, refusing, refusing) as receiver, sending(tmp_path, receiver.url) as sink:
        for seq in range(4):
            await sink.deliver(raised(seq))
        await until(lambda: sink.figures()["spooled"] == 0)
        assert receiver.ids == [f"call-1#{seq}" for seq in range(4)]
        figures = sink.figures()
        assert (figures["failed"], figures["delivered"], figures["connected"]) == (3, 1, 1)
    told = [record.message for record in caplog.records]
    assert len(told) == 2
    assert str(status) in told[0]
    assert "3 were given up" in told[1]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nobody_follows_a_redirect(tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture) -> None:
    async with Receiver() as elsewhere:
        moved = answer(status, location=f"{elsewhere.url}/secret-path-of-the-other")
        async with Receiver(always=moved) as receiver, sending(tmp_path, receiver.url) as sink:
            await sink.deliver(raised())
            await until(lambda: sink.figures()["failed"] == 1)
        assert not elsewhere.requests
    assert "it redirects to http://127.0.0.1" in caplog.text
    assert "secret-path" not in caplog.text


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
    assert told.outcome == "never"
    assert "\x1b" not in told.reason
