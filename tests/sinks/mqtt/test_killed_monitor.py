"""A monitor that is killed in the middle: the next of its name delivers the rest, and nothing stays open for ever."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tests.brokers import Broker
from tests.sinks.mqtt.listening import (
    Listener,
    ended,
    figure,
    listening,
    notice,
    publishing,
    raised,
    seqs,
    settings,
)

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import asyncio, sys
from tests.sinks.mqtt.listening import notice, publishing, raised
from monitor.sinks.mqtt.settings import MqttSettings

async def main(url, folder, since, until):
    made = MqttSettings(url=url, spool_dir=folder, monitor="m1", retry_max_s=0.2, answer_within_s=1.0)
    async with publishing(made) as sink:
        for seq in range(int(since), int(until)):
            await sink.deliver(raised(seq, f"call/rule/{seq}") if seq % 2 else notice(seq))
            print(seq, flush=True)
        await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def monitor(broker: Broker, folder: Path, since: int, until: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """A monitor as a program of its own, killed at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, broker.url, str(folder), str(since), str(until)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def taken(process: asyncio.subprocess.Process, seq: int) -> None:
    """Wait until the monitor's sink has taken event number `seq`."""
    assert process.stdout is not None
    async with asyncio.timeout(20):
        async for line in process.stdout:
            if int(line) == seq:
                return


def first_ones(listener: Listener) -> dict[str, int]:
    heard = listener.of("/alert.raised")
    return {one.user["event-id"]: seq for one, seq in reversed(list(zip(heard, seqs(heard), strict=True)))}


async def test_what_a_killed_monitor_had_taken_is_delivered_by_the_next(broker: Broker, tmp_path: Path) -> None:
    async with listening(broker.port) as listener:
        async with monitor(broker, tmp_path, 0, 1_000_000) as process:
            await listener.count("/alert.raised", 30)  # in the middle of it
        assert process.stdout is not None
        told = [int(line) for line in (await process.stdout.read()).splitlines()[:-1]]
        last = max(seq for seq in told if seq % 2)
        async with publishing(settings(broker, tmp_path)) as sink:
            await figure(sink, "spooled", 0)
            await sink.deliver(ended(last + 10))
            await listener.count("/call.ended", 1)
        found = sorted(first_ones(listener).values())
        assert found[: found.index(last) + 1] == list(range(1, last + 1, 2))
        heard = listener.of("/alert.raised")
        assert all(one.user["event-id"] == f"call#{seq}" for one, seq in zip(heard, seqs(heard), strict=True))


async def test_alerts_taken_while_the_broker_was_away_outlive_the_monitor(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")
    async with monitor(broker, tmp_path, 0, 100) as process:
        await taken(process, 99)
    broker.start()
    try:
        async with listening(broker.port) as listener, publishing(settings(broker, tmp_path)) as sink:
            await figure(sink, "delivered", 50)
            heard = await listener.count("/alert.raised", 50)
            assert seqs(heard) == list(range(1, 100, 2))
    finally:
        broker.kill()


async def test_the_last_will_says_offline_and_the_next_monitor_closes_what_was_left_open(
    broker: Broker, tmp_path: Path
) -> None:
    async with listening(broker.port) as listener:
        async with monitor(broker, tmp_path, 0, 4) as process:
            await taken(process, 3)
            await listener.count("/alerts/", 2)
        heard = await listener.count("/monitors/m1", 2)
        assert msgspec.json.decode(heard[-1].payload) == {
            "v": 1,
            "site": "local",
            "monitor": "m1",
            "state": "offline",
            "cause": "lost",
        }
        async with listening(broker.port) as late:
            await late.count("/alerts/", 2)  # nobody has cleared them yet
        async with publishing(settings(broker, tmp_path)) as sink:
            await listener.until(lambda _: [one.payload for one in listener.of("/alerts/")[2:]] == [b"", b""])
            await figure(sink, "spooled", 0)
            async with listening(broker.port) as late:
                await late.count("/monitors/m1", 1)
                await sink.deliver(notice(9))
                await late.count("/notice", 1)
                assert late.of("/alerts/") == []
                assert late.of("/alert.raised") == []


async def test_what_nobody_closes_expires(broker: Broker, tmp_path: Path) -> None:
    async with publishing(settings(broker, tmp_path, state_expiry_s=2)) as sink:
        await sink.deliver(raised(1))
        await figure(sink, "delivered", 1)
        async with listening(broker.port) as listener:
            await listener.count("/alerts/", 1)
        assert sink._task is not None
        sink._task.cancel()  # it is there no more, and says nothing
        await asyncio.gather(sink._task, return_exceptions=True)

        async def forgotten() -> None:
            while True:
                async with (
                    listening(broker.port) as late,
                    publishing(settings(broker, tmp_path / "2", monitor="m2")) as other,
                ):
                    await other.deliver(notice(1))
                    await late.count("/notice", 1)
                    if not late.of("/alerts/"):
                        return

        async with asyncio.timeout(10):
            await forgotten()
