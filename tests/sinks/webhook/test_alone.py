"""A receiver that hangs, refuses or is away costs no call and no other sink anything."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from monitor.runtime.delivery import Delivery
from tests.sinks.webhook.alerts import raised, sinks, until
from tests.sinks.webhook.receiver import Receiver, hang

ROOT = Path(__file__).parents[3]


async def test_a_target_that_hangs_costs_the_others_nothing(tmp_path: Path) -> None:
    delivery = Delivery()
    async with Receiver(always=hang) as stuck, Receiver() as well:
        for name, sink in sinks(tmp_path, stuck.url, well.url, timeout_s=600):
            delivery.add(name, sink, own_thread=True)
        loop = asyncio.get_running_loop()
        slowest = 0.0
        for seq in range(100):
            before = loop.time()
            await delivery.deliver(raised(seq))
            slowest = max(slowest, loop.time() - before)
            await asyncio.sleep(0)
        await well.has(100)
        figures = delivery.figures()
        first, second = (figures[f"webhook:127.0.0.1:{one.port}"] for one in (stuck, well))
        await until(lambda: delivery.figures()[f"webhook:127.0.0.1:{stuck.port}"]["spooled"] == 100)
        assert len(stuck.requests) == 1
        assert (first["delivered"], first["overflowed"], second["overflowed"]) == (0, 0, 0)
        assert await delivery.close()
    assert slowest < 1.0
    assert not delivery.failures


LOOKS_UP = """
import os, socket, sys, threading

def hang(*_, **__):
    os.write(1, b"looks up\\n")  # from two threads: each line whole
    threading.Event().wait()

socket.getaddrinfo = hang
import asyncio
import sys
from monitor.runtime.delivery import Delivery
from monitor.sinks.webhook.settings import WebhookSettings
from monitor.sinks.webhook.sink import make
from tests.sinks.webhook.alerts import raised

async def main():
    delivery = Delivery()
    settings = WebhookSettings(urls=("https://nowhere.example/a",), spool_dir=sys.argv[1], timeout_s=0.05)
    for name, sink in make(settings):
        delivery.add(name, sink, own_thread=True)
    await delivery.deliver(raised())
    print(await delivery.close(within_s=3.0), flush=True)

asyncio.run(main())
"""


async def test_a_lookup_that_hangs_does_not_hold_up_the_end_of_the_program(tmp_path: Path) -> None:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LOOKS_UP, str(tmp_path / "spool")), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(20):
        told, _ = await program.communicate()
    assert program.returncode == 0
    assert told.splitlines()[0] == b"looks up"
    assert told.splitlines()[-1] == b"True"
