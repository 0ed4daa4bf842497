"""The same call once more: the same run, or another?"""

from __future__ import annotations

from pathlib import Path

from monitor.core import events
from monitor.core.events import Alert
from monitor.sinks.history.schema import connect
from tests.sinks.history.told import NOON, Script, a_call, calls, keep, known, sink, until


def rows(path: Path) -> dict[str, int]:
    from monitor.sinks.history.schema import OF_A_RUN

    file = connect(path, busy_ms=100)
    found = {table: file.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in OF_A_RUN}
    file.close()
    return found


async def test_a_tape_that_is_watched_again_counts_once(tmp_path: Path) -> None:
    path, told = tmp_path / "h.db", a_call()
    await keep(path, told)
    before = rows(path)
    again = await keep(path, told)
    assert rows(path) == before
    assert again.figures()["duplicates"] == len(told)


async def test_a_recording_that_is_watched_again_counts_once_and_as_watched_now(tmp_path: Path) -> None:
    path, told = tmp_path / "h.db", a_call(started_at=None)
    await keep(path, told)
    (first,) = calls(path)
    before = rows(path)
    await keep(path, told)
    (second,) = calls(path)
    assert rows(path) == before
    assert second.begun_at >= first.begun_at
    assert second.run != first.run


async def test_a_recording_that_sounds_otherwise_by_other_settings_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    await keep(path, a_call(started_at=None, turns=6))
    await keep(path, a_call(started_at=None, turns=3))
    assert [call.user_turns + call.agent_turns for call in calls(path)] == [3, 6]


async def test_one_program_may_watch_a_recording_twice(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    six, three = a_call(started_at=None, turns=6), a_call(started_at=None, turns=3)
    await keep(path, [*six, *three, *six])
    assert [call.user_turns + call.agent_turns for call in calls(path)] == [6, 3]


async def test_the_same_name_at_another_time_is_another_call(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    await keep(path, [*a_call(), *a_call(started_at="2026-01-31T13:00:00Z")])
    assert [call.started_at for call in calls(path)] == ["2026-01-31T13:00:00Z", NOON]


async def test_the_same_name_at_another_site_is_another_call(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    await keep(path, a_call(), site="north")
    await keep(path, a_call(), site="south")
    assert sorted(call.site for call in calls(path)) == ["north", "south"]


async def test_a_sink_may_take_calls_of_several_sites(tmp_path: Path) -> None:
    history = sink(tmp_path / "h.db")
    await history.open()
    for event in a_call():
        history.deliver_from("north", event)
        history.deliver_from("south", event)
    await history.close()
    assert sorted(call.site for call in calls(tmp_path / "h.db")) == ["north", "south"]


async def test_a_tape_fills_in_what_a_killed_program_did_not_write(tmp_path: Path) -> None:
    path, told = tmp_path / "h.db", a_call()
    await keep(path, told[:7])
    assert calls(path)[0].state == "unfinished"
    await keep(path, told)
    (call,) = calls(path)
    assert (call.state, call.missing) == ("ended", 0)
    assert len(known(path)["turns"]) == 4


async def test_a_call_whose_beginning_went_to_a_former_program_goes_on(tmp_path: Path) -> None:
    path, told = tmp_path / "h.db", a_call()
    await keep(path, told[:7])
    await keep(path, told[5:])
    (call,) = calls(path)
    assert (call.state, call.missing, call.agent_id) == ("ended", 0, "bot")


async def test_a_call_whose_beginning_nobody_saw_is_kept_with_what_is_missing(tmp_path: Path) -> None:
    path, told = tmp_path / "h.db", a_call()
    await keep(path, told[3:])
    (call,) = calls(path)
    assert (call.state, call.missing, call.agent_id) == ("ended", 3, None)


async def test_events_that_were_lost_on_the_way_are_told(tmp_path: Path) -> None:
    told = a_call()
    await keep(tmp_path / "h.db", [event for event in told if event.seq not in (2, 5, 6)])
    assert calls(tmp_path / "h.db")[0].missing == 3


async def test_alerts_across_calls_are_no_call(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    alert = Alert(
        id="fleet/bot/1",
        rule="barge_in_spike",
        severity="critical",
        scope="fleet",
        message="m",
        value=None,
        threshold=None,
        because=(),
        since_ms=0,
    )
    told = events.AlertRaised(call="fleet/bot", seq=0, at_ms=0, known_at_ms=0, alert=alert)
    await keep(path, [told, *a_call()])
    assert [call.call for call in calls(path)] == ["call"]
    assert rows(path)["alerts"] == 2


async def test_two_programs_with_the_same_call_at_the_same_time_write_it_once(tmp_path: Path) -> None:
    path, told = tmp_path / "h.db", a_call()
    one, other = sink(path, commit_ms=0), sink(path, commit_ms=0)
    await one.open()
    await other.open()
    for event in told:
        await one.deliver(event)
        await other.deliver(event)
    await one.close()
    await other.close()
    (call,) = calls(path)
    assert (call.missing, call.state) == (0, "ended")
    assert one.figures()["duplicates"] + other.figures()["duplicates"] == len(told)


async def test_a_file_that_was_deleted_is_made_anew_for_the_calls_that_go_on(tmp_path: Path) -> None:
    path, script = tmp_path / "h.db", Script()
    script.turn(0, "user", 400)
    history = sink(path, commit_ms=1)
    await history.open()
    for event in script.told:
        await history.deliver(event)
    await until(lambda: history.written == len(script.told))
    for file in tmp_path.iterdir():
        file.unlink()
    script.turn(1, "assistant", 400)
    for event in script.told[-3:]:
        await history.deliver(event)
    await history.close()
    kept = known(path)
    assert (kept["agent_id"], [turn["index"] for turn in kept["turns"]]) == ("bot", [1])
    assert kept["missing_events"] == 4
