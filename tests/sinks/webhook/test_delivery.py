"""What a receiver gets: each alert, in order, under one id, signed, whatever becomes of single tries."""

from __future__ import annotations

import asyncio
import base64
import sqlite3
import time
from pathlib import Path

import pytest

from monitor.core.encode import encode
from monitor.sinks import SinkError
from monitor.sinks.webhook.signing import verify
from tests.runtime.stand_ins import notice
from tests.sinks.test_spool_disk import full_disk
from tests.sinks.webhook.alerts import cleared, raised, sending, sinks, started, until
from tests.sinks.webhook.receiver import Receiver, answer, half_close, hang, raw

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


async def test_an_alert_is_posted_as_its_line_and_signed(tmp_path: Path) -> None:
    async with Receiver() as receiver, sending(tmp_path, receiver.url, secret=SECRET) as sink:
        await sink.deliver(started())
        await sink.deliver(raised())
        await sink.deliver(notice(8))
        await sink.deliver(cleared())
        first, second = await receiver.has(2)
        await until(lambda: sink.figures()["delivered"] == 2)
        assert sink.figures() | {"tries": 2} == {
            "spooled": 0,
            "dropped": 0,
            "delivered": 2,
            "failed": 0,
            "tries": 2,
            "connected": 1,
        }
    assert first.line == "POST /hook HTTP/1.1"
    assert first.body == encode(raised())
    assert second.body == encode(cleared())
    assert (first.id, second.id) == ("call-1#7", "call-1#9")
    assert first.headers["content-type"] == "application/json"
    assert verify(SECRET, first.headers, first.body, time.time())
    assert not verify(SECRET, first.headers, first.body + b" ", time.time())
    assert receiver.connections == 1


async def test_the_types_that_are_sent_can_be_chosen(tmp_path: Path) -> None:
    async with Receiver() as receiver, sending(tmp_path, receiver.url, events=("call.started",)) as sink:
        await sink.deliver(started())
        await sink.deliver(raised())
        await sink.close()
        assert receiver.ids == ["call-1#0"]


@pytest.mark.parametrize(
    "failing",
    [
        answer(500),
        answer(503, retry_after="0"),
        answer(429, retry_after="soon"),
        answer(408),
        raw(b""),
        raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
        raw(b"HTTP/1.1 200"),
        raw(b"\x00" * 200_000),
        raw(b"HTTP/1.1 abc\r\n\r\n"),
        half_close,
        hang,
    ],
    ids=["500", "503", "429", "408", "hangs up", "no HTTP", "cut", "garbage", "no status", "half closed", "hangs"],
)
async def test_a_try_that_fails_is_made_again_with_the_same_id_and_body(tmp_path: Path, failing: object) -> None:
    async with Receiver(failing, failing) as receiver, sending(tmp_path, receiver.url, secret=SECRET) as sink:  # type: ignore[arg-type]
        await sink.deliver(raised(7))
        await sink.deliver(cleared(9))
        await receiver.has(4)
        await until(lambda: sink.figures()["delivered"] == 2)
        assert receiver.ids == ["call-1#7"] * 3 + ["call-1#9"]
        assert len({request.body for request in receiver.requests[:3]}) == 1
        assert all(verify(SECRET, one.headers, one.body, time.time()) for one in receiver.requests)


async def test_one_that_timed_out_after_it_was_taken_comes_again_with_its_id(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Receiver(hang) as receiver, sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised())
        await receiver.has(2)
        await until(lambda: sink.figures()["delivered"] == 1)
        assert receiver.ids == ["call-1#7", "call-1#7"]
    assert "it did not answer in time" in caplog.text
    assert "takes events again" in caplog.text


async def test_alerts_of_an_outage_arrive_in_order_once_it_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = await Receiver().start()
    await receiver.stop()
    async with sending(tmp_path, receiver.url, open_after_failures=3) as sink:
        for seq in range(60):
            await sink.deliver(raised(seq, call=f"call-{seq % 3}"))
        await until(lambda: not sink.figures()["connected"])
        assert sink.figures()["spooled"] == 60
        assert sink.figures()["tries"] < 50
        async with await receiver.start():
            await receiver.has(60)
            await until(lambda: sink.figures()["spooled"] == 0)
            assert receiver.ids == [f"call-{seq % 3}#{seq}" for seq in range(60)]
            assert sink.figures()["connected"] == 1
    assert caplog.text.count("nobody listens there") == 1
    assert caplog.text.count("counts as away") == 1
    assert caplog.text.count("takes events again") == 1


async def test_what_waits_at_the_end_is_sent_by_the_next_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    receiver = await Receiver().start()
    await receiver.stop()
    async with sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised(1))
        await sink.deliver(cleared(2))
    assert "2 waiting until turnwatch starts again" in caplog.text
    async with await receiver.start(), sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised(3))
        await receiver.has(3)
        await until(lambda: sink.figures()["delivered"] == 3)
        assert receiver.ids == ["call-1#1", "call-1#2", "call-1#3"]


async def test_the_end_makes_one_last_try_at_once(tmp_path: Path) -> None:
    async with Receiver(answer(500)) as receiver:
        async with sending(tmp_path, receiver.url, first_rest_s=60, longest_rest_s=60) as sink:
            await sink.deliver(raised())
            await receiver.has(1)
        assert receiver.ids == ["call-1#7"] * 2
        assert sink.figures()["delivered"] == 1


async def test_the_end_waits_for_no_receiver_that_hangs(tmp_path: Path) -> None:
    async with Receiver(always=hang) as receiver:
        ((_, sink),) = sinks(tmp_path, receiver.url, timeout_s=600)
        await sink.open()
        await sink.deliver(raised())
        await receiver.has(1)
        async with asyncio.timeout(3):
            await sink.close()


async def test_a_full_spool_drops_the_oldest_and_counts(tmp_path: Path) -> None:
    receiver = await Receiver().start()
    await receiver.stop()
    async with sending(tmp_path, receiver.url, spool_max_items=10) as sink:
        for seq in range(25):
            await sink.deliver(raised(seq))
        assert sink.figures()["dropped"] == 15
        async with await receiver.start():
            await receiver.has(10)
            await until(lambda: sink.figures()["spooled"] == 0)
            assert set(receiver.ids) >= {f"call-1#{seq}" for seq in range(16, 25)}


async def test_a_disk_that_refuses_costs_no_alert(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with full_disk(bytes_at_most=0):
        async with Receiver(answer(503)) as receiver, sending(tmp_path, receiver.url) as sink:
            await sink.deliver(raised(1))
            await sink.deliver(raised(2))
            await receiver.has(3)
            await until(lambda: sink.figures()["delivered"] == 2)
            assert receiver.ids == ["call-1#1", "call-1#1", "call-1#2"]
    assert "spool_dir" in caplog.text


def test_a_folder_that_cannot_be_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file where the folder should be")
    for folder in (tmp_path / "file", tmp_path / "file" / "within", Path("/proc/nowhere"), Path("/dev/null")):
        with pytest.raises(SinkError, match=rf"webhook\.spool_dir {folder} cannot be written to: "):
            sinks(tmp_path, "http://127.0.0.1:9/a", spool_dir=str(folder))


async def test_what_is_too_old_is_given_up_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    receiver = await Receiver().start()
    await receiver.stop()
    async with sending(tmp_path, receiver.url) as sink:
        await sink.deliver(raised(1))
        await sink.deliver(cleared(2))
    (path,) = (tmp_path / "spool").glob("*.spool")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE items SET put_at = put_at - 40 WHERE key = 'call-1#1'")
    connection.close()
    async with await receiver.start(), sending(tmp_path, receiver.url, keep_h=0.01) as sink:
        await until(lambda: sink.figures()["spooled"] == 0)
        assert receiver.ids == ["call-1#2"]
        assert sink.figures()["failed"] == 1
    assert "it took nothing for 0.01 hours" in caplog.text


async def test_two_programs_do_not_share_a_target(tmp_path: Path) -> None:
    ((_, first),) = sinks(tmp_path, "http://127.0.0.1:9/a")
    with pytest.raises(SinkError, match="another turnwatch"):
        sinks(tmp_path, "http://127.0.0.1:9/b", "http://127.0.0.1:9/a")
    ((_, other),) = sinks(tmp_path, "http://127.0.0.1:9/b")
    for sink in (first, other):
        await sink.close()
