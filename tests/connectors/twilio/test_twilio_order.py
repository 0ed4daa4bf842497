"""Order, loss, duplicates, silence and damage on one stream (B26, B34, B36, B38)."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from connectors.inputs import Audio
from connectors.protocols import twilio
from tests.connectors.twilio.phone import Phone, Wire, code, expected


def test_frames_in_order_are_handed_on_as_they_come() -> None:
    phone, wire = Phone(), Wire(tracks=("inbound",))
    stream = phone.join(wire)
    phone.wait(1000)
    for number, text in enumerate(wire.speech(0, 1000)):
        phone.clock += 20
        (given,) = phone.call.receive(stream, text, phone.clock)
        assert isinstance(given, Audio)
        assert given.at == number * 20
        phone.inputs.append(given)
    assert np.array_equal(phone.heard(), expected([(0, 1000)]))


def test_swapped_doubled_and_missing_frames() -> None:
    # B34: 4 s of speech in 200 pieces; 50 and 51 change places, 80 comes twice, 120 to 129 are lost.
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    texts = wire.speech(0, 4000)
    texts[50], texts[51] = texts[51], texts[50]
    texts = [*texts[:81], texts[80], *texts[81:120], *texts[130:], wire.stop()]
    phone.hear(stream, texts, step_ms=20)
    assert phone.count("duplicate") == 1
    assert phone.count("gap") == 10
    assert phone.count("reordered") == 1
    assert phone.stalls() == [(2400, 2600)]
    assert np.array_equal(phone.heard(), expected([(0, 2400), (2600, 4000)]))
    assert phone.ended.at == 4000


def test_a_lost_frame_shifts_nothing_however_many_there_are() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    texts = wire.speech(0, 2000)
    phone.hear(stream, [text for at, text in enumerate(texts) if at % 7 != 3])
    phone.hear(stream, [wire.stop()])
    lost = [at * 20 for at in range(100) if at % 7 == 3]
    assert phone.stalls() == [(at, at + 20) for at in lost]
    assert phone.count("gap") == len(lost)
    line = expected([(0, 2000)])
    for at in lost:
        line[at * 8 : (at + 20) * 8] = 0
    assert np.array_equal(phone.heard(), line)


def test_a_frame_after_a_loss_waits_for_60_ms_at_most() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    first, _, third, fourth, fifth, sixth = wire.speech(0, 120)
    phone.hear(stream, [first, third, fourth])
    assert len(phone.heard()) == 160
    phone.hear(stream, [fifth])
    assert np.array_equal(phone.heard(), expected([(0, 20), (40, 100)]))
    phone.hear(stream, [sixth])

    waiting, wire = Phone(), Wire()
    stream = waiting.join(wire)
    first, _, third = wire.speech(0, 60)
    waiting.hear(stream, [first, third])
    waiting.wait(50)
    assert len(waiting.heard()) == 160
    waiting.wait(50)
    assert np.array_equal(waiting.heard(), expected([(0, 20), (40, 60)]))
    assert waiting.stalls() == [(20, 40)]


def test_frames_that_come_after_they_were_given_up_are_late() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    texts = wire.speech(0, 400)
    phone.hear(stream, [*texts[:5], *texts[6:15], texts[5], *texts[15:], wire.stop()])
    assert phone.count("late_audio") == 1
    assert phone.count("gap") == 1
    assert phone.count("duplicate") == 0
    assert np.array_equal(phone.heard(), expected([(0, 100), (120, 400)]))


def test_holes_without_missing_numbers_are_silence() -> None:
    # B36: the sender sends nothing while it is muted.
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, [*wire.speech(0, 2000), *wire.speech(6000, 7000), wire.stop()])
    assert phone.stalls() == []
    assert np.array_equal(phone.heard(), expected([(0, 2000), (6000, 7000)]))
    assert phone.ended.at == 7000
    assert phone.notices() == []


def test_the_example_of_the_protocol_page() -> None:
    # Outbound time stamps 40, 60, 1240 with 160-byte payloads: speech 40-80, silence 80-1240, speech from 1240.
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, [*wire.speech(40, 80, "outbound"), *wire.speech(1240, 1300, "outbound"), wire.stop()])
    assert np.array_equal(phone.heard("agent"), expected([(40, 80), (1240, 1300)]))


def test_a_hole_that_is_partly_loss_is_unknown_for_as_long_as_was_lost() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    head, lost, tail = wire.speech(0, 200), wire.speech(200, 260), wire.speech(1000, 1200)
    assert len(lost) == 3
    phone.hear(stream, [*head, *tail, wire.stop()])
    assert phone.stalls() == [(200, 260)]
    assert np.array_equal(phone.heard(), expected([(0, 200), (1000, 1200)]))


def test_jittery_time_stamps_do_not_tear_the_audio() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    jitter = [0, 7, -9, 15, -15, 3, 11, -12]
    texts = [wire.media(max(0, at * 20 + jitter[at % 8]), code(at)) for at in range(200)]
    phone.hear(stream, texts)
    assert np.array_equal(phone.heard(), expected([(0, 4000)]))
    assert phone.notices() == []


def test_small_errors_of_time_stamps_do_not_add_up() -> None:
    # The sender's clock runs 1 % fast: its 20 ms are 20.2 ms by its time stamps.
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, [wire.media(at * 202 // 10, code(1)) for at in range(1000)])
    assert abs(len(phone.heard()) / 8 - 20_200) <= 60
    # And 1 % slow.
    slow, wire = Phone(), Wire()
    stream = slow.join(wire)
    slow.hear(stream, [wire.media(at * 198 // 10, code(1)) for at in range(1000)])
    assert abs(len(slow.heard()) / 8 - 19_800) <= 60


@pytest.mark.parametrize("numbers", ["none", "sequence only", "chunk constant", "chunk of both tracks"])
def test_carriers_that_count_otherwise_lose_nothing(numbers: str) -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    texts = []
    for count, at in enumerate(range(0, 2000, 20)):
        for track, both in (("inbound", 2 * count + 1), ("outbound", 2 * count + 2)):
            chunk = {"chunk constant": 1, "chunk of both tracks": both}.get(numbers)
            message = {"event": "media", "media": {"track": track, "timestamp": at, "payload": None}}
            text = wire.media(at, code(at // 20), track)
            decoded = twilio.decode(text)
            assert decoded.media is not None
            media: dict[str, object] = {"track": track, "timestamp": str(at), "payload": decoded.media.payload}
            if chunk is not None:
                media["chunk"] = str(chunk)
            message = {"event": "media", "media": media}
            if numbers != "none":
                message["sequenceNumber"] = str(decoded.sequence_number)
            texts.append(msgspec.json.encode(message).decode())
    phone.hear(stream, [*texts[:100], *texts[106:], wire.stop()])
    for track in ("caller", "agent"):
        assert np.array_equal(phone.heard(track), expected([(0, 1000), (1060, 2000)]))  # type: ignore[arg-type]
    unknown = [] if numbers == "none" else [(1000, 1060)]
    assert phone.stalls("caller") == phone.stalls("agent") == unknown
    assert phone.count("duplicate") == 0


def test_a_sender_that_counts_anew_is_heard_again() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, wire.speech(0, 4000), step_ms=20)
    again = Wire()
    phone.hear(stream, again.speech(0, 8000), step_ms=20)
    assert phone.notices("clock_drift")
    assert len(phone.heard()) / 8 >= 4000 + 8000 - 3000
