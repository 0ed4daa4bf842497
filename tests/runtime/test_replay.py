"""Same tape, same bytes: whatever a call was made of, its tape gives the very lines again, with the real core."""

from __future__ import annotations

import array
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
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
    Track,
    TrackFormat,
)
from connectors.simulator.rehearsal import rehearse
from connectors.simulator.scenario_demo import DEMO
from monitor.config import load
from monitor.core.encode import encode
from monitor.runtime.tape import Tape
from monitor.runtime.watch import watch
from tests.runtime.sources import Script


def sound(seed: int, ms: int, loud: bool) -> bytes:
    """Noise that comes and goes as a voice does, or near silence."""
    dice, level = random.Random(seed), 6000 if loud else 3
    return array.array("h", (dice.randint(-level, level) for _ in range(8 * ms))).tobytes()


@st.composite
def calls(draw: st.DrawFn) -> list[Input]:
    """A call whose parts come in a plausible order, and then some."""
    delivered = draw(st.booleans())
    tracks = {"caller": TrackFormat(), "agent": TrackFormat(timing="delivered" if delivered else "heard")}
    policy = PlayoutPolicy(late=draw(st.sampled_from(["drop", "keep"])))
    out: list[Input] = [CallStarted("a call", "test", tracks=tracks, playout=policy)]
    now = 0
    for step in draw(st.lists(st.tuples(st.integers(0, 9), st.integers(20, 700), st.booleans()), max_size=40)):
        what, ms, flag = step
        track: Track = "caller" if flag else "agent"
        out.append(
            [
                Audio(track, now, sound(ms, ms, loud=True), response=what),
                Audio(track, now, sound(ms, ms, loud=True)),
                Audio(track, now, sound(ms, ms, loud=False)),
                Audio("caller", now, sound(ms, ms, loud=flag)),
                Audio("agent", now, sound(ms, ms, loud=flag), response=1),
                Cut("agent", now, 1 if flag else None),
                Text(track, now, f"words {ms}", "response"),
                Stall(track, now, now + ms),
                Elapsed(now),
                Notice(now, "gap", "something is missing", track),
            ][what]
        )
        now += ms if what in (0, 3, 7, 8) else 0
    if draw(st.booleans()):
        out.append(CallEnded(now, "hangup"))
    return out


async def lines(source: object, tape_dir: Path | None = None) -> list[bytes]:
    return [encode(event) async for event in watch(source, speed=None, tape_dir=tape_dir)]  # type: ignore[arg-type]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(calls())
async def test_any_call_is_heard_again_as_it_was(tmp_path: Path, call: list[Input]) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    live = await lines(Script(call), tmp_path)
    assert live
    assert await lines(f"tape:{tmp_path}/a_call.tape") == live


async def test_a_replay_uses_the_settings_on_the_tape(tmp_path: Path) -> None:
    script = rehearse(DEMO).inputs[:800]
    odd = load(assignments=["speech.open_ms=300"])
    recorded = [encode(event) async for event in watch(Script(script), config=odd, speed=None, tape_dir=tmp_path)]
    assert recorded != await lines(Script(script))
    (tape,) = tmp_path.iterdir()
    assert await lines(f"tape:{tape}") == recorded
    assert Tape(tape).header.settings["speech"]["open_ms"] == 300


async def test_the_demo_call_is_heard_again_as_it_was(tmp_path: Path) -> None:
    inputs = rehearse(DEMO).inputs
    live = await lines(Script(inputs), tmp_path)
    assert len(live) > 50
    (tape,) = tmp_path.iterdir()
    assert await lines(f"tape:{tape}") == live


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.99])
async def test_a_torn_tape_tells_the_same_as_far_as_it_goes(tmp_path: Path, cut: float) -> None:
    live = await lines(Script(rehearse(DEMO).inputs), tmp_path)
    (tape,) = tmp_path.iterdir()
    content = tape.read_bytes()
    tape.write_bytes(content[: int(len(content) * cut)])
    again = await lines(f"tape:{tape}")
    same = next(number for number, (one, other) in enumerate(zip(again, live, strict=False)) if one != other)
    assert again[:same] == live[:same]
    assert any(b"torn_tape" in line for line in again[same:])
    assert b'"disconnected"' in again[-1]
