"""What a broker brings of a whole fleet: whatever it is, each event is handed on once, and losses are told."""

from __future__ import annotations

import json
from typing import Any

from monitor.core import events
from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.core.fleet.settings import FleetSettings
from monitor.runtime.fleet import Fleet
from monitor.runtime.fleet_desk import FleetDesk
from tests.runtime.fleet.spiky_calls import whole


class Desk:
    """A desk on a clock that is set by hand."""

    def __init__(self, **options: Any) -> None:
        self.now = 0.0
        self.told: list[Event] = []
        self.fleet = Fleet(FleetSettings(), self._deliver, clock=lambda: self.now)
        self.desk = FleetDesk(self.fleet, self._deliver, max_calls=100, clock=lambda: self.now, **options)

    async def _deliver(self, event: Event) -> None:
        self.told.append(event)

    async def bring(self, told: list[Event], monitor: str | None = None) -> None:
        for event in told:
            await self.desk.take(f"turnwatch/local/calls/{event.call}/{event.type}", encode(event), monitor)

    async def state(self, monitor: str, state: str, **more: str) -> None:
        payload = json.dumps({"v": 1, "site": "local", "monitor": monitor, "state": state, **more}).encode()
        await self.desk.take(f"turnwatch/local/monitors/{monitor}", payload)

    async def wait(self, seconds: float) -> None:
        self.now += seconds
        await self.desk.tick()

    @property
    def notices(self) -> list[tuple[str, str]]:
        return [(event.kind, event.message) for event in self.told if isinstance(event, events.Notice)]


async def test_what_comes_twice_and_late_is_shown_once_in_order() -> None:
    one = Desk()
    told = whole("a", turns=3)
    await one.bring([told[0], told[2], told[1], told[1], *told[3:], *told])
    assert one.told == told
    await one.desk.tick()
    assert one.desk.counts["doubles"] == len(told) + 1


async def test_what_never_comes_is_waited_for_and_then_told() -> None:
    one = Desk()
    told = whole("a", turns=2)
    await one.bring([*told[:2], *told[3:]])
    assert one.told == told[:2]
    await one.wait(2.5)
    assert one.told == [*told[:2], *told[3:]]
    await one.wait(60)
    assert one.notices == [("gap", "1 events of calls did not come")]


async def test_nonsense_is_counted_and_told_and_ends_nothing() -> None:
    one = Desk()
    for payload in (b"", b"{}", b"\xff\x00", b"[1,2", b'{"v":1,"type":"notice"}'):
        await one.desk.take("turnwatch/local/calls/a/notice", payload)
    tomorrow = b'{"v":1,"type":"call.transferred","call":"a","seq":0,"at":0,"known_at":0}'
    await one.desk.take("turnwatch/local/calls/a/call.transferred", tomorrow)
    await one.desk.take("turnwatch/local/monitors/x", b"nonsense")
    await one.desk.take("turnwatch/else", b"")
    await one.bring(whole("b"))
    await one.wait(60)
    assert one.notices == [
        ("bad_payload", "6 messages under calls/ could not be read as events"),
        ("bad_payload", "1 events were of types that this version does not know"),
    ]
    assert sum(event.call == "b" for event in one.told) == len(whole("b"))


async def test_a_monitor_that_dies_is_told_and_its_calls_are_counted_no_more() -> None:
    one = Desk()
    await one.state("berlin", "online")
    await one.state("paris", "online")
    await one.bring(whole("a", end=False), "berlin")
    await one.bring(whole("b", end=False), "paris")
    assert (one.desk.monitors, one.fleet.calls) == (2, 2)
    await one.state("berlin", "offline", cause="lost")
    await one.state("berlin", "offline", cause="lost")
    assert (one.desk.monitors, one.fleet.calls) == (1, 1)
    await one.state("berlin", "online")
    await one.state("paris", "offline", cause="stopped")
    assert one.notices == [
        ("monitor_lost", "the monitor berlin is gone without a word: 1 calls of it are watched by nobody now"),
        ("monitor_online", "the monitor berlin is there again"),
    ]
    await one.desk.close()
    own = [event for event in one.told if event.call.startswith("fleet@")]
    assert [event.seq for event in own] == list(range(4))
    assert isinstance(own[0], events.CallStarted)
    assert isinstance(own[-1], events.CallEnded)


async def test_a_monitor_that_died_long_ago_is_no_news() -> None:
    one = Desk()
    await one.state("rome", "offline", cause="lost")
    assert one.told == []


async def test_where_calls_are_split_doubles_are_left_out_and_nothing_is_waited_for() -> None:
    one = Desk(detects=False, whole=False)
    told = whole("a")
    await one.bring([*told[3:6], told[4], told[9]])
    assert one.told == [*told[3:6], told[9]]
    assert one.fleet.calls == 0


async def test_our_own_events_that_come_back_are_passed_over() -> None:
    one = Desk()
    call = f"fleet:support@{one.fleet.start}"
    await one.bring(whole(call))
    assert one.told == []
