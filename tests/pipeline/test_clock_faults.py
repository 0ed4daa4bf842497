"""The wall clock may jump, connections may come back at zero: media time goes on (B44, B46)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest

from connectors.inputs import TRACKS
from connectors.simulator.twilio import TwilioCarrier
from monitor.core.events import CallStarted, Event
from monitor.runtime.watch import watch
from tests.builders import Speech, of, sound, speech, transitions_of, voice
from tests.connectors.recordings.takes import save, stereo
from tests.pipeline.contract import check_stream
from tests.pipeline.conversations import conversation, delivery
from tests.pipeline.hearing import about, ended_turns, heard, live, near, notices, said
from tests.pipeline.phone_calls import Carried, Line
from tests.pipeline.serving import lines_of, serving

TALK = [speech("caller", 500, 1500), speech("agent", 2000, 3200)]


class Jumping:
    """A wall clock that is set back an hour, and forward half a minute, again and again."""

    def __init__(self) -> None:
        self._true = time.time
        self._steps: Iterator[int] = itertools.cycle([0, -3600, -3600, 30, 86_400])

    def __call__(self) -> float:
        return self._true() + next(self._steps)


async def paced(path: Path, speed: float) -> list[Event]:
    return [event async for event in watch(f"wav:{path}", speed=speed)]


async def test_a_recording_at_its_pace_does_not_feel_the_wall_clock(tmp_path: Path) -> None:
    """B44: the clock steps while a call is watched at a pace, with everything that waits for a time."""
    path = save(tmp_path / "call.wav", stereo(*TALK, length=5000))
    steady = await paced(path, 20)
    check_stream(steady)
    began = time.monotonic()
    with patch.object(time, "time", Jumping()):
        assert await paced(path, 20) == steady
    assert time.monotonic() - began < 5


async def test_a_live_call_does_not_feel_the_wall_clock() -> None:
    """B44: a media stream through the service, whose sweep, pairing and grace all run on the monotonic clock."""
    talk = sound(TALK, 4500)

    async def told() -> list[Event]:
        async with serving() as here:
            await TwilioCarrier(here.url(), speed=8).call(talk["caller"], talk["agent"], call_sid="CA1")
            events = await here.call()
        first = events[0]
        assert isinstance(first, CallStarted)
        assert first.started_at is not None
        return [msgspec.structs.replace(first, started_at=None), *events[1:]]

    steady = await told()
    with patch.object(time, "time", Jumping()):
        assert lines_of(await told()) == lines_of(steady)


def test_a_conversation_does_not_feel_the_wall_clock() -> None:
    """B44: the relay's listener knows only the clock that it is handed."""
    frames = delivery(voice(1200), at=1960, within=200, pieces=20)
    steady = conversation(frames, TALK[:1], 5000)
    with patch.object(time, "time", Jumping()), patch.object(time, "monotonic", Jumping()):
        assert conversation(frames, TALK[:1], 5000) == steady


BEFORE = [speech("agent", 1000, 16_000), speech("caller", 17_000, 19_500)]


@pytest.mark.parametrize("restarts", [True, False], ids=["time stamps restart", "time stamps go on"])
@pytest.mark.parametrize("hangs", [True, False], ids=["the old socket hangs", "the old socket is closed"])
def test_a_turn_after_an_outage_is_where_it_was_spoken(restarts: bool, hangs: bool) -> None:
    """B46: gone at 20.0, back at 28.0, the caller speaks in the new stream's 1.0-2.0: that is 29.0-30.0 of the call."""
    events = interrupted_call([speech("caller", 29_000, 30_000)], restarts=restarts, hangs=hangs)
    last = ended_turns(events)[-1]
    assert near(last, 29_000, 30_000, within=60)
    assert transitions_of(events) == [("gap", 1000)]
    phone = outage([speech("caller", 29_000, 30_000)], restarts=restarts, hangs=hangs, before=BEFORE).phone
    for track in TRACKS:
        assert phone.stalls(track) == [(20_000, about(28_000, 40))]


@pytest.mark.parametrize("restarts", [True, False], ids=["time stamps restart", "time stamps go on"])
def test_an_outage_is_charged_to_nobody(restarts: bool) -> None:
    """B46: the caller asked before it, the agent speaks after it: there is no gap of 8 s, no dead air, no unanswered
    turn, and what was missed counts as unknown."""
    events = interrupted_call([speech("agent", 28_600, 31_000)], restarts=restarts)
    summary = live(events).summary
    assert transitions_of(events) == [("gap", 1000)]
    assert summary["response_time"]["count"] == 0
    assert (summary["unanswered"]["count"], summary["dead_air"]["count"]) == (0, 0)
    assert summary["talk"]["unknown"] == about(8.0, 0.1)
    assert notices(events)["reconnected"] == 1
    assert "8.0 s" in next(e.message for e in of(events, "notice") if e.kind == "reconnected")
    assert [turn.after_stall for turn in ended_turns(events)] == [False, False, True]


def test_an_outage_in_the_middle_of_a_word_ends_the_turn() -> None:
    """B46: the caller was speaking when the connection broke; what was said meanwhile is not made up."""
    events = interrupted_call([speech("caller", 28_000, 30_000)], before=[speech("caller", 17_000, 20_000)])
    first, second = ended_turns(events)
    assert near(first, 17_000, 20_000)
    assert first.ended_by == "stall"
    assert near(second, 28_000, 30_000, within=260)
    assert said(events) == [("user", first.start_ms, first.end_ms), ("user", second.start_ms, second.end_ms)]


def test_two_outages_do_not_add_up() -> None:
    """B46 twice: after the second one, times are still those of the call."""
    talk = sound([speech("caller", 1000, 2000), speech("caller", 8000, 9000), speech("caller", 15_000, 16_000)], 18_000)
    carried = Carried(reconnect_grace_ms=10_000)
    for zero, end in ((0, 4000), (7000, 10_000), (13_000, 18_000)):
        carried.wait(max(0, zero - (carried.phone.clock - carried.begun)))
        line = Line(talk, sid=f"MZ{zero}", zero=zero, end=end)
        carried.stream(line, line.pieces(), stop=end == 18_000, lose=None if end == 18_000 else "code 1006")
    events = carried.events()
    assert notices(events)["reconnected"] == 2
    for turn, start in zip(ended_turns(events), (1000, 8000, 15_000), strict=True):
        assert near(turn, start, start + 1000, within=80)


def outage(after: list[Speech], *, restarts: bool, hangs: bool, before: list[Speech]) -> Carried:
    """A call of 33 s whose stream breaks at 20.0 and comes back at 28.0."""
    talk = sound([*before, *after], 33_000)
    carried = Carried(reconnect_grace_ms=10_000)
    first = Line(talk, sid="MZ1", end=20_000)
    carried.stream(first, first.pieces(), stop=False, lose=None if hangs else "code 1006")
    carried.wait(8000)
    second = Line(talk, sid="MZ2", zero=28_000)
    return carried.stream(second, second.pieces(shifted=0 if restarts else 28_000)).end()


def interrupted_call(
    after: list[Speech], *, restarts: bool = True, hangs: bool = False, before: list[Speech] | None = None
) -> list[Event]:
    return heard(outage(after, restarts=restarts, hangs=hangs, before=BEFORE if before is None else before).inputs)
