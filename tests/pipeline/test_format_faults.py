"""What the bytes are (B25, B26, B28, B33): odd chunks, empty ones, other rates than was thought, lying headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.simulator.wire_audio import FORMATS
from tests.builders import noise, of, sound, speech, voice
from tests.cli.process import events as lines
from tests.cli.process import run
from tests.connectors.elevenlabs.stage import agent_audio, caller_audio, message, metadata
from tests.connectors.recordings.takes import chunk, extensible, save, stereo, wav
from tests.connectors.twilio.phone import Phone, Wire
from tests.pipeline.contract import check_stream
from tests.pipeline.conversations import Frame, conversation, converse, delivery, on_the_wire
from tests.pipeline.hearing import about, ended_turns, heard, near, notices, said
from tests.pipeline.phone_calls import Line, call

QUIET = noise(3000, 5, 1)
"""Near-silence: shifted by a byte it would be loud noise."""


def odd_chunks(data: bytes) -> list[bytes]:
    """641 bytes, 639, 641, … and one lone byte at the end."""
    pairs = [data[at + begin : at + end] for at in range(0, len(data), 1280) for begin, end in ((0, 641), (641, 1280))]
    return [piece for piece in pairs if piece] + [b"\x7f"]


@pytest.mark.parametrize("side", ["agent", "caller"])
@pytest.mark.parametrize("form", ["pcm_8000", "pcm_16000", "pcm_44100"])
def test_odd_chunks_of_near_silence_are_near_silence(side: str, form: str) -> None:
    """B25 on both sides of a conversation: nobody speaks, nothing fails."""
    pieces = odd_chunks(on_the_wire(QUIET, form))
    step = 3000 / len(pieces)
    if side == "agent":
        frames = [(round(1000 + n * step / 2), agent_audio(piece)) for n, piece in enumerate(pieces)]
        events = converse(frames, [], 6000, agent_format=form, detector="webrtc")
    else:
        client = [(round(1000 + n * step), caller_audio(piece)) for n, piece in enumerate(pieces)]
        events = converse([], [], 6000, caller_format=form, client=client, muted=(0, 6000), detector="webrtc")
    assert said(events) == []
    assert "late_audio" not in notices(events)


def test_odd_chunks_of_a_voice_are_the_voice() -> None:
    """B25: no sample of speech is shifted, doubled or lost, and each reply starts anew."""
    frames: list[Frame] = []
    for number, at in enumerate((1000, 5000)):
        data = on_the_wire(voice(2000, number), "pcm_16000") + b"\x11"
        cuts = range(0, len(data), 641)
        frames += [(at + n, agent_audio(data[cut : cut + 641], number + 1)) for n, cut in enumerate(cuts)]
    events = converse(frames, [], 9000)
    assert [turn.duration_ms for turn in ended_turns(events)] == about([2000, 2000], 20)
    assert [turn.start_ms for turn in ended_turns(events)] == about([1040, 5040], 20)
    assert notices(events)["bad_payload"] == 1


def test_odd_payloads_of_wide_words_are_near_silence() -> None:
    """B25 on a media stream of 16-bit words: 641 and 639 bytes in turn."""
    phone, wire = Phone(), Wire(tracks=("inbound",))
    stream = phone.join(wire, encoding="audio/x-l16")
    at = 0
    for piece in odd_chunks(QUIET):
        phone.hear(stream, [wire.media(at // 16, piece)], step_ms=20)
        at += len(piece)
    phone.hear(stream, [wire.stop()])
    events = heard(phone.inputs, detector="webrtc")
    assert said(events) == []


def test_odd_chunks_through_a_pipe_are_near_silence() -> None:
    """B25 on standard input, where the last byte is dropped and counted."""
    done = run("watch", "pcm:-", "--channels", "caller", "--json", stdin=QUIET + b"\x7f")
    told = lines(done.stdout)
    check_stream(told)
    assert done.returncode == 0
    assert [line["count"] for line in told if line.get("kind") == "bad_payload"] == [1]
    assert not [line for line in told if line["type"] == "turn.started"]


@pytest.mark.parametrize("nothing", ['""', "null", "[]", "missing"])
def test_empty_audio_of_a_conversation_changes_nothing(nothing: str) -> None:
    """B26: an empty, null, wrong or missing payload between the others, on both sides, is counted; the turns stand."""
    field = "" if nothing == "missing" else f'"audio_base_64":{nothing},'
    agent = f'{{"type":"audio","audio_event":{{{field}"event_id":1}}}}'
    caller = "{}" if nothing == "missing" else f'{{"user_audio_chunk":{nothing}}}'
    frames = delivery(voice(2000), at=3960, within=200, pieces=20)
    clean = converse(frames, [speech("caller", 1000, 3000)], 9000)
    events = converse(
        [*frames, *((at, agent) for at in (500, 4000, 4100, 7000))],
        [speech("caller", 1000, 3000)],
        9000,
        client=[(at, caller) for at in (510, 1510, 2510, 7010)],
    )
    assert said(events) == said(clean) == [("user", 1000, 3000), ("assistant", 4000, 6000)]
    counts = notices(events)
    assert counts.get("empty_audio", 0) + counts.get("bad_payload", 0) == 8


@pytest.mark.parametrize("nothing", ['"payload":""', '"payload":null', '"timestamp":"7"', '"payload":"","chunk":"9"'])
def test_empty_payloads_of_a_stream_change_nothing(nothing: str) -> None:
    """B26: they are counted, and the timeline stands."""
    line = Line(sound([speech("caller", 1000, 3000)], 5000))
    sent = line.pieces()
    empty = f'{{"event":"media","streamSid":"MZ1","media":{{"track":"inbound",{nothing}}}}}'
    events = call(line, sorted([*sent, *((at, empty) for at in (1010, 2010, 3010, 4010))], key=lambda one: one[0]))
    assert said(events) == [("user", 1000, 3000)]
    assert notices(events) == {"bad_payload": 4}


@pytest.mark.parametrize("form", FORMATS)
def test_the_rate_is_what_the_metadata_says(form: str) -> None:
    """B28: 8 s of agent audio in each format, where the client's own configuration says nothing else."""
    events = converse(delivery(voice(8000), form, at=1000), [], 11_000, agent_format=form)
    (turn,) = ended_turns(events)
    assert turn.duration_ms == about(8000, 40)
    started = events[0].as_dict()
    rate = int(form.split("_")[1])
    encoding = "mulaw" if form.startswith("ulaw") else "pcm_s16le"
    assert started["tracks"]["agent"] == {"encoding": encoding, "sample_rate": rate}
    assert started["tracks"]["caller"] == {"encoding": "pcm_s16le", "sample_rate": 16_000}


def test_the_two_sides_may_differ() -> None:
    """B28: 44100 out and 8000 mu-law in."""
    events = converse(
        delivery(voice(2000), "pcm_44100", at=3960),
        [speech("caller", 1000, 3000)],
        8000,
        agent_format="pcm_44100",
        caller_format="ulaw_8000",
    )
    assert said(events) == [("user", 1000, 3000), ("assistant", 4000, 6000)]


@pytest.mark.parametrize("form", ["pcm_", "opus_48000", "pcm_7999", "pcm_999999", "ulaw", "\x1b[31m", "pcm_-16000"])
def test_an_unknown_format_is_told_and_that_side_is_not_guessed(form: str) -> None:
    """B28: no turn of a wrong length; the other side is watched, and there is no score of one side alone."""
    events = converse(delivery(voice(4000), at=4000), [speech("caller", 1000, 3000)], 9000, agent_format=form)
    (told,) = [event for event in of(events, "notice") if event.kind == "unknown_format"]
    assert told.track == "agent"
    assert told.message.isprintable()
    assert said(events) == [("user", 1000, 3000)]
    assert events[-1].as_dict()["summary"]["turn_taking"]["score"] is None
    assert events[0].as_dict()["tracks"]["agent"] is None


def test_metadata_without_formats_falls_back_and_says_so() -> None:
    """B28: the JavaScript SDK takes a missing format as pcm_16000; so is it here, with a notice."""
    opening = [(0, metadata(agent=None, caller=None))]
    events = converse(delivery(voice(4000), at=1000), [], 7000, opening=opening)
    (turn,) = ended_turns(events)
    assert near(turn, 1000, 5000)
    assert notices(events)["no_metadata"] == 1


def test_metadata_that_comes_late_holds_from_there_on() -> None:
    """B28: two seconds of agent audio come before the metadata says 24000."""
    late = (3000, metadata(agent="pcm_24000", caller="pcm_16000"))
    frames = [*delivery(voice(1000), at=1000, event=1), late, *delivery(voice(3000), "pcm_24000", at=4000, event=2)]
    events = converse(frames, [], 9000, opening=[])
    assert [turn.duration_ms for turn in ended_turns(events)] == about([1000, 3000], 20)
    assert notices(events)["no_metadata"] >= 1


AUDIO = stereo(speech("caller", 500, 1500), speech("agent", 1800, 3600), length=4000).astype("<i2").tobytes()
TURNS = [("user", 500, 1500), ("assistant", 1800, 3600)]


@pytest.mark.parametrize(
    ("content", "warned"),
    [
        pytest.param(wav(AUDIO, size=0xFFFFFFFF), True, id="size unknown"),
        pytest.param(wav(AUDIO)[:-3], True, id="cut in a frame"),
        pytest.param(wav(AUDIO, tag=0xFFFE, extra=extensible(16), before=chunk(b"LIST", b"INFOx")), False, id="rare"),
    ],
)
def test_a_recording_whose_header_lies_is_watched_whole(content: bytes, warned: bool, tmp_path: Path) -> None:
    """B33: through the program. `tests/connectors/recordings/test_wav_headers.py` has every header there is."""
    path = tmp_path / "call.wav"
    path.write_bytes(content)
    done = run("watch", f"wav:{path}", "--speed", "max", "--json", "--set", "speech.detector=webrtc")
    told = lines(done.stdout)
    check_stream(told)
    assert (done.returncode, done.stderr) == (0, b"")
    assert told[-1]["summary"]["duration"] == about(4.0, 0.001)
    turns = [line["turn"] for line in told if line["type"] == "turn.ended"]
    for turn, (role, start, end) in zip(turns, TURNS, strict=True):
        assert turn["role"] == role
        times = [turn["start_time"], turn["start_time"] + turn["duration"]]
        assert times == about([start / 1000, end / 1000], 0.12)
    assert told[-1]["summary"]["notices"] == ({"bad_header": 1} if warned else {})


def test_a_recording_in_a_format_that_is_not_read_is_one_line(tmp_path: Path) -> None:
    """B33: 8-bit and mu-law are read; GSM is named and refused."""
    talk = stereo(speech("caller", 500, 1500), speech("agent", 1800, 3600), length=4000)
    eight_bits, mulaw = (str(save(tmp_path / f"{kind}.wav", talk, subtype=kind)) for kind in ("PCM_U8", "ULAW"))
    done = run("watch", eight_bits, mulaw, "--speed", "max", "--json")
    assert done.returncode == 0
    told = [line for line in lines(done.stdout) if line["type"] == "call.ended"]
    assert [line["summary"]["turns"] for line in told] == [{"user": 1, "assistant": 1}] * 2
    path = tmp_path / "call.wav"
    path.write_bytes(wav(AUDIO, tag=0x83))
    done = run("watch", str(path), "--speed", "max", "--json")
    assert (done.returncode, done.stdout) == (3, b"")
    assert len(done.stderr.splitlines()) == 1
    assert b"G.729" in done.stderr


def test_a_message_of_a_conversation_that_is_no_audio_is_none() -> None:
    """B26's relative: audio as a number, as a list, as a mapping, in the wrong field."""
    odd = [message("audio", audio_event={"audio_base_64": value, "event_id": 1}) for value in (5, [1], {"a": 1}, True)]
    odd += [message("audio"), message("audio", audio_event=None), message("audio", audio="AAAA")]
    inputs = conversation([(1000 + n, frame) for n, frame in enumerate(odd)], [], 4000)
    events = heard(inputs)
    assert said(events) == []
    assert notices(events) == {"bad_payload": len(odd)}
