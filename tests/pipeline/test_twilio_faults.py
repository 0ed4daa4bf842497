"""Media streams that come out of order, with holes, without an end (B34, B36, B40), from the carrier's JSON to the
turns. `tests/connectors/twilio` has what they become as inputs; here it is what is told of the call that counts."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from connectors.inputs import Track
from connectors.protocols import twilio
from connectors.simulator.twilio_frames import CarrierSettings, lines
from monitor.core.events import ROLE_OF_TRACK
from tests.builders import of, sound, speech, transitions_of
from tests.connectors.twilio.phone import Wire
from tests.pipeline.hearing import about, ended_turns, heard, live, near, notices, said
from tests.pipeline.phone_calls import NAMES, PIECE_MS, Carried, Line, Sent, call, track_of

FIRST = 25
"""The piece in which the caller begins to speak, at 0.5 s."""
CALLER = [speech("caller", 500, 4500)]
BOTH = [speech("caller", 500, 2500), speech("agent", 3000, 5000), speech("caller", 5600, 7000)]


def of_track(sent: list[Sent], name: str) -> list[int]:
    """The places of the messages of one of Twilio's tracks."""
    return [place for place, (_, text) in enumerate(sent) if f'"{name}"' in text]


@pytest.mark.parametrize("tracks", ["both", "one"])
def test_swapped_doubled_and_missing_frames_are_one_turn_of_four_seconds(tracks: str) -> None:
    """B34: of 200 frames of speech 50 and 51 change places, 80 comes twice, 120 to 129 never come."""
    talk = sound(CALLER, 7000)
    line = Line(talk if tracks == "both" else {"caller": talk["caller"]})
    sent = line.pieces()
    place = of_track(sent, "inbound")[FIRST:]
    times = [at for at, _ in sent]
    sent[place[50]], sent[place[51]] = sent[place[51]], sent[place[50]]
    texts = [text for _, text in sent]
    lost = {place[number] for number in range(120, 130)}
    messages = []
    for number, text in enumerate(texts):
        if number not in lost:
            messages += [(times[number], text)] * (2 if number == place[80] else 1)
    events = call(line, messages)
    (turn,) = ended_turns(events)
    assert near(turn, 500, 4500)
    assert turn.duration_ms == about(4000, 120)
    counts = notices(events, "caller")
    assert (counts["duplicate"], counts["gap"], counts["reordered"]) == (1, 10, 1)


@pytest.mark.parametrize("seed", range(4))
def test_order_by_arrival_is_never_the_order(seed: int) -> None:
    """B34: every message up to 60 ms late, one in twenty twice, on both tracks; the turns are those of a good line."""
    dice = random.Random(seed)
    line = Line(sound(BOTH, 9000))
    sent = line.pieces()
    late = sorted(((at + dice.randrange(50), text) for at, text in sent), key=lambda one: one[0])
    doubled = [one for each in late for one in ([each, each] if dice.random() < 0.05 else [each])]
    events = call(line, doubled)
    assert said(events) == [("user", 500, 2500), ("assistant", 3000, 5000), ("user", 5600, 7000)]
    assert transitions_of(events) == [("gap", 500), ("gap", 600)]
    assert set(notices(events)) <= {"duplicate", "reordered"}


@pytest.mark.parametrize(("settings", "kinds"), [
    (CarrierSettings(loss=0.03, seed=5), {"gap"}),
    (CarrierSettings(duplicate=0.1, swap=0.1), {"duplicate", "reordered"}),
    (CarrierSettings(payload_bytes=(1, 37, 160, 999), drop_silence=True), set()),
    (CarrierSettings(encoding="alaw", hold_ms=233), set()),
    (CarrierSettings(loss=0.02, duplicate=0.02, swap=0.02, hold_ms=200, drop_silence=True), {"gap", "duplicate"}),
], ids=["loss", "doubled and swapped", "odd payloads", "held", "all of it"])  # fmt: skip
def test_whatever_the_carrier_does_the_turns_are_near(settings: CarrierSettings, kinds: set[str]) -> None:
    """B34: faults of all kinds together move no turn by more than is lost at its edge."""
    talk = sound(BOTH, 9000)
    line = Line(talk)
    sent = lines(talk["caller"], talk["agent"], stream_sid="MZ1", call_sid="CA1", settings=settings)
    messages = [(one.due_ms, one.text) for one in sent if '"media"' in one.text[:20]]
    events = Carried().stream(line, messages, encoding=settings.encoding).events()
    for turn, (role, start, end) in zip(ended_turns(events), said(call(Line(talk))), strict=True):
        assert turn.role == role
        assert near(turn, start, end)
    assert kinds <= set(notices(events)) <= kinds | {"duplicate", "reordered"}


@pytest.mark.parametrize("who", ["caller", "agent"])
def test_what_is_not_sent_does_not_pull_later_speech_forward(who: str) -> None:
    """B36: one side's media.timestamp goes from 0 to 1980, then on from 6000: it speaks again at 6.0, 4.0 s later."""
    track: Track = "caller" if who == "caller" else "agent"
    other: Track = "agent" if who == "caller" else "caller"
    talk = sound([speech(track, 400, 2000), speech(track, 6000, 7500), speech(other, 2600, 3600)], 10_000)
    line, silent = Line(talk), Line({track: talk[track]}, silence=False)
    own = dict(silent.pieces())
    assert not [at for at in own if 2020 < at < 6020]
    events = call(line, sending_only(line.pieces(), NAMES[track], lambda at: at in own))
    assert said(events) == [
        (ROLE_OF_TRACK[track], 400, 2000),
        (ROLE_OF_TRACK[other], 2600, 3600),
        (ROLE_OF_TRACK[track], 6000, 7500),
    ]
    assert transitions_of(events) == [("gap", 600), ("gap", 2400)]
    assert notices(events) == {}


def test_while_neither_track_is_sent_nobody_knows_and_time_goes_on() -> None:
    """B36 where both are muted: the next turn still starts at 6.0; four seconds of an empty socket are told, and are
    charged to nobody."""
    line = Line(sound([speech("caller", 400, 2000), speech("agent", 6000, 7500)], 10_000), silence=False)
    events = call(line)
    assert said(events) == [("user", 400, 2000), ("assistant", 6000, 7500)]
    assert transitions_of(events) == []
    assert notices(events) == {"stalled": 1}
    assert live(events).summary["response_time"]["count"] == 0
    assert live(events).summary["unanswered"]["count"] == 0


def sending_only(sent: list[Sent], name: str, wanted: Callable[[int], bool]) -> list[Sent]:
    """The messages, without those of a track that are not wanted, numbered as a sender numbers what it sends."""
    wire, out = Wire(), []
    for at, text in sent:
        track = track_of(text)
        assert track is not None
        if track != name or wanted(at):
            out.append((at, wire.media(at - PIECE_MS, payload_of(text), track)))
    return out


def payload_of(text: str) -> bytes:
    media = twilio.decode(text).media
    assert media is not None
    assert media.payload is not None
    return media.payload


def test_a_socket_that_is_reset_ends_its_call_with_its_reason() -> None:
    """B40: start, 3 s of media, 1006, no stop; 50 such calls. Each is over in five seconds, its open turn told."""
    for number in range(50):
        line = Line(sound([speech("caller", 1000, 3000)], 3000), sid=f"MZ{number}")
        carried = Carried()
        carried.stream(line, line.pieces()[-100:] if number else line.pieces(), lose="code 1006")
        before = carried.phone.clock
        while not carried.phone.call.ended:
            carried.wait(50)
        assert carried.phone.clock - before <= 5000
        if number < 3:
            events = carried.events()
            assert live(events).cause == "disconnected"
            assert [turn.ended_by for turn in ended_turns(events)] == ["call_end"]
            assert any("1006" in event.message for event in of(events, "notice") if event.kind == "closed")


def test_the_tests_lines_are_what_a_carrier_sends() -> None:
    """The lines of these tests and the simulated carrier's are the same call."""
    talk = sound(BOTH, 9000)
    sent = lines(talk["caller"], talk["agent"], stream_sid="MZ1", call_sid="CA1")
    carried = Carried().stream(Line(talk), [(one.due_ms, one.text) for one in sent if '"media"' in one.text[:20]])
    assert heard(carried.inputs)[1:] == call(Line(talk))[1:]
