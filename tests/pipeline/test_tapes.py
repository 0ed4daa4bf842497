"""Same tape, same bytes: what a live call was told is told again from its tape, to the byte.

`tests/runtime/test_replay.py` does it for any inputs and for the rehearsed demo; here the calls come over sockets.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.base import ConnectorError
from connectors.inputs import Input
from connectors.simulator.caller import Caller
from connectors.simulator.elevenlabs import ElevenLabsSimulator
from connectors.simulator.habits import Habits
from connectors.simulator.twilio import TwilioCarrier
from connectors.simulator.twilio_frames import CarrierSettings
from monitor.core.encode import encode
from monitor.core.events import CallEnded, Event
from monitor.runtime.demo import Demo
from monitor.runtime.tape import MAGIC, Tape
from monitor.runtime.watch import watch
from tests.builders import sound, speech
from tests.connectors.elevenlabs.stage import PATH
from tests.connectors.simulator.calls import ANSWER, CUT
from tests.pipeline.contract import check_stream
from tests.pipeline.hearing import assert_one_line, live, notices
from tests.pipeline.serving import Serving, lines_of, serving, upstream

TALK = [
    speech("caller", 400, 1400),
    speech("agent", 1900, 4500),
    speech("caller", 2600, 2900),
    speech("caller", 4100, 5600),
    speech("agent", 6200, 7400),
]
LOSSY = CarrierSettings(loss=0.04, duplicate=0.02, swap=0.03, hold_ms=120, seed=11)


async def replayed(tape: Path) -> list[bytes]:
    """The lines that a tape gives."""
    events = [event async for event in watch(f"tape:{tape}", speed=None)]
    check_stream(events)
    return lines_of(events)


async def assert_the_same_again(here: Serving) -> list[Event]:
    """The one call's tape gives its very lines. -> its events."""
    call = await here.call()
    assert here.tapes is not None
    (tape,) = here.tapes.iterdir()
    assert await replayed(tape) == lines_of(call)
    return call


@pytest.mark.parametrize(
    ("carrier", "kinds"),
    [
        (LOSSY, {"gap", "duplicate", "reordered"}),
        (CarrierSettings(drop_silence=True, payload_bytes=(160, 37, 801)), set()),
        (CarrierSettings(loss=0.3, seed=3), {"gap"}),
        (CarrierSettings(tracks=("inbound",)), {"one_way_audio"}),
    ],
    ids=["loss", "silence not sent", "heavy loss", "one track"],
)
async def test_a_media_stream_is_heard_again_as_it_was(
    carrier: CarrierSettings, kinds: set[str], tmp_path: Path
) -> None:
    pcm = sound(TALK, 9000)
    async with serving("twilio.pairing_ms=100", tape_dir=tmp_path) as here:
        await TwilioCarrier(here.url(), carrier, speed=12).call(pcm["caller"], pcm["agent"])
        call = await assert_the_same_again(here)
    assert kinds <= set(notices(call))
    assert live(call).summary["turns"]["user"] >= 1


async def test_a_stream_that_was_away_is_heard_again_as_it_was(tmp_path: Path) -> None:
    """Outages are measured by the wall clock, once: on the tape they are times of the call."""
    pcm = sound(TALK, 2400)
    async with serving(tape_dir=tmp_path) as here:
        carrier = TwilioCarrier(here.url(), LOSSY, speed=2, lost_at_ms=800, away_ms=400)
        await carrier.call(pcm["caller"], pcm["agent"])
        call = await assert_the_same_again(here)
    assert {"stream_lost", "reconnected"} <= set(notices(call))


@pytest.mark.parametrize("habits", [Habits(), Habits(late_ms=400, interruption_id="missing", agent_format="pcm_24000")])
async def test_a_conversation_is_heard_again_as_it_was(habits: Habits, tmp_path: Path) -> None:
    async with ElevenLabsSimulator(CUT, habits) as agent, serving(upstream(agent), tape_dir=tmp_path) as here:
        await Caller(CUT, limit_ms=20_000).call(here.url(f"{PATH}?agent_id=any"))
        call = await assert_the_same_again(here)
    assert live(call).cause == "hangup"
    assert {"turn.text", "turn.ended"} & {event.type for event in call}


async def test_the_demo_call_is_heard_again_as_it_was(tmp_path: Path) -> None:
    """As `turnwatch demo` holds it: a real caller, the real relay, real sockets, with a shorter scenario."""
    told: list[Event] = []

    async def deliver(event: Event) -> None:
        told.append(event)

    await Demo(tape_dir=tmp_path, scenario=ANSWER).run(deliver)
    check_stream(told)
    (tape,) = tmp_path.iterdir()
    assert await replayed(tape) == lines_of(told)
    assert len([event for event in told if event.type == "turn.ended"]) == 3


async def test_a_call_that_is_stopped_is_heard_again_as_it_was(tmp_path: Path) -> None:
    """The program ends in the middle of it: the end that it makes up itself is on the tape, too."""
    pcm = sound(TALK, 9000)
    async with serving(tape_dir=tmp_path) as here:
        playing = asyncio.create_task(TwilioCarrier(here.url(), LOSSY, speed=2).call(pcm["caller"], pcm["agent"]))
        await here.until(lambda: any(e.type == "turn.updated" for events in here.told.values() for e in events))
        await here.service.stop()
        call = await assert_the_same_again(here)
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
    assert live(call).cause == "stopped"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[bytes]]:
    """The tape of a call with loss, and its lines."""
    folder = tmp_path_factory.mktemp("tapes")

    async def record() -> list[bytes]:
        pcm = sound(TALK, 5000)
        async with serving(tape_dir=folder) as here:
            await TwilioCarrier(here.url(), LOSSY, speed=None).call(pcm["caller"], pcm["agent"])
            return lines_of(await here.call())

    lines = asyncio.run(record())
    (tape,) = folder.iterdir()
    return tape.read_bytes(), lines


def records_in(content: bytes, path: Path) -> list[Input]:
    path.write_bytes(content)

    async def read() -> list[Input]:
        return [one async for one in Tape(path).inputs()]

    return asyncio.run(read())


def test_a_tape_torn_at_any_byte_is_read_to_its_last_whole_record(
    recorded: tuple[bytes, list[bytes]], tmp_path: Path
) -> None:
    """At 120 places, the first and the last among them. What stands before the tear is what was recorded."""
    content, _ = recorded
    path = tmp_path / "torn.tape"
    whole = records_in(content, path)
    dice, kept, refused = random.Random(5), -1, 0
    for size in sorted({*dice.sample(range(len(content)), 110), *range(8), len(content) - 1, len(content) - 2}):
        try:
            got = records_in(content[:size], path)
        except ConnectorError as refusal:
            assert_one_line(refusal)
            refused = size
            continue
        assert got[:-2] == whole[: len(got) - 2]
        assert len(got) >= kept, "a longer tape holds no less"
        kept = len(got)
    beginning = len(MAGIC) + 8 + int.from_bytes(content[len(MAGIC) : len(MAGIC) + 4], "little")
    assert refused < beginning, "only a tape without a beginning is refused"
    assert kept == len(whole) + 1, "all but the last record, and two that say so"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
async def test_a_torn_tape_tells_what_it_told_as_far_as_it_goes(
    share: float, recorded: tuple[bytes, list[bytes]], tmp_path: Path
) -> None:
    content, lines = recorded
    path = tmp_path / "torn.tape"
    path.write_bytes(content[: int(len(content) * share)])
    told = await replayed(path)
    same = next(n for n, (one, other) in enumerate(zip(told, lines, strict=False)) if one != other)
    assert told[:same] == lines[:same]
    assert b'"cause":"disconnected"' in told[-1]
    assert [line for line in told[same:] if b'"torn_tape"' in line]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=4))
def test_a_damaged_tape_is_read_to_the_damage(
    recorded: tuple[bytes, list[bytes]], tmp_path: Path, places: list[tuple[float, int]]
) -> None:
    """Bits change anywhere: what stands before them is told as it was, or the tape is refused."""
    content, lines = recorded
    damaged = bytearray(content)
    for share, bits in places:
        damaged[int(share * (len(content) - 1))] ^= bits
    path = tmp_path / "damaged.tape"
    path.write_bytes(damaged)
    try:
        told = asyncio.run(replayed(path))
    except ConnectorError as refusal:
        assert_one_line(refusal)
        return
    if bytes(damaged) != content:
        assert told != lines
        assert CallEnded.type.encode() in told[-1]


async def test_the_tapes_of_two_calls_at_once_hold_a_call_each(tmp_path: Path) -> None:
    first, second = sound(TALK, 5000), sound([speech("agent", 500, 2000)], 5000, seed=3)
    async with serving(tape_dir=tmp_path) as here:
        await asyncio.gather(
            TwilioCarrier(here.url(), LOSSY, speed=20).call(first["caller"], first["agent"], call_sid="CA1"),
            TwilioCarrier(here.url(), speed=20).call(second["caller"], second["agent"], call_sid="CA2"),
        )
        await here.over(2)
        for name, events in here.told.items():
            assert await replayed(tmp_path / f"{name}.tape") == [encode(event) for event in events]
