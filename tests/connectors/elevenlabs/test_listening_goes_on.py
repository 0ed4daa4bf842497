"""From the frames of a conversation that has begun to the inputs of a call; the clock is the test's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.inputs import Audio, CallEnded, CallStarted, Cut, Elapsed, Notice, Text
from tests.connectors.elevenlabs.line import Line
from tests.connectors.elevenlabs.stage import agent_audio, caller_audio, interruption, message, metadata, ping, tone


def test_agent_audio_is_stamped_with_when_the_client_has_it() -> None:
    line = Line()
    line.server(0, metadata())
    line.server(50, ping(1))
    line.client(110, message("pong", event_id=1))
    line.server(1000, agent_audio(tone(100), 4), interruption(4))
    assert [(audio.at, audio.response) for audio in line.of(Audio)] == [(1030, 4)]
    assert line.of(Cut) == [Cut("agent", 1030, 4)]
    assert line.close(2000).at == 2030


def test_the_smallest_round_trip_counts_and_half_a_second_is_the_most() -> None:
    line = Line()
    line.server(0, metadata())
    line.server(0, ping(1), ping(2))
    line.client(3000, message("pong", event_id=1), message("pong", event_id=1), message("pong", event_id=77))
    line.server(3000, interruption())
    line.client(3100, message("pong", event_id=2))
    line.server(4000, ping(3))
    line.client(4020, message("pong", event_id="3"))
    line.server(5000, interruption())
    line.listener.round_trip(6)
    line.listener.round_trip(-1)
    line.server(6000, interruption())
    assert [cut.at for cut in line.of(Cut)] == [3500, 5010, 6003]


def test_an_interruption_without_an_id_cuts_all_the_same() -> None:
    line = Line()
    line.server(0, metadata())
    line.server(10, message("interruption", interruption_event={"reason": "user"}), message("interruption"))
    assert line.of(Cut) == [Cut("agent", 10, None), Cut("agent", 10, None)]


def test_half_a_sample_is_carried_within_a_response_and_harms_no_other() -> None:
    line = Line()
    line.server(0, metadata(agent="pcm_8000"))
    pcm = tone(40, 8000)
    line.server(10, agent_audio(pcm[:101], 1), agent_audio(pcm[101:], 1), agent_audio(b"\x7f", 1))
    line.server(20, agent_audio(pcm, 2))
    line.close(30)
    by_response = {n: b"".join(a.pcm for a in line.of(Audio) if a.response == n) for n in (1, 2)}
    assert by_response == {1: pcm, 2: pcm}
    assert line.notices() == {"bad_payload": 1}


def test_the_clock_is_told_with_the_callers_audio_and_by_the_sweep_but_not_beyond_audio_that_waits() -> None:
    line = Line()
    line.server(0, metadata())
    line.sweep(50)
    line.client(300, caller_audio(tone(250)))
    line.sweep(700)
    line.sweep(1299)
    assert [given.at for given in line.of(Elapsed)] == [50, 300]
    line.sweep(1300)
    line.client(1500, caller_audio(tone(250)))
    assert [type(given) for given in line.inputs[3:]] == [Audio, Elapsed, Audio, Elapsed]
    assert [given.at for given in line.of(Elapsed)] == [50, 300, 1300, 1500]


def test_words_are_texts_of_their_side() -> None:
    line = Line()
    line.server(0, metadata())
    line.server(10, message("user_transcript", user_transcription_event={"user_transcript": "hi", "event_id": 1}))
    line.server(20, message("agent_response", agent_response_event={"agent_response": "hello [b]", "event_id": 2}))
    correction = {"original_agent_response": "hello [b]", "corrected_agent_response": "hel", "event_id": 2}
    line.server(30, message("agent_response_correction", agent_response_correction_event=correction))
    line.server(40, message("agent_response", agent_response_event={"agent_response": "  "}))
    assert line.of(Text) == [
        Text("caller", 10, "hi", "transcript", 1),
        Text("agent", 20, "hello [b]", "response", 2),
        Text("agent", 30, "hel", "correction", 2),
    ]


def test_b26_empty_audio_is_counted_and_changes_nothing() -> None:
    line = Line()
    line.server(0, metadata(agent="pcm_8000", caller="pcm_8000"))
    line.server(10, agent_audio(b""), agent_audio(tone(20, 8000)), agent_audio(b""), message("audio", audio_event={}))
    line.client(20, caller_audio(b""), json.dumps({"user_audio_chunk": None}))
    line.close(30)
    assert line.audio_ms("agent") == 20
    assert line.notices() == {"empty_audio": 3, "bad_payload": 2}


def test_many_damaged_frames_are_a_few_notices_that_lose_count_of_none() -> None:
    line = Line()
    line.server(0, metadata())
    for n in range(3000):
        line.server(n, "{", message("news"))
    line.close(3000)
    told = line.of(Notice)
    assert line.notices() == {"bad_payload": 3000, "unknown_event": 3000}
    assert len(told) == 8
    assert told[0].count == 1
    assert "'news'" in next(notice.message for notice in told if notice.kind == "unknown_event")


def test_a_client_that_sends_no_caller_audio_is_told_once() -> None:
    line = Line()
    line.server(0, metadata())
    line.server(100, agent_audio(tone(100)))
    for at in range(50, 20_000, 50):
        line.sweep(at)
    assert line.notices() == {"one_way_audio": 1}


@pytest.mark.parametrize(
    ("ending", "cause", "says"),
    [
        (("server", 1000, ""), "hangup", "ElevenLabs closed the call"),
        (("client", 1001, "bye"), "hangup", "the client closed the call: bye"),
        (("client", 1005, ""), "hangup", "the client closed the call"),
        (("server", 1008, "no"), "failed", "ElevenLabs closed the call with code 1008: no"),
        (("server", 1011, ""), "failed", "ElevenLabs closed the call with code 1011"),
        (("server", 4300, ""), "failed", "code 4300"),
        (("client", None, ""), "disconnected", "the connection to the client broke without a close frame"),
        (("relay", 1012, ""), "stopped", "the relay was stopped (code 1012)"),
    ],
)
def test_how_a_call_ended(ending: tuple[str, int | None, str], cause: str, says: str) -> None:
    line = Line()
    line.server(0, metadata())
    ended = line.close(500, *ending)
    assert (ended.at, ended.cause) == (500, cause)
    assert says in (ended.message or "")


def test_the_clock_never_goes_back() -> None:
    line = Line()
    line.server(500, metadata())
    line.server(400, agent_audio(tone(10)), interruption())
    assert [given.at for given in line.inputs if isinstance(given, Audio | Cut)] == [500, 500]


FRAMES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            metadata(),
            metadata(agent="x"),
            agent_audio(tone(50)),
            agent_audio(b"\x01", "2"),
            caller_audio(tone(50)),
            caller_audio(b"\x01"),
            interruption(),
            interruption(None),
            ping(1),
            message("pong", event_id=1),
            message("agent_response", agent_response_event={"agent_response": "a"}),
            message("error"),
        ]
    ),
    st.builds(lambda frame, part: frame[: int(len(frame) * part)], st.just(agent_audio(tone(5))), st.floats(0, 1)),
)


@given(st.lists(st.tuples(st.sampled_from(["server", "client", "sweep"]), FRAMES, st.integers(-50, 4000)), max_size=25))
def test_whatever_comes_the_inputs_are_a_call(traffic: list[tuple[str, str | bytes, int]]) -> None:
    """One `CallStarted` first, one `CallEnded` last, and a clock that never goes back."""
    line, now = Line(), 0
    for who, frame, pause in traffic:
        now += pause
        if who == "sweep":
            line.sweep(now)
        elif who == "server":
            line.server(now, frame)
        else:
            line.client(now, frame)
    line.close(now)
    assert [n for n, given in enumerate(line.inputs) if isinstance(given, CallStarted)] == [0]
    assert [n for n, given in enumerate(line.inputs) if isinstance(given, CallEnded)] == [len(line.inputs) - 1]
    clock = [given.at for given in line.of(Elapsed)]
    assert clock == sorted(set(clock))
    caller_end = 0
    for audio in line.of(Audio):
        assert audio.at >= 0
        assert len(audio.pcm) % 2 == 0
        if audio.track == "caller":
            assert audio.at >= caller_end - 1
            caller_end = audio.at + len(audio.pcm) // 16
