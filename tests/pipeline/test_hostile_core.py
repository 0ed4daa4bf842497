"""Whatever a connector or a tape says, the core tells a call: any inputs, any settings, and never an exception."""

from __future__ import annotations

import copy
import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.inputs import (
    Audio,
    CallEnded,
    CallStarted,
    Cut,
    Elapsed,
    Input,
    Notice,
    PlayoutPolicy,
    Stall,
    Text,
    TrackFormat,
    Verdict,
    Verdicts,
)
from monitor.config import ConfigError, load
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import RelevancyJudged
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.setting_ranges import RANGES
from monitor.detectors import new_detector
from tests.builders import call, noise, speech, voice, watch
from tests.pipeline.contract import check_stream
from tests.pipeline.hearing import heard, live, notices, said

FAR = [-(2**63), -(10**12), -1000, -1, 0, 1, 599_999, 600_001, 10**7, 10**13, 2**53, 2**63 - 1]
TIMES = st.integers(-500, 12_000) | st.sampled_from(FAR)
TRACKS: Any = st.sampled_from(["caller", "agent"])
IDS = st.none() | st.integers(-3, 5) | st.sampled_from([2**62, -(2**63)])
PCM = st.sampled_from(
    [
        b"",
        b"\0",
        b"\1\2\3",
        voice(20),
        voice(300),
        voice(2500),
        noise(300, 2, 1),
        bytes(320),
        bytes(3201),
        b"\0\x80" * 999,
    ]
)
RATES = st.sampled_from([8000] * 9 + [16_000, 44_100, 0, -8000])
WORDS = st.sampled_from(["", "hi", "caf\u00e9 \ud83d", "x" * 5000, "\x1b[31m\n\0"])
INPUTS = st.lists(
    st.one_of(
        st.builds(Audio, TRACKS, TIMES, PCM, RATES, IDS),
        st.builds(Audio, TRACKS, TIMES, PCM),
        st.builds(Audio, TRACKS, st.integers(0, 12_000), st.sampled_from([voice(400), voice(20), noise(200, 2, 3)])),
        st.builds(Elapsed, TIMES),
        st.builds(Cut, TRACKS, TIMES, IDS),
        st.builds(Stall, TRACKS, TIMES, TIMES),
        st.builds(Text, TRACKS, TIMES, WORDS, st.sampled_from(["transcript", "response", "correction"]), IDS),
        st.builds(Notice, TIMES, WORDS, WORDS, st.none() | TRACKS, st.integers(1, 10**18)),
        st.builds(
            Verdicts,
            TIMES,
            st.integers(-2, 3),
            WORDS,
            st.just((Verdict(0, "yes"), Verdict(-1, "no"), Verdict(0, "no"))),
        ),
        st.builds(CallStarted, WORDS, WORDS),
    ),
    max_size=30,
)
TRACK_SETS = st.sampled_from([["caller", "agent"]] * 6 + [["caller"], ["agent"], []])
POLICIES = st.builds(
    PlayoutPolicy,
    st.just("p"),
    st.sampled_from([40, 0, -50, 10**6, 2**60]),
    st.sampled_from(["immediate", "message", "fade"]),
    st.sampled_from(["drop", "keep"]),
    st.booleans(),
)


@st.composite
def calls(draw: st.DrawFn) -> list[Input]:
    """A call of any inputs: with a beginning, perhaps with an end, and perhaps with more behind it."""
    timings = {track: draw(st.sampled_from(["heard", "delivered"])) for track in draw(TRACK_SETS)}
    tracks = {track: TrackFormat("any", 8000, timing) for track, timing in timings.items()}  # type: ignore[arg-type]
    tape: list[Input] = [CallStarted("call", "test", tracks=tracks, playout=draw(POLICIES)), *draw(INPUTS)]
    if draw(st.booleans()):
        tape.append(CallEnded(draw(TIMES), "hangup", draw(st.none() | WORDS)))
        tape += draw(INPUTS)[:2]
    return tape


JUDGED = CoreSettings(relevancy=RelevancySettings(eval_mode="llm", batch_size=2, max_wait_s=2, deadline_s=3))
BOTH = {"caller": TrackFormat(), "agent": TrackFormat(timing="delivered")}


@settings(max_examples=120, deadline=None)
@given(calls())
@example([CallStarted("c", "t", tracks=dict(BOTH)), Elapsed(2**63 - 1), Audio("agent", 2**62, voice(20)), Elapsed(50)])
@example([CallStarted("c", "t", tracks=dict(BOTH)), Stall("caller", 0, 10**15), CallEnded(10**16, "hangup")])
@example([CallStarted("c", "t", tracks=dict(BOTH)), Audio("caller", 0, voice(900)), CallEnded(-5, "hangup")])
def test_any_sequence_of_inputs_is_told_as_a_call(tape: list[Input]) -> None:
    events = heard(tape)
    assert live(events).known_at_ms <= 1_000_000, "nothing makes a call longer than it was"


@settings(max_examples=40, deadline=None)
@given(calls())
def test_a_call_that_is_judged_survives_any_answer(tape: list[Input]) -> None:
    """Verdicts of requests that there were and that there were not, on turns that there are and that there are not."""
    events = heard(tape, JUDGED)
    assert len([event for event in events if event.type == "call.ended"]) == 1
    judged = [event.turn.index for event in events if isinstance(event, RelevancyJudged)]
    assert len(judged) == len(set(judged)), "a turn is judged once"


@settings(max_examples=30, deadline=None)
@given(calls(), st.integers(0, 30))
def test_the_end_may_come_anywhere(tape: list[Input], place: int) -> None:
    """Stopped after any input, and asked to finish twice."""
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    events = [event for one in tape[: place + 1] for event in monitor.feed(one)]
    events += monitor.finish() + monitor.finish() + monitor.feed(tape[-1])
    check_stream(events)
    assert monitor.status.ended


def test_what_comes_before_the_beginning_is_no_call() -> None:
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    for one in (Audio("caller", 0, voice(900)), Elapsed(2**62), CallEnded(5, "hangup"), Notice(0, "gap", "m")):
        assert monitor.feed(one) == []
    assert monitor.finish() == []
    assert not monitor.status.ended


def test_impossible_times_are_told_and_cost_nothing() -> None:
    """A thousand inputs from the far future, in the middle of a call that is told as if they had not come."""
    tape = call(speech("caller", 500, 1500), speech("agent", 2000, 3500))
    far = [
        Elapsed(10**15),
        Stall("caller", 10**14, 10**15),
        Audio("agent", 10**12, voice(200)),
        Cut("agent", 10**12, None),
    ]
    tracemalloc.start()
    events = heard([*tape[:150], *far * 250, *tape[150:]])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said(events) == said(watch(tape))
    assert notices(events)["bad_payload"] == 1000
    assert peak < 8_000_000


def test_memory_stays_flat_whatever_comes() -> None:
    """Every kind of input, damaged ones among them, minute after minute: nothing is kept that is over."""
    monitor = CallMonitor(CoreSettings(), new_detector("energy"))
    monitor.feed(CallStarted("call", "test", tracks=dict(BOTH)))
    pieces = [voice(600) + noise(600, 2, 1), noise(900, 2, 2) + voice(300)]

    def minute(number: int) -> None:
        for turn, at in enumerate(range(60_000 * number, 60_000 * (number + 1), 1200)):
            response = turn % 8  # tables of responses are bounded, but it takes hundreds to fill them
            monitor.feed(Audio("caller", at, pieces[turn % 2]))
            monitor.feed(Audio("agent", at, pieces[turn // 2 % 2], response=response))
            monitor.feed(Cut("agent", at + 700, response))
            monitor.feed(Text("agent", at, f"words {response}", "response", response))
            monitor.feed(Audio("caller", -5, b"\1"))
            monitor.feed(Stall("caller", at, at + 3))
            monitor.feed(Elapsed(at + 1200))

    for number in range(3):
        minute(number)
    tracemalloc.start()
    minute(3)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for number in (4, 5):
        minute(number)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 60_000
    assert monitor.status.now_ms > 350_000


def numbers(kind: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of all numbers in the core's settings."""
    for name, value in kind.items():
        if isinstance(value, dict):
            yield from numbers(value, (*path, name))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, name)


DEFAULTS = msgspec.to_builtins(CoreSettings())
OURS = [path for path in numbers(DEFAULTS) if path[0] in ("speech", "timeline", "words")]
SHORT = call(speech("caller", 500, 1200), speech("agent", 1600, 2600), speech("caller", 2200, 2400), length=4500)


def test_every_number_has_its_range() -> None:
    assert {".".join(path) for path in OURS} == set(RANGES)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(OURS),
        st.sampled_from([-(10**9), -1, 0, 1, 3, 20, 0.5, 10**9, 1e308, float("nan"), float("inf")]),
        min_size=1,
        max_size=4,
    )
)
def test_settings_of_any_kind_are_refused_or_work(changes: dict[tuple[str, ...], float]) -> None:
    """As they may stand on a tape that somebody has made by hand, or on the command line."""
    made = copy.deepcopy(DEFAULTS)
    for (*folders, name), value in changes.items():
        place = made
        for folder in folders:
            place = place[folder]
        place[name] = value
    try:
        chosen = msgspec.convert(made, CoreSettings)
    except msgspec.ValidationError:
        return
    heard(SHORT, chosen)


@pytest.mark.parametrize("assignment", ["timeline.update_every_ms=0", "speech.floor_dbfs=nan", "speech.warmup_ms=-1"])
def test_a_setting_out_of_its_range_names_the_key_and_the_range(assignment: str) -> None:
    key = assignment.partition("=")[0]
    with pytest.raises(ConfigError, match=f"{key} must be a number from"):
        load(assignments=[assignment])
