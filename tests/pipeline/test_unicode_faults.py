"""Words of every script, and half characters, from the wire to the outputs (B71).

`tests/cli/test_encodings.py` has the outputs by themselves, `tests/sinks` the feed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.protocols import elevenlabs, twilio
from connectors.protocols.elevenlabs_messages import Words
from monitor.core.encode import encode
from monitor.runtime.tape import Header, TapeWriter, cleaned
from tests.builders import sound, speech, voice
from tests.cli.process import events, run
from tests.connectors.elevenlabs.stage import message
from tests.pipeline.contract import check_stream
from tests.pipeline.conversations import conversation, delivery
from tests.pipeline.hearing import notices
from tests.pipeline.phone_calls import Carried, Line

WORDS = "caf\u00e9 \u2192 \u4f60\u597d \U0001f600 e\u0301"


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tape of a conversation whose words no old code page holds, one of them half a character."""
    frames = [
        (1000, message("agent_response", agent_response_event={"agent_response": WORDS, "event_id": 1})),
        *delivery(voice(1500), at=1000),
        (4500, '{"type":"user_transcript","user_transcription_event":{"user_transcript":"half \\ud83d \\u001b[31m"}}'),
    ]
    inputs = conversation(frames, [speech("caller", 3000, 4000)], 7000, agent_id=f"agent {WORDS}")
    writer = TapeWriter(tmp_path_factory.mktemp("tapes"), "call", Header("0", "webrtc", {}))
    writer.write([cleaned(one) for one in inputs])
    writer.close()
    return writer.path


def test_words_of_a_conversation_are_valid_utf8_in_json(spoken: Path) -> None:
    """B71: from the provider's JSON to ours. A lone surrogate becomes U+FFFD, and everything else stays as it is."""
    done = run("watch", f"tape:{spoken}", "--speed", "max", "--json", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    told = events(done.stdout)
    check_stream(told)
    assert told[0]["agent_id"] == f"agent {WORDS}"
    texts = {line["turn"]["role"]: line["turn"]["text"] for line in told if line["type"] == "turn.ended"}
    later = {line["turn"]["role"]: line["text"] for line in told if line["type"] == "turn.text"}
    heard = {**texts, **later}
    assert heard["assistant"] == WORDS
    assert heard["user"].startswith("half \ufffd")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_words_of_a_conversation_are_shown_on_any_screen(encoding: str, spoken: Path) -> None:
    """B71: what the code page lacks is replaced, and a control code is not obeyed."""
    done = run("watch", f"tape:{spoken}", "--speed", "max", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode(encoding)
    assert "\x1b" not in shown
    assert "half" in shown


def test_a_label_with_half_a_character_does_not_cost_the_call() -> None:
    """B71: a <Parameter> that was cut in an emoji; the stream is let in, and the label is what is left of it."""
    line = Line(sound([speech("caller", 400, 1400)], 3000))
    text = line.wire.start(parameters={"team": "HALF", "city": "M\u00fcnchen"}).replace("HALF", "\\ud83d")
    start = twilio.decode(text).start
    assert start is not None
    carried = Carried().stream(line, line.pieces(), parameters=start.parameters)
    started, *rest = carried.events()
    told = json.loads(encode(started))
    assert told["labels"] == {"team": "\ufffd", "city": "M\u00fcnchen"}
    assert notices(rest) == {}


@given(st.text(st.characters(categories=["L", "Cs", "Po"]) | st.sampled_from("\\u\ud83d\ude00d8"), max_size=20))
def test_any_words_are_read_with_half_characters_replaced(text: str) -> None:
    """B71: as Python and JavaScript write them into JSON."""
    whole = "".join(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    frame = json.dumps({"type": "user_transcript", "user_transcription_event": {"user_transcript": text}})
    assert elevenlabs.from_server(frame) == Words("transcript", whole, None)
    start = json.dumps(
        {"event": "start", "start": {"streamSid": "MZ1", "callSid": "CA1", "customParameters": {"a": text}}}
    )
    message_read = twilio.decode(start).start
    assert message_read is not None
    assert message_read.parameters == {"a": whole}
