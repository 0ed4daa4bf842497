"""What is in the history is what was told: no more, no less, however it came."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core import events
from monitor.core.encode import clean_text
from monitor.core.events import Event, Turn, TurnTaking
from monitor.sinks.history import sink as room
from tests import builders
from tests.sinks.history.told import Script, a_call, calls, keep, known


def folded(told: Sequence[Event]) -> dict[str, Any]:
    """What a history should have of one call, from the contract's own words for each event."""
    out: dict[str, Any] = {name: {} for name in ("turns", "transitions", "verdicts", "alerts", "notices")}
    for event in sorted(told, key=lambda one: one.seq):
        said = event.as_dict()
        match event:
            case events.TurnStarted() | events.TurnUpdated() | events.TurnEnded():
                turn = out["turns"].setdefault(event.turn.index, {"text": None})
                text = said["turn"].get("text") or turn["text"]
                turn |= {**said["turn"], "text": text}
            case events.TurnText():
                out["turns"].setdefault(event.turn.index, {})["text"] = event.text
            case events.TransitionScored():
                key = (event.transition.from_turn, event.transition.to_turn)
                out["transitions"][key] = {**said["transition"], "withdrawn": None}
            case events.TransitionWithdrawn():
                out["transitions"].setdefault((event.from_turn, event.to_turn), {})["withdrawn"] = event.reason
            case events.RelevancyJudged():
                out["verdicts"][event.seq] = {"verdict": event.verdict, "turns": [event.turn.index]}
            case events.RelevancyScored():
                out["verdicts"][event.seq] = {"score": event.score, "turns": list(event.turns)}
            case events.AlertRaised() | events.AlertCleared():
                out["alerts"][event.alert.id] = {**said["alert"], "because": list(event.alert.because)}
            case events.Notice():
                out["notices"][event.seq] = {key: said[key] for key in ("kind", "track", "count", "message", "at")}
            case events.CallEnded():
                out["summary"], out["cause"] = event.summary, event.cause
    return out


def assert_same(path: Path, told: Sequence[Event]) -> None:
    wanted, kept = folded(told), known(path, told[0].call)
    for name in ("turns", "transitions", "verdicts", "alerts", "notices"):
        assert len(kept[name]) == len(wanted[name]), name
        for row, want in zip(kept[name], [one for _, one in sorted(wanted[name].items())], strict=True):
            assert {key: row[key] for key in want} == want
    assert kept["missing_events"] == 0
    assert kept["cause"] == wanted.get("cause")
    assert kept["summary"] == wanted.get("summary", {})


async def test_a_call_is_kept_as_it_was_told(tmp_path: Path) -> None:
    told = a_call()
    history = await keep(tmp_path / "h.db", told)
    assert_same(tmp_path / "h.db", told)
    assert history.written == len(told)
    assert history.figures()["lost"] == 0
    (call,) = calls(tmp_path / "h.db")
    assert (call.state, call.user_turns, call.agent_turns, call.score) == ("ended", 2, 2, 0.75)
    assert call.alerts == {"critical": 1, "warning": 0, "info": 0}
    assert call.open_alerts == 0
    assert call.labels == {"line": "7"}


async def test_a_call_of_the_real_core_is_kept_as_it_was_told(tmp_path: Path) -> None:
    speech = builders.speech
    said = [speech("agent", 500, 2500), speech("caller", 2000, 4000), speech("agent", 4600, 7000)]
    told = builders.watch(builders.call(*said))
    await keep(tmp_path / "h.db", told)
    assert_same(tmp_path / "h.db", told)


words = st.one_of(st.text(max_size=8), st.just("\ud800 half"), st.just("nul \0 inside"), st.none())
numbers = st.integers(0, 5)


@st.composite
def scripts(draw: st.DrawFn, call: str = "call") -> list[Event]:
    script = Script(call)
    for step in draw(st.lists(st.sampled_from(("turn", "text", "passing", "verdict", "alert", "notice")), max_size=12)):
        if step == "turn":
            script.turn(draw(numbers), "user", 10 * draw(numbers), draw(words.filter(lambda text: text is None)))
        elif step == "text":
            turn = Turn(index=draw(numbers), role="user", start_ms=0)
            script.say(events.TurnText, turn=turn, text=draw(st.text(max_size=5)), reason="transcript")
        elif step == "passing" and draw(st.booleans()):
            script.passing(draw(numbers), draw(st.floats(0, 1)), final=draw(st.booleans()))
        elif step == "passing":
            number = draw(numbers)
            gone = {"from_turn": number, "to_turn": number + 1, "reason": "backchannel"}
            script.passing(number)
            script.say(events.TransitionWithdrawn, **gone, turn_taking=TurnTaking(None, 0))
        elif step == "verdict":
            script.verdict(draw(numbers))
        elif step == "alert":
            script.alert(draw(numbers), draw(st.sampled_from(("warning", "critical"))), cleared=draw(st.booleans()))
        else:
            script.notice()
    return script.end() if draw(st.booleans()) else script.told


@given(scripts(), st.integers(0, 3), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=40)
def test_whatever_is_told_twice_or_late_is_kept_once(
    told: list[Event], twice: int, rng: random.Random, jumbled: bool
) -> None:
    came = [*told, *rng.choices(told, k=twice * len(told))]
    if jumbled:
        came = [came[0], *rng.sample(came[1:], len(came) - 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.db")
        history = asyncio.run(keep(path, came, commit_ms=rng.choice((0, 200))))
        assert history.figures()["duplicates"] == len(came) - len(told)
        assert_same_but_for_unknown_turns(path, told)


def assert_same_but_for_unknown_turns(path: Path, told: Sequence[Event]) -> None:
    wanted, kept = folded(told), known(path)
    for name in ("turns", "transitions", "verdicts", "alerts", "notices"):
        rows = [one for _, one in sorted(wanted[name].items())]
        if name == "alerts":
            rows.sort(key=lambda one: (one["since"], one["id"]))
        assert [{key: row[key] for key in want} for row, want in zip(kept[name], rows, strict=True)] == rows
    assert (kept["missing_events"], kept["summary"]) == (0, wanted.get("summary", {}))


async def test_calls_side_by_side_do_not_mix(tmp_path: Path) -> None:
    several = [a_call(f"call-{number}", turns=number + 2) for number in range(6)]
    mixed = [event for step in range(60) for told in several for event in told[step : step + 1]]
    await keep(tmp_path / "h.db", mixed)
    for told in several:
        assert_same(tmp_path / "h.db", told)


async def test_text_that_is_no_text_is_kept_as_far_as_it_is(tmp_path: Path) -> None:
    script = Script("half \ud800", agent="agent \udfff")
    script.turn(0, "user", 500, "a lone \ud83d, a nul \0")
    script.say(events.Notice, kind="n", track=None, count=1 << 70, message="\ud800")
    history = await keep(tmp_path / "h.db", script.end(note="\udc00"))
    kept = known(tmp_path / "h.db", clean_text("half \ud800"))
    assert kept["turns"][0]["text"] == clean_text("a lone \ud83d, a nul \0")
    assert kept["notices"][0]["count"] == (1 << 63) - 1
    assert kept["summary"]["note"] == clean_text("\udc00")
    assert history.figures()["refused"] == 0


async def test_an_event_that_cannot_be_kept_costs_itself_alone(tmp_path: Path, caplog: Any) -> None:
    told = a_call()
    bad = events.Notice(call="call", seq=999, at_ms=0, known_at_ms=0, kind="n", track=object(), count=1, message="")  # type: ignore[arg-type]
    history = await keep(tmp_path / "h.db", [*told[:5], bad, *told[5:]])
    assert history.figures()["refused"] == 1
    assert_same(tmp_path / "h.db", told)
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "an event (notice) cannot be written to the history"
    ]


async def test_a_full_batch_is_written_before_its_time(tmp_path: Path) -> None:
    script = Script()
    for _ in range(room.MAX_BATCH + 10):
        script.notice()
    history = await started(tmp_path / "h.db", script.told)
    assert room.MAX_BATCH <= history.written < len(script.told)
    await history.close()
    assert history.written == len(script.told)


async def test_an_alert_is_on_disk_when_it_is_taken(tmp_path: Path) -> None:
    script = Script()
    script.alert()
    history = await started(tmp_path / "h.db", script.told)
    (call,) = calls(tmp_path / "h.db")
    assert (call.open_alerts, call.state) == (1, "running")
    await history.close()
    (call,) = calls(tmp_path / "h.db")
    assert call.state == "unfinished"


async def started(path: Path, told: Sequence[Event]) -> room.HistorySink:
    from tests.sinks.history.told import sink

    history = sink(path, commit_ms=10_000)
    await history.open()
    for event in told:
        await history.deliver(event)
    return history
