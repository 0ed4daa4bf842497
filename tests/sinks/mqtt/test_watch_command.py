"""The whole program with --mqtt: what it prints is what the broker gets."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.brokers import Broker
from tests.sinks.mqtt.listening import listening

ROOT = Path(__file__).resolve().parents[3]
CALL = ROOT.parent / "shared" / "data" / "calls" / "01_clean_mulaw.flac"


async def watch(folder: Path, url: str) -> tuple[int | None, list[bytes], str]:
    """-> exit code, lines on standard output, text on standard error."""
    more = ("--speed", "max", "--json", "--mqtt", url, "--set", f"mqtt.spool_dir={folder}", "--set", "mqtt.monitor=m1")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "monitor", "watch", f"wav:{CALL}", *more),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    told, errors = await process.communicate()
    return process.returncode, told.splitlines(), errors.decode()


async def test_the_broker_gets_every_line_of_a_call(broker: Broker, tmp_path: Path) -> None:
    async with listening(broker.port) as listener:
        code, lines, errors = await watch(tmp_path, broker.url)
        await listener.count("/call.ended", 1)
        await listener.until(lambda _: len(listener.of("/calls/")) >= len(lines))
    assert (code, errors) == (0, "")
    assert sorted(one.payload for one in listener.of("/calls/")) == sorted(lines)


async def test_a_broker_that_is_away_gets_the_ends_of_the_call_the_next_time(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")
    code, _, errors = await watch(tmp_path, broker.url)
    assert code == 0
    assert "nobody listens on port" in errors
    assert "2 events wait in the spool" in errors
    broker.start()
    try:
        async with listening(broker.port) as listener:
            code, lines, errors = await watch(tmp_path, broker.url)
            assert (code, errors) == (0, "")
            await listener.until(lambda _: {one.payload for one in listener.of("/calls/")} >= set(lines))
    finally:
        broker.kill()


async def test_an_address_that_cannot_be_is_an_error_of_the_command_line(tmp_path: Path) -> None:
    code, lines, errors = await watch(tmp_path, "http://user:secret@broker")
    assert (code, lines) == (2, [])
    assert "begins with http://" in errors
    assert "secret" not in errors
