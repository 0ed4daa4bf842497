"""The calls of a program seen together: alerts to the sinks, and what is known to the calls."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from connectors.inputs import FleetView
from monitor.core import events
from monitor.core.events import Event
from monitor.core.fleet.baselines import Baselines
from monitor.core.fleet.settings import FleetSettings
from monitor.runtime.fleet import Fleet, Known
from monitor.runtime.fleet_store import HistoryStore
from monitor.sinks.history.baselines import Baselines as Kept
from monitor.sinks.history.schema import connect
from tests.runtime.fleet.spiky_calls import whole


class Known100:
    """A store that knows 100 calls with ten turns, one of them barged in on."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def load(self, into: Baselines) -> None:
        into.learn("support", 1000, 100)

    def keep(self, learnt: list[Any]) -> None:
        self.kept += learnt

    def close(self) -> None:
        pass


class Together:
    """A fleet on a clock that is set by hand."""

    def __init__(self, store: Any = None, **settings: Any) -> None:
        self.now = 0.0
        self.told: list[Event] = []
        self.known: list[Known] = []
        self.store = store or Known100()
        self.fleet = Fleet(
            FleetSettings(**settings), self._deliver, self.store, clock=lambda: self.now, wall=lambda: 1e9 + self.now
        )
        self.fleet.when_changed = self.known.append

    async def _deliver(self, event: Event) -> None:
        self.told.append(event)

    async def hear(self, told: Iterable[Event]) -> None:
        for event in told:
            await self.fleet.take(event)

    async def minutes(self, many: int) -> None:
        for _ in range(many):
            self.now += 60
            await self.fleet.tick()

    async def spike(self, first: int = 0, calls: int = 8) -> None:
        for number in range(first, first + calls):
            await self.hear(whole(f"call-{number}", barged=6))

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


async def test_a_spike_is_told_as_a_pseudo_call_with_its_own_numbers() -> None:
    one = Together()
    await one.minutes(3)
    await one.spike()
    await one.minutes(12)
    await one.fleet.close()
    assert [type(event) for event in one.told] == [
        events.CallStarted,
        *[events.AlertRaised] * len(one.of(events.AlertRaised)),
        events.AlertCleared,
        events.CallEnded,
    ]
    assert [event.seq for event in one.told] == list(range(len(one.told)))
    assert len({event.call for event in one.told}) == 1
    begun, raised = one.told[0], one.told[1]
    assert isinstance(begun, events.CallStarted)
    assert (begun.source, begun.agent_id, begun.at_ms) == ("fleet", "support", 0)
    assert isinstance(raised, events.AlertRaised)
    assert raised.alert.id == f"{begun.call}/barge_in_spike/1"
    assert (raised.at_ms, raised.alert.since_ms, raised.alert.scope) == (180_000, 180_000, "fleet")
    times = [event.known_at_ms for event in one.told]
    assert times == sorted(times)


async def test_what_a_passing_minute_brings_is_told_with_the_next_event() -> None:
    one = Together()
    await one.spike()
    one.now += 1200  # nothing has ticked meanwhile
    await one.hear(whole("later"))
    assert isinstance(one.told[-1], events.AlertCleared)
    assert [event.seq for event in one.told] == list(range(len(one.told)))


async def test_forty_calls_at_once_are_one_alert() -> None:
    one = Together()
    await one.spike(calls=40)
    assert len({event.alert.id for event in one.of(events.AlertRaised)}) == 1
    assert len(one.of(events.AlertRaised)) <= 2  # it may rise to critical


async def test_an_alert_that_is_open_when_the_program_stops_is_cleared() -> None:
    one = Together()
    await one.spike()
    await one.fleet.close()
    assert [type(event) for event in one.told[-2:]] == [events.AlertCleared, events.CallEnded]


async def test_names_are_new_after_a_restart() -> None:
    names = set()
    for _ in range(3):
        one = Together()
        await one.spike()
        names.add(one.of(events.AlertRaised)[0].alert.id)
    assert len(names) == 3


async def test_alerts_of_a_fleet_are_no_calls_of_an_agent() -> None:
    one = Together()
    await one.spike()
    for event in list(one.told):
        await one.fleet.take(event)
    assert one.fleet.calls == 0


async def test_calls_without_an_agent_count_together() -> None:
    one = Together()
    await one.hear(whole("a", agent=None))
    assert [standing.agent for standing in one.fleet.standings] == ["unnamed"]
    assert one.fleet.view(None) == one.fleet.view("unnamed")


async def test_a_call_in_progress_does_not_teach_its_own_baseline() -> None:
    one = Together()
    before = one.fleet.view("support").barge_in_baseline
    await one.hear(whole("open", turns=40, barged=5, end=False))
    await one.minutes(100)
    assert one.fleet.view("support").barge_in_baseline == before
    assert one.store.kept == []


async def test_finished_calls_are_kept_once_each() -> None:
    one = Together()
    await one.hear(whole("a", barged=1))
    await one.minutes(31)
    await one.fleet.close()
    assert [(kept.call, kept.turns, kept.barge_ins) for kept in one.store.kept] == [("a", 6, 1)]


async def test_where_somebody_leads_its_word_counts_and_nothing_is_told() -> None:
    one = Together()
    await one.spike()
    assert one.fleet.known("support").raised
    await one.fleet.lead({"support": Known("support", 0.25, False)})
    assert isinstance(one.told[-1], events.AlertCleared)
    assert one.fleet.view("support") == FleetView(0, 0.25, ())
    told = len(one.told)
    await one.spike(first=100)
    assert len(one.told) == told
    await one.fleet.lead(None)
    assert isinstance(one.told[-1], events.AlertRaised)  # it still holds
    assert one.told[-1].alert.id.endswith("/2")


async def test_whoever_listens_hears_of_each_change_once() -> None:
    one = Together()
    await one.spike()
    await one.minutes(12)
    assert [(known.agent, known.raised) for known in one.known] == [("support", True), ("support", False)]


async def test_a_day_of_a_thousand_calls_stays_bounded() -> None:
    one = Together(max_agents=20, max_calls=1000)
    for hour in range(24):
        for number in range(200):
            await one.hear(
                whole(f"{hour}-{number}", turns=2, barged=number % 9 == 0, agent=f"{number % 50}", end=False)
            )
        await one.minutes(6)
    watcher = one.fleet._watcher
    assert one.fleet.calls == 1000
    assert len(one.fleet.standings) == 20
    assert watcher.calls_let_go == 24 * 200 - 1000
    for agent in watcher._agents.values():
        assert len(agent.watch._window._steps) <= 30
        assert len(agent.watch._waiting) == 0


async def test_baselines_outlive_the_program(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    first = Together(HistoryStore(path))
    for number in range(50):
        await first.hear(whole(f"call-{number}", turns=10, barged=2))
        first.now += 1
    await first.minutes(31)
    await first.fleet.close()
    with closing(connect(path, busy_ms=500)) as file:
        assert Kept(file).counts("support") == (500, 100, 50)
    second = Together(HistoryStore(path))
    (known,) = {second.fleet.view("support").barge_in_baseline}
    assert known is not None
    assert abs(known - 0.2) < 0.01
    await second.fleet.close()
