"""A process dies with an alert open: the one that leads next goes on with it."""

from __future__ import annotations

import asyncio
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from monitor.core import events
from monitor.core.events import AlertRaised, Event
from monitor.core.fleet.alerts import zero_s
from monitor.core.fleet.baselines import Baselines
from monitor.core.fleet.settings import FleetSettings
from monitor.runtime.fleet import Known
from monitor.runtime.fleet_service import FleetService
from monitor.runtime.fleet_store import HistoryStore
from monitor.runtime.leadership import Claim, LedView, agents_topic
from monitor.sinks.history.baselines import Baselines as Kept
from monitor.sinks.history.schema import connect
from monitor.sinks.history.settings import HistorySettings
from monitor.sinks.history.sink import HistorySink
from monitor.sinks.prometheus.folding import Metrics
from monitor.sinks.prometheus.standing import Standing
from tests.runtime.fleet.spiky_calls import whole
from tests.runtime.fleet.test_fleet import Together


class Nothing:
    """A store that knows nothing."""

    def load(self, into: Baselines) -> None:
        pass

    def keep(self, learnt: list[Any]) -> None:
        pass

    def close(self) -> None:
        pass


async def died() -> tuple[Together, list[tuple[Known, AlertRaised | None]]]:
    """One that had an alert open, and what it has left at the broker."""
    one = Together()
    await one.spike()
    alert = one.fleet.told("support")
    assert alert is not None
    message = Claim("local", "first@1").state(one.fleet.known("support"), alert)
    view = LedView(10)
    assert view.heard(agents_topic("local", "support"), message.payload)
    return one, view.left


async def standby(store: Any = None) -> Together:
    two = Together(store)
    await two.fleet.lead({})
    return two


async def test_what_is_open_goes_on_under_its_id_and_is_cleared_once() -> None:
    one, left = await died()
    two = await standby()
    await two.fleet.take_over(left)
    assert two.told == []
    await two.minutes(40)
    cleared, ended = two.told
    last = one.of(events.AlertRaised)[-1]
    assert isinstance(cleared, events.AlertCleared)
    assert cleared.alert.id == last.alert.id
    assert (cleared.call, cleared.seq, cleared.alert.since_ms) == (last.call, last.seq + 1, last.alert.since_ms)
    assert isinstance(ended, events.CallEnded)
    assert (ended.call, ended.seq) == (last.call, last.seq + 2)
    assert last.known_at_ms <= cleared.known_at_ms <= ended.known_at_ms
    assert two.fleet.owns(last.call)  # it comes back from the broker, and is ours
    await two.spike(first=500)
    again = two.of(events.AlertRaised)[0]
    assert again.call.endswith(f"@{two.fleet.start}")
    assert again.alert.id.endswith("/1")


async def test_it_is_not_raised_a_second_time_by_one_that_saw_the_spike_itself() -> None:
    _, left = await died()
    two = await standby()
    await two.spike()
    await two.fleet.take_over(left)
    await two.minutes(40)
    assert [type(event) for event in two.told if not isinstance(event, AlertRaised)] == [
        events.AlertCleared,
        events.CallEnded,
    ]
    assert len({event.call for event in two.told}) == 1


async def test_one_that_has_learnt_nothing_holds_it_while_the_spike_goes_on() -> None:
    _, left = await died()
    two = await standby(Nothing())
    await two.fleet.take_over(left)
    for minute in range(10):
        await two.spike(first=100 * (minute + 1), calls=4)
        await two.minutes(1)
    assert [event for event in two.told if not isinstance(event, AlertRaised)] == []
    assert two.fleet.known("support").raised
    assert two.fleet.learnt_turns["support"] >= 1000  # from the one before
    await two.minutes(45)
    assert len(two.of(events.AlertCleared)) == 1


async def test_without_any_baseline_it_is_held_until_there_could_be_no_alert() -> None:
    _, left = await died()
    two = await standby(Nothing())
    bare = [(msgspec.structs.replace(known, turns=0), alert) for known, alert in left]
    await two.fleet.take_over(bare)
    await two.minutes(29)
    assert two.told == []
    await two.minutes(10)
    assert len(two.of(events.AlertCleared)) == 1


async def test_what_was_handed_over_is_not_cleared_here() -> None:
    one, _ = await died()
    told = len(one.told)
    await one.fleet.hand_over()
    assert len(one.told) == told
    assert not one.fleet.owns(one.told[-1].call)  # another tells it now
    await one.fleet.take_over([])
    later = one.told[told:]
    assert [type(event) for event in later] == [events.CallStarted, AlertRaised]  # nobody had gone on with it
    assert {event.call for event in later}.isdisjoint({event.call for event in one.told[:told]})
    assert later[0].seq == 0
    assert one.fleet.owns(later[0].call)


async def test_a_state_with_a_broken_alert_is_a_state_all_the_same() -> None:
    view = LedView(10)
    for alert in ({"type": "alert.raised"}, {"v": 1}, None):
        state = {"process": "a", "agent": "support", "baseline": 0.1, "raised": True, "alert": alert}
        assert view.heard("turnwatch/local/fleet/agents/support", msgspec.json.encode(state))
        assert [(known.severity, left) for known, left in view.left] == [("warning", None)]


async def test_an_alert_of_the_leader_is_on_the_metrics_page_and_no_contradiction() -> None:
    async def deliver(event: Event) -> None:
        pass

    service = FleetService(FleetSettings(), deliver)
    for event in whole("a"):
        await service.deliver(event)
    fleet = service._fleet
    assert fleet is not None
    led = {name: Known(name, 0.1, True, "critical", 500) for name in ("support", "sales")}
    await fleet.lead(led)
    standings = {one["agent"]: one for one in service.standings}
    assert {(one["state"], one["raised"], one["missing"]) for one in standings.values()} == {("raised", True, None)}
    page, _ = Metrics().page(None, Standing(program={"fleet": service.standings}))
    for agent in led:
        series = f'turnwatch_alerts_open{{agent="{agent}",rule="barge_in_spike",scope="fleet",severity="critical"}} 1.0'
        assert series in page.decode()
    await fleet.lead({})
    page, _ = Metrics().page(None, Standing(program={"fleet": service.standings}))
    assert b'scope="fleet"' not in page
    await service.stop()


async def test_a_window_of_one_minute_is_the_last_minute() -> None:
    one = Together(long_steps=1, short_steps=1)
    await one.spike()
    assert "in the last minute, in" in one.of(AlertRaised)[0].alert.message


async def test_finished_calls_that_a_killed_program_had_not_learnt_are_learnt(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    sink = HistorySink(path, HistorySettings(file=str(path), teach_baselines=False))
    await sink.open()
    for number in range(5):
        for event in whole(f"call-{number}", turns=10, barged=2):
            await sink.deliver(event)
    await sink.close()
    for _ in range(2):  # and once only
        store = HistoryStore(path)
        baselines = Baselines(FleetSettings())
        store.load(baselines)
        await asyncio.to_thread(store.close)
        assert baselines.turns("support") == 50
        with closing(connect(path, busy_ms=500)) as file:
            assert Kept(file).counts("support") == (50, 10, 5)


async def test_what_is_under_suspicion_is_not_learnt_later_either(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    sink = HistorySink(path, HistorySettings(file=str(path), teach_baselines=False))
    await sink.open()
    start = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-abcdef"
    _, left = await died()
    (alert,) = [alert for _, alert in left if alert is not None]
    pseudo = f"fleet:support@{start}"
    raised = msgspec.structs.replace(
        alert, call=pseudo, alert=msgspec.structs.replace(alert.alert, id=f"{pseudo}/barge_in_spike/1", since_ms=0)
    )
    for event in [raised, *whole("suspect", barged=6), *whole("other", agent="sales", barged=1)]:
        await sink.deliver(event)
    await sink.close()
    store = HistoryStore(path)
    baselines = Baselines(FleetSettings())
    store.load(baselines)
    await asyncio.to_thread(store.close)
    assert (baselines.turns("support"), baselines.turns("sales")) == (0, 6)


def test_a_pseudo_call_tells_by_its_name_when_it_began() -> None:
    begun = datetime(2026, 12, 1, 4, 25, 28, tzinfo=UTC).timestamp()
    for name in ("fleet:a@b@20261201T042528Z-abc123", "fleet:a@20261201T042528Z-abc123-2"):
        assert zero_s(name) == begun
    for name in ("fleet:a", "fleet:a@20269901T042528Z-abc123", "fleet:a@1", ""):
        assert zero_s(name) is None
