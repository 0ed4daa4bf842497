"""Where speech begins and ends, whatever the chunks, the rate and the interpreter (B17, B19, B21, B22, B43)."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from connectors import g711
from connectors.simulator.wire_audio import FORMATS
from monitor.config import load
from monitor.core.call import CoreSettings
from monitor.detectors import new_detector
from tests.builders import RATE, noise, of, sound, speech
from tests.cli.process import ROOT, environment
from tests.connectors.recordings.takes import at_rate, save, stereo
from tests.connectors.twilio.phone import Phone, Wire
from tests.pipeline.conversations import conversation, converse, delivery, on_the_wire
from tests.pipeline.hearing import about, ended_turns, heard, near, notices, said, watched
from tests.pipeline.phone_calls import Line, call

QUICK = load(assignments=["timeline.max_pause_ms=600"]).core
"""A pause of 0.9 s ends a turn."""

TWICE = [speech("caller", 1000, 2000), speech("caller", 2900, 3900)]
CHUNKS = [7, 20, 100, 2900]

Way = Callable[[int, CoreSettings], list[tuple[str, int, int]]]


def through_the_relay(chunk_ms: int, settings: CoreSettings) -> list[tuple[str, int, int]]:
    inputs = conversation([], TWICE, 5800, chunk_ms=chunk_ms, caller_format="pcm_16000")
    return said(heard(inputs, settings))


def through_twilio(chunk_ms: int, settings: CoreSettings) -> list[tuple[str, int, int]]:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    pcm = sound(TWICE, 5800)
    for at in range(0, 5800, chunk_ms):
        for track, name in (("caller", "inbound"), ("agent", "outbound")):
            data = pcm[track][16 * at : 16 * min(at + chunk_ms, 5800)]  # type: ignore[index]
            phone.hear(stream, [wire.media(at, g711.compress(g711.MULAW, data), name)], step_ms=chunk_ms // 2)
    phone.hear(stream, [wire.stop()])
    return said(heard(phone.inputs, settings))


@pytest.mark.parametrize(
    ("way", "chunk_ms"),
    [*((through_the_relay, ms) for ms in (7, 20, 100, 1000)), *((through_twilio, ms) for ms in CHUNKS)],
    ids=lambda value: getattr(value, "__name__", f"{value} ms"),
)
def test_two_turns_in_one_chunk_are_two_turns(way: Way, chunk_ms: int) -> None:
    """B17: 1.0 s of speech, 0.9 s of silence, 1.0 s of speech, in chunks of 7 ms or all in one."""
    (_, first_start, first_end), (_, second_start, second_end) = way(chunk_ms, QUICK)
    # Frames lie on a grid of 20 ms, and chunks of 7 ms on none.
    assert [first_start, first_end] == about([1000, 2000], 20)
    assert [second_start, second_end] == about([2900, 3900], 20)
    assert len(way(chunk_ms, CoreSettings())) == 1, "by default a pause of 0.9 s is inside a turn"


def test_a_microphone_that_is_silent_for_seconds_and_then_sends_them_is_told() -> None:
    """B17 beyond what can be: a live client that sends 2.9 s at a time is a second behind what has to be decided."""
    events = converse([], TWICE, 5800, chunk_ms=2900)
    assert {"gap", "late_audio"} <= set(notices(events))


@pytest.mark.parametrize("pieces", [1, 3, 290])
def test_two_turns_in_one_burst_of_the_agent_are_two_turns(pieces: int) -> None:
    """B17 for the agent: 2.9 s with a pause in it, in one message."""
    line = sound([speech("agent", 0, 1000), speech("agent", 1900, 2900)], 2900)["agent"]
    inputs = conversation(delivery(line, at=960, within=200, pieces=pieces), [], 6000)
    assert said(heard(inputs, QUICK)) == [("assistant", 1000, 2000), ("assistant", 2900, 3900)]


@pytest.mark.parametrize("chunk", CHUNKS)
async def test_two_turns_in_one_read_of_a_pipe_are_two_turns(chunk: int, tmp_path: Path) -> None:
    """B17 for raw samples, read in pieces of these sizes."""
    path = tmp_path / "call.raw"
    path.write_bytes(stereo(*TWICE, length=5800).tobytes())
    from connectors.pcm_stream import PcmStream
    from connectors.source import SourceOptions

    with path.open("rb") as file:
        inputs = [given async for given in PcmStream(file.fileno(), SourceOptions(piece_ms=chunk)).inputs()]
    assert said(heard(inputs, QUICK)) == [("user", 1000, 2000), ("user", 2900, 3900)]


@pytest.mark.parametrize("form", FORMATS)
def test_every_wire_format_gives_the_same_turns(form: str) -> None:
    """B19: 1 s of silence, 2 s of speech, 1 s of silence, on both sides of a conversation."""
    frames = delivery(sound([speech("agent", 0, 2000)], 2000)["agent"], form, at=4960, within=300, pieces=25)
    events = converse(
        frames, [speech("caller", 1000, 3000)], 8500, agent_format=form, caller_format=form, detector="webrtc"
    )
    caller, agent = ended_turns(events)
    assert near(caller, 1000, 3000)
    assert near(agent, 5000, 7000)


@pytest.mark.parametrize("rate", [8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000])
async def test_every_rate_of_a_recording_gives_the_same_turn(rate: int, tmp_path: Path) -> None:
    """B19: at each rate, from a file and from raw samples, with the detector that calls are watched with."""
    talk = at_rate(stereo(speech("caller", 1000, 3000), length=4000), rate)
    raw = tmp_path / "call.raw"
    raw.write_bytes(talk.tobytes())
    for word in (f"wav:{save(tmp_path / 'call.wav', talk, rate)}", f"pcm:{raw}?rate={rate}"):
        (turn,) = ended_turns(await watched(word))
        assert near(turn, 1000, 3000)


@pytest.mark.parametrize("rate", [11_025, 24_000, 44_100, 48_000])
def test_the_detector_itself_refuses_a_rate_that_it_has_no_model_for(rate: int) -> None:
    """B19: it is never asked for one, and says so if it is."""
    with pytest.raises(ValueError, match=str(rate)):
        new_detector("webrtc")(rate)


@pytest.mark.parametrize("name", ["webrtc", "energy"])
@pytest.mark.parametrize("size", [0, 1, 319, 321, 2 * 8 * 25, 2 * 8 * 10])
def test_the_detector_itself_refuses_what_is_no_whole_frame(name: str, size: int) -> None:
    """B19: frames of 25 and 10 ms, odd buffers and empty ones."""
    detector = new_detector(name)(RATE)
    with pytest.raises(ValueError, match=f"{size} bytes are not a whole number of 20 ms frames"):
        detector.voiced(bytes(size))
    assert len(detector.voiced(noise(60, 5000, 1))) == 3


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        cwd=ROOT,
        env=environment(),
        timeout=60,
        check=False,
    )


def test_no_module_that_left_the_standard_library_is_needed(tmp_path: Path) -> None:
    """B21, B22: a recording with the default detector and a call in mu-law, without audioop and pkg_resources."""
    (tmp_path / "call.json").write_text(json.dumps(call_texts()))
    path = save(tmp_path / "call.wav", stereo(speech("caller", 500, 1500), length=3000))
    code = """
import sys
for gone in ("audioop", "pkg_resources", "setuptools", "distutils", "imp", "telnetlib", "cgi"):
    sys.modules[gone] = None
import json
from monitor.cli import main
from tests.pipeline.test_vad_faults import heard_from_twilio
print(heard_from_twilio(json.load(open(sys.argv[2]))))
sys.stdout.flush()
raise SystemExit(main(["watch", "wav:" + sys.argv[1], "--speed", "max", "--json"]))
"""
    done = python(code, str(path), str(tmp_path / "call.json"))
    assert done.returncode == 0, done.stderr
    first, *told = done.stdout.splitlines()
    assert first == b"[('user', 500, 1500)]"
    assert [json.loads(line)["type"] for line in told].count("turn.ended") == 1


def call_texts() -> list[str]:
    """The messages of a Twilio call."""
    line = Line(sound([speech("caller", 500, 1500)], 3000))
    return [line.wire.start(), *(text for _, text in line.pieces()), line.wire.stop()]


def heard_from_twilio(texts: list[str]) -> list[tuple[str, int, int]]:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, texts[1:])
    return said(heard(phone.inputs))


def test_mu_law_is_decoded_by_its_table() -> None:
    """B22: 0xFF and 0x7F are zero, 0x80 and 0x00 the loudest, +32124 and -32124."""
    phone, wire = Phone(), Wire(tracks=("inbound",))
    stream = phone.join(wire)
    phone.wait(1000)
    phone.hear(stream, [wire.media(0, bytes([0xFF, 0x7F, 0x80, 0x00] * 40)), wire.stop()])
    assert phone.heard()[:4].tolist() == [0, 0, 32_124, -32_124]
    assert base64.b64decode("/38AgA==") == bytes([0xFF, 0x7F, 0x00, 0x80])
    assert np.array_equal(phone.heard(), np.tile(phone.heard()[:4], 40))


@pytest.mark.parametrize("way", ["elevenlabs", "twilio"])
def test_a_turn_starts_where_its_voice_does_and_not_where_it_was_noticed(way: str) -> None:
    """B43: a rule that needs 200 ms of speech to begin and 600 ms of silence to end; speech 1.000-2.000."""
    slow = load(assignments=["speech.open_ms=200", "speech.close_ms=600", "speech.min_stretch_ms=200"]).core
    one = [speech("caller", 1000, 2000)]
    if way == "elevenlabs":
        events = heard(conversation([], one, 6000), slow)
    else:
        line = Line(sound(one, 6000))
        phone = Phone()
        phone.hear(phone.join(line.wire), [text for _, text in line.pieces()])
        events = heard([*phone.inputs, *phone.call.stopped(phone.clock)], slow)
    (turn,) = ended_turns(events)
    assert near(turn, 1000, 2000)
    assert turn.duration_ms == about(1000, 120)
    (started,) = of(events, "turn.started")
    (ended,) = of(events, "turn.ended")
    assert (started.at_ms, ended.at_ms) == (turn.start_ms, turn.end_ms)
    assert started.known_at_ms >= 1200, "when it could be said is another field"
    assert ended.known_at_ms >= 2600


def test_the_end_has_no_hangover() -> None:
    """B43's relative: WebRTC's decision goes on for 100 ms after the voice; the turn does not."""
    events = converse([], [speech("caller", 1000, 2000)], 6000, detector="webrtc")
    (turn,) = ended_turns(events)
    assert near(turn, 1000, 2000, within=40)


def test_samples_of_a_format_are_what_they_were() -> None:
    """What the tests above send is speech at the rate that is announced, not noise of another length."""
    pcm = noise(1000, 5000, 3)
    for form in FORMATS:
        rate, width = int(form.split("_")[1]), 1 if form.startswith("ulaw") else 2
        assert len(on_the_wire(pcm, form)) == rate * width
    assert call(Line(sound([speech("caller", 500, 900)], 1500)))[-1].type == "call.ended"
