"""A long call with a sink that hangs: nothing that is kept grows with the call."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator

from connectors.inputs import Audio, CallEnded, CallStarted, Input, TrackFormat
from connectors.simulator.rehearsal import rehearse
from connectors.simulator.scenario_demo import DEMO
from monitor.runtime import outlet as room
from monitor.runtime.delivery import Delivery
from monitor.runtime.watch import watch
from tests.runtime.stand_ins import Collector, Held

MINUTES = 30


def resident_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


class Repeated:
    """The demo call over and over, as one call."""

    live = False
    length_ms = None

    async def inputs(self) -> AsyncIterator[Input]:
        call = rehearse(DEMO)
        sides = {"caller": call.caller.tobytes(), "agent": call.agent.tobytes()}
        length = len(sides["caller"]) // 16000 * 1000
        yield CallStarted("long", "test", tracks={"caller": TrackFormat(), "agent": TrackFormat()})
        for at in range(0, MINUTES * 60_000, 1000):
            place = at % length * 16
            for track in ("caller", "agent"):
                yield Audio(track, at, sides[track][place : place + 16000])  # type: ignore[arg-type]
        yield CallEnded(MINUTES * 60_000, "hangup")


async def test_memory_does_not_grow_with_the_call() -> None:
    delivery, hanging, good = Delivery(), Held(), Collector()
    delivery.add("hanging", hanging)
    delivery.add("good", good, patient=True)
    after: list[float] = []
    async for event in watch(Repeated(), speed=None):
        await delivery.deliver(event)
        if event.known_at_ms // 60_000 >= 7 * (len(after) + 1):
            gc.collect()
            after.append(resident_mib())
    delivery.hurry()
    await delivery.close(within_s=0.05)
    assert len(good.seen) > 1000
    assert delivery.dropped["hanging"] >= len(good.seen) - room.MAX_WAITING - 1
    assert max(after) - after[0] < 8
