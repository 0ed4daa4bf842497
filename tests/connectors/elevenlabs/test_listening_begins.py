"""How a call begins for its watchers: metadata, formats, and who the client is; or all that is missing."""

from __future__ import annotations

import pytest

from connectors.elevenlabs.clients import POLICIES
from connectors.elevenlabs.listening import WAIT_FOR_METADATA_MS
from connectors.inputs import Audio, CallStarted, Cut, Notice, TrackFormat
from tests.connectors.elevenlabs.line import INITIATION, Line
from tests.connectors.elevenlabs.stage import agent_audio, caller_audio, interruption, message, metadata, tone


def test_a_call_begins_with_the_metadata() -> None:
    line = Line(started_at="2026-11-01T10:00:00.000Z", agent_id="a1", source="python_sdk", version="2.78.0")
    line.client(5, message(INITIATION))
    assert line.inputs == []
    line.server(90, metadata("conv_9", "pcm_24000", "ulaw_8000"))
    assert line.inputs == [
        CallStarted(
            call="conv_9",
            source="elevenlabs",
            started_at="2026-11-01T10:00:00.000Z",
            agent_id="a1",
            labels={"client": "python_sdk", "client_version": "2.78.0"},
            tracks={"caller": TrackFormat("mulaw", 8000), "agent": TrackFormat("pcm_s16le", 24000, "delivered")},
            playout=POLICIES["py_interface"],
        )
    ]


@pytest.mark.parametrize(
    ("source", "policy"),
    [
        ("python_sdk", "py_interface"),
        ("js_sdk", "js_fade"),
        ("react_sdk", "js_fade"),
        ("widget", "js_fade"),
        ("something", "immediate_drop"),
        (None, "immediate_drop"),
    ],
)
def test_the_client_is_recognised_by_what_it_calls_itself(source: str | None, policy: str) -> None:
    by_query, by_frame = Line(source=source), Line()
    by_frame.client(0, message(INITIATION, source_info={"source": source}))
    for line in (by_query, by_frame):
        line.server(1, metadata())
        assert line.of(CallStarted)[0].playout == POLICIES[policy]


def test_the_configuration_overrides_what_the_client_calls_itself() -> None:
    line = Line(source="js_sdk", playout=POLICIES["immediate_keep"])
    line.server(0, metadata())
    assert line.of(CallStarted)[0].playout.name == "immediate_keep"


@pytest.mark.parametrize(
    ("word", "wire_ms"),
    [("pcm_8000", 16), ("pcm_16000", 32), ("pcm_24000", 48), ("pcm_48000", 96), ("ulaw_8000", 8), ("pcm_44100", 88.2)],
)
def test_b28_audio_is_as_long_as_the_metadata_says(word: str, wire_ms: float) -> None:
    line = Line()
    line.server(0, metadata(agent=word))
    line.server(100, agent_audio(bytes(int(8000 * wire_ms))))
    assert line.audio_ms("agent") == pytest.approx(8000, abs=3)


def test_b28_an_unknown_format_is_told_and_that_side_not_watched() -> None:
    line = Line()
    line.server(0, metadata(agent="opus_48000"))
    line.server(100, agent_audio(tone(100)), interruption())
    line.client(100, caller_audio(tone(250)))
    line.close(300)
    assert set(line.of(CallStarted)[0].tracks) == {"caller"}
    assert line.notices() == {"unknown_format": 1}
    told = line.of(Notice)[0]
    assert told.track == "agent"
    assert "'opus_48000' is not known" in told.message
    assert line.audio_ms("agent") == 0
    assert line.audio_ms("caller") == pytest.approx(100, abs=3)
    assert line.of(Cut) == []


def test_missing_formats_are_taken_as_16_kilohertz_and_only_the_agents_is_told() -> None:
    line = Line()
    line.server(0, metadata(agent=None, caller=None))
    assert {track: form.sample_rate for track, form in line.of(CallStarted)[0].tracks.items()} == {
        "caller": 16000,
        "agent": 16000,
    }
    assert line.notices() == {"no_metadata": 1}


def test_audio_before_any_metadata_begins_the_call_with_a_notice() -> None:
    line = Line()
    line.server(100, agent_audio(tone(200)))
    assert [type(given) for given in line.inputs] == [CallStarted, Audio, Notice]
    assert line.of(CallStarted)[0].call == "own-1"
    line.server(150, metadata("conv_late", agent="ulaw_8000"), agent_audio(bytes(8 * 300), 2))
    line.close(200)
    assert line.audio_ms("agent") == pytest.approx(500, abs=3)
    assert line.notices() == {"no_metadata": 2}


def test_the_callers_early_audio_waits_for_the_metadata_and_keeps_its_time() -> None:
    line = Line()
    for n in range(8):
        line.client(250 + 250 * n, caller_audio(tone(250, 8000)))
    assert line.inputs == []
    line.server(2100, metadata(caller="pcm_8000"))
    audio = [given for given in line.of(Audio) if given.track == "caller"]
    assert audio[0].at == 0
    assert line.audio_ms("caller") == 2000


def test_the_call_begins_without_metadata_once_the_caller_has_waited_long_enough() -> None:
    line = Line()
    line.client(100, caller_audio(tone(250)))
    line.sweep(100 + WAIT_FOR_METADATA_MS - 1)
    assert line.inputs == []
    line.sweep(100 + WAIT_FOR_METADATA_MS)
    assert line.of(CallStarted)
    assert line.audio_ms("caller") == pytest.approx(100, abs=3)


def test_a_second_metadata_message_is_told_and_ignored() -> None:
    line = Line()
    line.server(0, metadata("conv_1"), metadata("conv_2", agent="ulaw_8000"))
    assert [given.call for given in line.of(CallStarted)] == ["conv_1"]
    assert line.notices() == {"bad_payload": 1}


@pytest.mark.parametrize("call", ["../../etc/passwd", "a b", "x" * 129, "\x1b[2J", "-rf"])
def test_an_id_that_could_do_harm_elsewhere_is_not_used(call: str) -> None:
    line = Line()
    line.server(0, metadata(call))
    assert line.of(CallStarted)[0].call == "own-1"
    assert line.notices() == {"bad_payload": 1}


def test_a_text_only_conversation_has_no_tracks() -> None:
    line = Line()
    line.client(0, message(INITIATION, conversation_config_override={"text_only": True}))
    line.server(10, metadata())
    assert line.of(CallStarted)[0].tracks == {}
    assert line.notices() == {"text_only": 1}
