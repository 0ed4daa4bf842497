"""Hours of a call cost what minutes do (B51): nothing whole is kept, and every queue has its bound."""

from __future__ import annotations

import gc
import resource
from collections.abc import AsyncIterator
from pathlib import Path

from connectors.elevenlabs.beginning import Opened
from connectors.elevenlabs.listening import Listener
from connectors.inputs import TRACKS, Audio, CallEnded, Input
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import CallEnded as Ended
from monitor.detectors import new_detector
from monitor.runtime.delivery import Delivery
from monitor.runtime.watch import watch
from tests.builders import sound, speech, started
from tests.connectors.elevenlabs.stage import agent_audio, caller_audio, interruption, metadata
from tests.pipeline.conversations import on_the_wire
from tests.pipeline.phone_calls import Carried, Line
from tests.runtime.stand_ins import Held

SAID = [
    speech("caller", 500, 3500),
    speech("agent", 4000, 12_000),
    speech("caller", 9000, 9300),
    speech("caller", 13_000, 20_000),
    speech("agent", 19_500, 30_000),
    speech("caller", 31_000, 45_000),
    speech("agent", 45_500, 59_000),
]
MINUTE = sound(SAID, 60_000)


def resident() -> int:
    """Bytes that this process holds in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class LongCall:
    """A call of so many minutes, as a recording. `grown`: how much memory was held at the end beyond minute 5."""

    live = False
    length_ms: int | None = None

    def __init__(self, minutes: int) -> None:
        self._minutes = minutes
        self.grown = 0

    async def inputs(self) -> AsyncIterator[Input]:
        yield started()
        before = 0
        for minute in range(self._minutes):
            if minute == 5:
                before = resident()
            for at in range(0, 60_000, 1000):
                for track in TRACKS:
                    yield Audio(track, 60_000 * minute + at, MINUTE[track][16 * at : 16 * (at + 1000)])
        self.grown = resident() - before
        yield CallEnded(60_000 * self._minutes, "end_of_file")


async def test_a_call_of_half_an_hour_is_watched_in_the_memory_of_minutes() -> None:
    """B51: 3 h at 24 kHz would be 1 GB if it were kept. Here 25 minutes may cost 2 MB, which is noise; and a sink that
    takes nothing costs its bounded queue."""
    call, held, delivery = LongCall(30), Held(), Delivery()
    delivery.add("held", held)
    told = turns = 0
    async for event in watch(call, speed=None):
        await delivery.deliver(event)
        told += 1
        turns += event.type == "turn.ended"
        if isinstance(event, Ended):
            assert event.summary["duration"] == 1800
    assert turns >= 30 * 7 - 2
    assert call.grown < 2_000_000
    held.release.set()
    await delivery.close(5)
    assert len(held.seen) + delivery.dropped["held"] == told


def test_a_media_stream_of_minutes_is_decoded_in_the_memory_of_seconds() -> None:
    """B51 from the wire: 2 minutes of JSON after the first, both tracks."""
    carried, monitor = Carried(), CallMonitor(CoreSettings(), new_detector("energy"))
    grown, told = [], 0
    for minute in range(3):
        line = Line(MINUTE, sid=f"MZ{minute}")
        last = minute == 2
        carried.stream(line, line.pieces(), stop=last, lose=None if last else "code 1006")
        told += sum(len(monitor.feed(given)) for given in carried.phone.inputs)
        carried.phone.inputs.clear()
        grown.append(resident())
    assert told > 60
    assert grown[2] - grown[0] < 3_000_000


def test_a_conversation_of_minutes_is_heard_in_the_memory_of_seconds() -> None:
    """B51 through the relay's listener: audio both ways, cut every 10 s."""
    listener, monitor = Listener(Opened(0, "own")), CallMonitor(CoreSettings(), new_detector("energy"))
    caller, agent = (on_the_wire(MINUTE[track], "pcm_16000") for track in TRACKS)
    inputs: list[Input] = listener.receive("server", metadata(), 0)
    grown = []
    for now in range(100, 180_001, 100):
        at = (now - 100) % 60_000 * 32
        inputs += listener.receive("client", caller_audio(caller[at : at + 3200]), now)
        if now % 1000 == 0:
            inputs += listener.receive("server", agent_audio(agent[at : at + 24_000], now // 1000), now)
        if now % 10_000 == 0:
            inputs += listener.receive("server", interruption(now // 1000), now)
        inputs += listener.elapsed(now)
        for given in inputs:
            monitor.feed(given)
        inputs = []
        if now % 60_000 == 0:
            grown.append(resident())
    assert monitor.status.now_ms > 170_000
    assert grown[2] - grown[0] < 3_000_000
