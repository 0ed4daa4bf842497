"""Each sink behind its own queue: what one does to itself, no other notices."""

from __future__ import annotations

import asyncio
import logging

import pytest

from monitor.core.events import Event
from monitor.runtime import delivery as giving
from monitor.runtime import outlet as room
from monitor.runtime.delivery import Delivery
from tests.runtime.stand_ins import Blocking, Broken, Collector, Held, alert, notice


@pytest.mark.parametrize("own_thread", [False, True])
async def test_every_sink_gets_every_event_in_order(own_thread: bool) -> None:
    delivery, sinks = Delivery(), [Collector(), Collector()]
    for number, sink in enumerate(sinks):
        delivery.add(str(number), sink, own_thread=own_thread)
    for seq in range(500):
        await delivery.deliver(notice(seq))
    assert await delivery.close()
    for sink in sinks:
        assert sink.seen == list(range(500))
        assert (sink.opened, sink.closed) == (1, 1)


@pytest.mark.parametrize("own_thread", [False, True])
async def test_a_sink_that_raises_is_closed_and_alone(own_thread: bool, caplog: pytest.LogCaptureFixture) -> None:
    delivery, broken, good = Delivery(), Broken(2, OSError("no route")), Collector()
    delivery.add("broken", broken, own_thread=own_thread)
    delivery.add("good", good)
    for seq in range(10):
        await delivery.deliver(notice(seq))
        await asyncio.sleep(0)
    assert await delivery.close()
    assert (broken.seen, broken.closed) == ([0, 1], 1)
    assert good.seen == list(range(10))
    assert list(delivery.failures) == ["broken"]
    assert delivery.alive == 1
    assert "broken gets no more events: OSError: no route" in caplog.text


@pytest.mark.parametrize("error", [BrokenPipeError(), SystemExit(1)])
async def test_a_reader_who_leaves_is_no_error(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    delivery = Delivery()
    delivery.add("pipe", Broken(0, error), own_thread=True)
    await delivery.deliver(notice(0))
    assert await delivery.close()
    assert delivery.failures == {"pipe": error}
    assert caplog.text == ""


async def test_a_slow_sink_loses_its_own_events_and_is_told_how_many(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(room, "MAX_WAITING", 10)
    delivery, slow, good = Delivery(), Held(), Collector()
    delivery.add("slow", slow)
    delivery.add("good", good)
    for seq in range(50):
        await delivery.deliver(notice(seq))
        await asyncio.sleep(0)
    slow.release.set()
    assert await delivery.close()
    assert good.seen == list(range(50))
    assert slow.seen == list(range(11))
    assert delivery.dropped == {"slow": 39, "good": 0}
    assert caplog.text.count("slow is too slow: 10 events wait for it") == 1
    assert "slow fell behind: 39 events were not given to it" in caplog.text


async def test_alerts_push_others_out_of_a_full_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_WAITING", 10)
    delivery, slow = Delivery(), Held()
    delivery.add("slow", slow)
    await delivery.deliver(notice(0))
    while delivery.figures()["slow"]["waiting"]:  # until the first is in the sink's hands
        await asyncio.sleep(0)
    for seq in range(1, 31):
        await delivery.deliver(alert(seq) if seq % 5 == 0 else notice(seq))
    assert delivery.figures()["slow"] == {"waiting": 10, "overflowed": 20, "up": 1}
    slow.release.set()
    assert await delivery.close()
    assert slow.seen == [0, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30]


async def test_figures_that_cannot_be_had_end_nothing() -> None:
    class Silent(Collector):
        def figures(self) -> dict[str, float]:
            raise KeyError("spooled")

    delivery = Delivery()
    delivery.add("silent", Silent())
    assert delivery.figures() == {"silent": {"waiting": 0, "overflowed": 0, "up": 1}}
    assert await delivery.close()


@pytest.mark.parametrize("own_thread", [False, True])
async def test_a_recording_waits_for_a_patient_sink(own_thread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_WAITING", 10)

    class Slow(Collector):
        async def deliver(self, event: Event) -> None:
            await asyncio.sleep(0)
            await super().deliver(event)

    delivery, slow = Delivery(), Slow()
    delivery.add("slow", slow, own_thread=own_thread, patient=True)
    for seq in range(300):
        await delivery.deliver(notice(seq))
    assert await delivery.close()
    assert slow.seen == list(range(300))


class Counting(Collector):
    """Says when it has ten events."""

    def __init__(self) -> None:
        super().__init__()
        self.tenth = asyncio.Event()

    async def deliver(self, event: Event) -> None:
        await super().deliver(event)
        if len(self.seen) == 10:
            self.tenth.set()


async def test_a_stop_waits_for_nobody_for_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(room, "MAX_WAITING", 10)
    delivery, good = Delivery(), Counting()
    delivery.add("terminal", Blocking(), own_thread=True, patient=True)
    delivery.add("hanging", Held())
    delivery.add("good", good)

    async def give() -> None:
        for seq in range(100):
            await delivery.deliver(notice(seq))
            await asyncio.sleep(0)

    giving = asyncio.create_task(give())
    await good.tenth.wait()
    delivery.hurry()
    await giving
    assert not await delivery.close(within_s=0.05)
    assert good.seen == list(range(100))
    left = [record.getMessage().split()[0] for record in caplog.records if record.levelno == logging.ERROR]
    assert left == ["terminal", "hanging"]


async def test_an_event_for_no_sink_at_all_is_fine() -> None:
    delivery = Delivery()
    await delivery.deliver(notice(0))
    assert await delivery.close()
    assert delivery.alive == 0


class Keeping(Held):
    """Keeps what it takes, once it is let."""

    keeps = True


async def test_an_alert_is_told_to_others_once_it_is_kept() -> None:
    delivery, keeping, screen = Delivery(), Keeping(), Collector()
    delivery.add("screen", screen)
    delivery.add("keeping", keeping)
    await delivery.deliver(notice(0))
    telling = asyncio.create_task(delivery.deliver(alert(1)))
    await asyncio.sleep(0)
    await delivery.deliver(notice(5))  # of another call: it waits for nothing
    while screen.seen != [0, 5]:
        await asyncio.sleep(0)
    assert not telling.done()
    keeping.release.set()
    await telling
    assert await delivery.close()
    assert (screen.seen, keeping.seen) == ([0, 5, 1], [0, 1, 5])


async def test_a_sink_that_hangs_holds_up_one_alert_for_a_moment_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving, "KEPT_WITHIN_S", 0.05)
    delivery, hanging, screen = Delivery(), Keeping(), Collector()
    delivery.add("hanging", hanging)
    delivery.add("screen", screen)
    await delivery.deliver(alert(0))
    loop = asyncio.get_running_loop()
    before = loop.time()
    for seq in range(1, 200):
        await delivery.deliver(alert(seq))
    assert loop.time() - before < 0.05 * 20
    hanging.release.set()
    assert await delivery.close()
    assert screen.seen == hanging.seen == list(range(200))
