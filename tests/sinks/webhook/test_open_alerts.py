"""The program is killed while alerts are open: nobody is left with an alarm that nothing would ever end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from monitor.core.encode import encode
from tests.runtime.stand_ins import notice
from tests.sinks.webhook.alerts import cleared, raised, sending, sinks, started, until
from tests.sinks.webhook.receiver import Receiver, answer
from tests.sinks.webhook.test_killed import run


def pagerduty(receiver: Receiver) -> str:
    return "pagerduty+http://0123456789abcdef@" + receiver.url.removeprefix("http://")


async def left_open(tmp_path: Path, url: str, *told: object) -> None:
    """A life that ends without a word: what it has told is delivered, and nothing is cleared."""
    async with sending(tmp_path, url) as sink:
        for event in told:
            await sink.deliver(event)  # type: ignore[arg-type]
        await until(lambda: sink.figures()["spooled"] == 0)


async def test_a_killed_program_leaves_no_alert_open(tmp_path: Path) -> None:
    async with Receiver() as receiver:
        await run(receiver.url, tmp_path / "spool", 5)
        async with sending(tmp_path, receiver.url) as sink:
            await until(lambda: sink.figures()["spooled"] == 0)
        lost = [request for request in receiver.requests if "#lost-" in request.id]
        assert [request.told["type"] for request in lost] == ["alert.lost"]
        assert receiver.requests[-1] == lost[0]
        told = lost[0].told
        assert (told["v"], told["call"], told["cause"]) == (1, "call-1", "monitor stopped")
        assert told["alert"]["id"] == "call-1/barge_in_spike/0"
        assert "seq" not in told


async def test_pagerduty_gets_its_resolve_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Receiver() as receiver:
        url = pagerduty(receiver)
        await left_open(tmp_path, url, started(), raised(1), raised(2, id="other"), cleared(3, id="other"))
        await left_open(tmp_path, url)
        resolve = receiver.requests[3].told
        assert (resolve["event_action"], resolve["dedup_key"]) == ("resolve", "call-1/barge_in_spike/0")
        assert resolve["routing_key"] == "0123456789abcdef"
        await left_open(tmp_path, url)
        assert len(receiver.requests) == 4
    assert caplog.text.count("1 alerts were open when the former run was stopped") == 1


async def test_people_are_told_that_nobody_knows(tmp_path: Path) -> None:
    async with Receiver() as receiver:
        await left_open(tmp_path, f"slack+{receiver.url}", started(), raised(1))
        await left_open(tmp_path, f"slack+{receiver.url}")
        text = receiver.requests[1].told["text"]
    assert "the monitor was stopped while this alert was open; how it stands is unknown" in text
    assert "barge_in_spike" in text
    assert "call-1" in text
    assert "agent agent-9" in text


async def test_an_alert_that_rose_is_ended_once_as_it_stood_last(tmp_path: Path) -> None:
    async with Receiver() as receiver:
        await left_open(tmp_path, receiver.url, raised(1, severity="warning"), raised(4, severity="critical"))
        await left_open(tmp_path, receiver.url)
        assert [request.told["type"] for request in receiver.requests] == ["alert.raised"] * 2 + ["alert.lost"]
        assert receiver.requests[2].told["alert"]["severity"] == "critical"


async def test_it_comes_behind_what_waits_and_before_what_is_new(tmp_path: Path) -> None:
    receiver = await Receiver().start()
    await receiver.stop()
    async with sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised(1))
    async with await receiver.start(), sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised(2))
        await receiver.has(3)
    assert [one.rpartition("#")[2].partition("-")[0] for one in receiver.ids] == ["1", "lost", "2"]
    assert receiver.requests[0].body == encode(raised(1))


async def test_a_call_that_has_ended_has_nothing_open(tmp_path: Path) -> None:
    from monitor.core.events import CallEnded

    ended = CallEnded(call="call-1", seq=9, at_ms=1, known_at_ms=1, cause="hangup", summary={})
    async with Receiver() as receiver:
        await left_open(tmp_path, receiver.url, raised(1), notice(2), ended)
        await left_open(tmp_path, receiver.url)
        assert receiver.ids == ["call-1#1"]


async def test_who_wants_no_clearing_gets_none(tmp_path: Path) -> None:
    async with Receiver() as receiver:
        for _ in range(2):
            async with sending(tmp_path, receiver.url, events=("alert.raised",)) as sink:
                await sink.deliver(raised(1))
                await until(lambda sink=sink: sink.figures()["spooled"] == 0)  # type: ignore[misc]
        assert receiver.ids == ["call-1#1"] * 2


async def test_what_is_lost_is_not_lost_with_a_target_that_is_away(tmp_path: Path) -> None:
    """Killed once more before it could be told."""
    async with Receiver(answer(200), always=answer(503)) as receiver:
        await left_open(tmp_path, receiver.url, raised(1))
        for _ in range(2):
            async with sending(tmp_path, receiver.url) as sink:
                await asyncio.sleep(0)
                assert sink.figures()["spooled"] == 1
        receiver.always = answer(200)
        await left_open(tmp_path, receiver.url)
        assert len(set(receiver.ids)) == 2


def test_a_record_in_use_costs_nobody_the_spool(tmp_path: Path) -> None:
    ((_, sink),) = sinks(tmp_path, "http://127.0.0.1:1/hook")
    sink.abandon()
    ((_, sink),) = sinks(tmp_path, "http://127.0.0.1:1/hook")
    sink.abandon()
