"""Same audio, same alerts; same tape, same bytes; and a view across calls that is part of the tape."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors import inputs
from connectors.inputs import TRACKS, FleetView
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.encode import encode
from monitor.core.events import Alert, AlertCleared, AlertRaised, Event
from monitor.core.rules.settings import RulesSettings
from monitor.detectors import new_detector
from monitor.runtime.tape import Header, Tape, TapeWriter
from tests.builders import Speech, call, even, of, sound, speech, started, watch
from tests.core.call.test_promises import talks, ways_in
from tests.pipeline.contract import check_stream


def touchy() -> CoreSettings:
    """Every rule is on and easily raised, and ends as easily."""
    changes = {
        "barge_in_spike": {"warning_at": 1.0, "critical_at": 2.0, "clear_at": 0.9},
        "barge_in_count": {"enabled": True, "barge_ins": 1, "window_s": 5.0, "clear_barge_ins": 0},
        "agent_talks_over": {"warning_overlaps": 1, "critical_overlaps": 2},
        "dead_air": {"warning_after_s": 0.5, "warning_at_start_s": 0.7, "critical_after_s": 1.1},
        "unanswered": {"warning_after_s": 0.4, "critical_after_s": 1.3},
        "slow_response": {"warning_p95_s": 0.5, "clear_p95_s": 0.4, "min_replies": 1, "window_replies": 2},
        "slow_yield": {"warning_p50_s": 0.3, "clear_p50_s": 0.3, "min_barge_ins": 1, "window_barge_ins": 1},
        "low_turn_taking": {"warning_score": 0.8, "clear_score": 0.8, "min_transitions": 1, "window_transitions": 2},
        "one_way_audio": {"warning_after_s": 1.0, "critical_after_s": 2.5},
        "feed_gap": {"warning_after_s": 0.1, "critical_after_s": 1.5},
    }
    groups = {
        name: msgspec.structs.replace(group, cooldown_s=1.7, **changes.get(name, {}))
        for name, group in msgspec.structs.asdict(RulesSettings()).items()
    }
    return CoreSettings(rules=RulesSettings(**groups))


@given(talks(), st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_any_chunking_and_any_interleaving_give_the_same_alerts(said: list[Speech], seed: int) -> None:
    straight, odd, one_by_one = ways_in(said, 2500, random.Random(seed))
    events = watch(straight, touchy())
    check_stream(events)
    lines = [encode(event) for event in events]
    assert [encode(e) for e in watch(odd, touchy())] == lines
    assert [encode(e) for e in watch(one_by_one, touchy())] == lines


@given(talks())
@settings(max_examples=40, deadline=None)
def test_no_alert_of_a_live_call_comes_late(said: list[Speech]) -> None:
    length = max((one.end for one in said), default=0) + 2500
    tracks = sound(said, length)
    monitor = CallMonitor(touchy(), new_detector("energy"))
    both = zip(*(even(track, tracks[track]) for track in TRACKS), strict=True)
    for one in [started(), *(piece for pair in both for piece in pair)]:
        assert {monitor.status.now_ms - event.known_at_ms for event in monitor.feed(one)} <= {0}


@given(talks(), st.lists(st.tuples(st.integers(0, 300), st.integers(1, 120)), max_size=4), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_hole_told_in_pieces_is_the_same_as_one_told_whole(
    said: list[Speech], holes: list[tuple[int, int]], seed: int
) -> None:
    rng = random.Random(seed)
    length = max((s.end for s in said), default=0) + 2500
    tracks = sound(said, length)
    lost = {
        track: {at for first, long in holes if rng.random() < 0.7 for at in range(20 * first, 20 * (first + long), 20)}
        & set(range(0, length, 20))
        for track in TRACKS
    }

    def tape(most: int) -> list[inputs.Input]:
        """Each hole in pieces of so many frames at most, told when it has come to them."""
        parts: list[inputs.Input] = []
        told = dict.fromkeys(TRACKS, 0)
        for pair in zip(*(even(track, tracks[track]) for track in TRACKS), strict=True):
            for one in pair:
                if one.at not in lost[one.track]:
                    parts.append(one)
                elif one.at >= told[one.track]:
                    until = one.at + 20
                    while until in lost[one.track] and until - one.at < 20 * most:
                        until += 20
                    told[one.track] = until
                    parts.append(inputs.Stall(one.track, one.at, until))
        return [started(), *parts, inputs.CallEnded(length, "hangup")]

    whole = watch(tape(1000), touchy())
    check_stream(whole)
    for most in (1, 7):
        again = watch(tape(most), touchy())
        check_stream(again)
        assert alerts_of(again) == alerts_of(whole)


def alerts_of(events: list[Event]) -> list[tuple[str, int, int, Alert]]:
    """The alerts as they were told: event, when it was true, when it could be said, the alert."""
    told = [event for event in events if isinstance(event, AlertRaised | AlertCleared)]
    return [(event.type, event.at_ms, event.known_at_ms, event.alert) for event in told]


BARGED = [part for k in range(8) for part in (speech("agent", 1000 + 5000 * k, 4000 + 5000 * k),)]
BARGED += [speech("caller", 3500 + 5000 * k, 4900 + 5000 * k) for k in range(8)]


def viewed(view: FleetView | None, later: FleetView | None = None) -> list[inputs.Input]:
    """A call whose caller barges in on every turn, with a view across calls behind its start, and a later one."""
    tape = call(*BARGED)
    if later is not None:
        place = next(n for n, one in enumerate(tape) if isinstance(one, inputs.Audio) and one.at >= later.at)
        tape.insert(place, later)
    return tape if view is None else [tape[0], view, *tape[1:]]


def spikes(tape: list[inputs.Input]) -> list[tuple[str, str]]:
    events = watch(tape)
    check_stream(events)
    told = [event for event in events if event.type.startswith("alert.")]
    return [(e.type, e.alert.severity) for e in told if e.alert.rule == "barge_in_spike"]  # type: ignore[attr-defined]


def test_a_spike_is_raised_once_and_ends_with_the_call() -> None:
    events = watch(viewed(None))
    assert spikes(viewed(None)) == [("alert.raised", "critical"), ("alert.cleared", "critical")]
    proof = next(e for e in of(events, "transition.scored") if e.transition.to_turn == 7 and e.transition.final)
    raised = of(events, "alert.raised")[0]
    assert raised.alert.because == (1, 3, 5, 7)
    assert raised.known_at_ms == proof.known_at_ms, "with the turn that proves it"


def test_what_is_usual_for_the_agent_decides() -> None:
    assert spikes(viewed(FleetView(0, barge_in_baseline=0.05)))[0] == ("alert.raised", "warning")
    assert spikes(viewed(FleetView(0, barge_in_baseline=0.85))) == []


def test_an_alert_across_calls_holds_back_that_of_the_call() -> None:
    assert spikes(viewed(FleetView(0, inhibited=("barge_in_spike",)))) == []
    over = FleetView(30_000)
    assert spikes(viewed(FleetView(0, inhibited=("barge_in_spike",)), over)) == [
        ("alert.raised", "critical"),
        ("alert.cleared", "critical"),
    ]


def test_what_is_open_already_stays() -> None:
    later = FleetView(30_000, inhibited=("barge_in_spike",))
    assert spikes(viewed(None, later)) == [("alert.raised", "critical"), ("alert.cleared", "critical")]


@pytest.mark.parametrize("view", [FleetView(0, 0.2), FleetView(0, None, ("barge_in_spike", "dead_air"))])
async def test_a_tape_gives_the_same_bytes_again(tmp_path, view) -> None:
    wanted = [encode(event) for event in watch(viewed(view, FleetView(20_000, 0.05)), touchy())]
    writer = TapeWriter(tmp_path, "call", Header("test", "energy", msgspec.to_builtins(touchy())))
    writer.write(viewed(view, FleetView(20_000, 0.05)))
    writer.close()
    tape = Tape(writer.path)
    again = [one async for one in tape.inputs()]
    assert [encode(event) for event in watch(again, tape.settings(CoreSettings))] == wanted


def test_a_tape_from_before_there_were_rules_still_loads(tmp_path) -> None:
    old = msgspec.to_builtins(CoreSettings())
    del old["rules"]
    writer = TapeWriter(tmp_path, "call", Header("test", "energy", old))
    writer.close()
    assert Tape(writer.path).settings(CoreSettings).rules == RulesSettings()
