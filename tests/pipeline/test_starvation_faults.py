"""Audio that stops coming, and calls that end in the middle of a word (B15, B16)."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from connectors.elevenlabs.ending import Ending
from connectors.inputs import CallEnded
from monitor.core.events import Event
from monitor.runtime.tape import Header, TapeWriter
from tests.builders import noise, of, sound, speech, transitions_of, voice
from tests.connectors.recordings.takes import save, stereo, wav
from tests.pipeline.conversations import conversation, converse, delivery
from tests.pipeline.hearing import about, ended_turns, live, near, notices, watched
from tests.pipeline.phone_calls import Carried, Line

TO_THE_END = [speech("caller", 3000, 5000)]
OVER_THE_END = [speech("caller", 1000, 20_000), speech("agent", 4000, 19_000)]


def assert_closed_in_time(events: list[Event], by_ms: int = 4500) -> None:
    """B15: the caller's turn ends at 2.5, and that is known within two seconds."""
    turn = ended_turns(events, "user")[0]
    assert near(turn, 1000, 2500, within=150)
    (ended,) = [event for event in of(events, "turn.ended") if event.turn.index == turn.index]
    assert ended.known_at_ms <= by_ms


def test_a_caller_whose_frames_stop_is_not_speaking_for_ever() -> None:
    """B15: Twilio sends no inbound frames from 2.5 on; the agent keeps talking to 20."""
    talk = sound(OVER_THE_END, 20_000)
    line = Line({"caller": talk["caller"][: 16 * 2500], "agent": talk["agent"]})
    events = Carried().stream(line, line.pieces()).events()
    assert_closed_in_time(events)
    assert [(t.role, t.ended_by) for t in ended_turns(events)] == [("user", "silence"), ("assistant", "silence")]
    assert live(events).summary["talk"]["user"] == about(1.5, 0.1)
    assert notices(events, "caller") == {}


def test_a_caller_whose_frames_are_lost_is_not_speaking_for_ever() -> None:
    """B15: the numbers of the missing frames are missing too, so what was said is unknown, not silence."""
    line = Line(sound(OVER_THE_END, 20_000))
    sent = [(at, text) for at, text in line.pieces() if '"outbound"' in text or at <= 2500]
    events = Carried().stream(line, sent).events()
    assert_closed_in_time(events)
    assert ended_turns(events, "user")[0].ended_by == "stall"
    assert notices(events, "caller") == {"stalled": 1}
    assert live(events).summary["unanswered"]["count"] == 0
    assert live(events).summary["turn_taking"]["score"] is None


def test_a_microphone_that_is_muted_in_a_word_ends_the_turn() -> None:
    """B15: the client of a conversation sends nothing from 2.5 on, and the agent talks for 15 s."""
    frames = delivery(voice(15_000), at=4000, within=900, pieces=60)
    events = converse(frames, [speech("caller", 1000, 20_000)], 21_000, muted=(2500, 21_000))
    assert_closed_in_time(events)
    assert ended_turns(events, "user")[0].ended_by == "stall"
    assert notices(events, "caller") == {"gap": 1}
    (agent,) = ended_turns(events, "assistant")
    assert near(agent, 4040, 19_040, within=40)


def test_a_microphone_that_comes_back_is_heard_again_where_it_belongs() -> None:
    """B15's relative: muted from 2.5 to 10; the caller speaks again from 12 to 13."""
    both = [speech("caller", 1000, 9000), speech("caller", 12_000, 13_000)]
    events = converse([], both, 16_000, muted=(2500, 10_000))
    assert_closed_in_time(events)
    again = ended_turns(events)[-1]
    assert near(again, 12_000, 13_000)
    assert notices(events, "caller") == {"gap": 1, "feed_back": 1}


def test_a_stream_that_falls_silent_on_both_tracks_ends_the_turn() -> None:
    """B15: nothing at all comes any more, and the socket stays open."""
    line = Line(sound([speech("caller", 1000, 20_000)], 20_000))
    carried = Carried().stream(line, [(at, text) for at, text in line.pieces() if at <= 2500], stop=False)
    carried.wait(10_000)
    events = Carried.events(carried.end())
    assert_closed_in_time(events, by_ms=5500)
    assert ended_turns(events)[0].ended_by == "stall"
    assert notices(events)["stalled"] == 1


def assert_truncated(events: list[Event], cause: str, start: int = 3000, end: int = 5000) -> None:
    """B16: the turn is told, marked as cut short by the end of the call, before the summary, which counts it."""
    (turn,) = ended_turns(events, "user")
    assert near(turn, start, end, within=60)
    assert turn.ended_by == "call_end"
    (ended,) = of(events, "turn.ended")
    assert events.index(ended) < len(events) - 1
    assert live(events).cause == cause
    assert live(events).summary["turns"]["user"] == 1
    assert live(events).summary["duration"] == about(5.0, 0.05)


@pytest.mark.parametrize("how", ["a recording", "half a frame", "raw samples", "a header without a length"])
async def test_speech_at_the_end_of_a_file_is_a_turn(how: str, tmp_path: Path) -> None:
    """B16: a file ends at 5.000 s with the caller speaking from 3.0."""
    talk = stereo(*TO_THE_END, length=5000)
    path = tmp_path / "call.raw"
    if how == "a recording":
        source = f"wav:{save(tmp_path / 'call.wav', talk)}"
    elif how == "a header without a length":
        path = tmp_path / "call.wav"
        path.write_bytes(wav(talk.tobytes(), size=0))
        source = f"wav:{path}"
    else:
        path.write_bytes(talk.tobytes()[: -4 * 8 * 9 if how == "half a frame" else None])
        source = f"pcm:{path}"
    assert_truncated(await watched(source, detector="energy"), "end_of_file")


@pytest.mark.parametrize(("how", "cause"), [("stop", "hangup"), ("1006", "disconnected"), ("stopped", "stopped")])
def test_speech_at_the_end_of_a_stream_is_a_turn(how: str, cause: str) -> None:
    """B16: Twilio's stop at 5.000 s; the socket lost with 1006; the program stopped."""
    line = Line(sound(TO_THE_END, 5000))
    carried = Carried().stream(line, line.pieces(), stop=how == "stop", lose="code 1006" if how == "1006" else None)
    if how == "1006":
        carried.wait(5000)
    events = (carried.end() if how == "stopped" else carried).events()
    assert_truncated(events, cause)
    if how == "1006":
        assert any("1006" in event.message for event in of(events, "notice"))


@pytest.mark.parametrize(
    ("ending", "cause"),
    [
        (Ending("client", 1000), "hangup"),
        (Ending("server", 1000), "hangup"),
        (Ending("client", None), "disconnected"),
        (Ending("server", None), "disconnected"),
        (Ending("server", 1011, "unknown_websocket_crash"), "failed"),
        (Ending("relay", 1012), "stopped"),
    ],
    ids=str,
)
def test_speech_at_the_end_of_a_conversation_is_a_turn(ending: Ending, cause: str) -> None:
    """B16: however the sockets of a conversation close, and whoever does it."""
    assert_truncated(converse([], TO_THE_END, 5000, ending=ending), cause)


def test_an_agent_that_is_still_talking_is_cut_where_the_call_ends() -> None:
    """B16: 8 s of audio delivered at 3.0, the caller hangs up at 5.0; what it was going to say was never heard."""
    events = converse(delivery(voice(8000), at=2960, within=300, pieces=30), [], 5000, ending=Ending("client", 1000))
    (turn,) = ended_turns(events, "assistant")
    assert near(turn, 3000, 5000, within=60)
    assert turn.ended_by == "call_end"


def test_both_may_be_talking_at_the_end() -> None:
    """B16: two open turns, both told, and their overlap is scored."""
    events = converse(delivery(voice(8000), at=2460, within=300, pieces=30), TO_THE_END, 5000)
    assert [(t.role, t.ended_by) for t in ended_turns(events)] == [("assistant", "call_end"), ("user", "call_end")]
    ((kind, gap),) = transitions_of(events)
    assert (kind, gap) == ("user_barge_in", about(-2000, 60))


def test_a_program_that_reads_no_further_tells_what_is_open() -> None:
    """B16: the inputs end without an end of the call."""
    from tests.pipeline.hearing import heard

    inputs = [given for given in conversation([], TO_THE_END, 5000) if not isinstance(given, CallEnded)]
    assert_truncated(heard(inputs), "stopped")


async def test_speech_at_the_end_of_a_torn_tape_is_a_turn(tmp_path: Path) -> None:
    """B16: the program that wrote the tape was killed in the middle of a record."""
    writer = TapeWriter(tmp_path, "call", Header("0", "energy", {}))
    inputs = conversation([], TO_THE_END, 5000)
    writer.write([given for given in inputs if not isinstance(given, CallEnded)])
    writer.close()
    with writer.path.open("ab") as file:
        file.write(struct.pack("<II", 1000, 0) + noise(10, 9, 1))
    events = await watched(f"tape:{writer.path}", detector="energy")
    assert_truncated(events, "disconnected")
    assert notices(events)["torn_tape"] == 1
