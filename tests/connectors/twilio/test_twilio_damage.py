"""Payloads of any length and format, and messages that are damaged, odd or hostile (B26)."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.inputs import Elapsed, Stall
from connectors.protocols import twilio
from connectors.protocols.twilio_call import CallLimits
from tests.connectors.twilio.phone import Phone, Wire, code, expected


@pytest.mark.parametrize("payload", ['""', "null", None])
def test_pieces_without_audio_change_nothing(payload: str | None) -> None:
    # B26: between normal pieces, with and without numbers of their own.
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    empty = '{"event":"media","media":{"track":"inbound","timestamp":"200"' + (
        f',"payload":{payload}}}}}' if payload else "}}"
    )
    phone.hear(stream, [*wire.speech(0, 200), empty, *wire.speech(200, 400)])
    wire.sequence += 1
    wire.chunks["inbound"] += 1
    numbered = twilio.media("MZ1", "inbound", b"", sequence=wire.sequence, chunk=wire.chunks["inbound"], timestamp=400)
    phone.hear(stream, [numbered, *wire.speech(400, 600), wire.stop()])
    assert phone.count("bad_payload") == 2
    assert np.array_equal(phone.heard(), expected([(0, 600)]))
    assert phone.stalls() == []


def test_a_piece_that_came_damaged_is_unknown() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    texts = wire.speech(0, 400)
    texts[7] = texts[7].replace('"payload":"', '"payload":"*')
    phone.hear(stream, [*texts, wire.stop()])
    assert phone.count("bad_payload") == 1
    assert phone.stalls() == [(140, 160)]
    assert np.array_equal(phone.heard(), expected([(0, 140), (160, 400)]))


@pytest.mark.parametrize("sizes", [(1,), (37, 400, 3), (1600,), (160, 161), (8000,)])
def test_any_payload_length_is_the_same_audio(sizes: tuple[int, ...]) -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    data = b"".join(code(number) for number in range(100))
    texts, at, turn = [], 0, 0
    while at < len(data):
        piece = data[at : at + sizes[turn % len(sizes)]]
        for track in ("inbound", "outbound"):
            texts.append(wire.media(at // 8, piece, track))
        at, turn = at + len(piece), turn + 1
    phone.hear(stream, [*texts, wire.stop()])
    for track in ("caller", "agent"):
        assert np.array_equal(phone.heard(track), expected([(0, 2000)]))  # type: ignore[arg-type]
    assert phone.notices() == []


def test_alaw_and_wide_words_are_read_as_the_start_says() -> None:
    tone = (np.sin(np.arange(8000) / 3) * 8000).astype("<i2")
    from connectors import g711

    for encoding, payload in (
        ("audio/x-alaw", g711.compress(g711.ALAW, tone.tobytes())),
        ("audio/x-l16", tone.tobytes()),
    ):
        phone, wire = Phone(), Wire(tracks=("inbound", "outbound"))
        stream = phone.join(wire, encoding=encoding)
        width = len(payload) // 8000
        for at in range(0, 8000, 160):
            phone.hear(stream, [wire.media(at // 8, payload[at * width : (at + 160) * width])])
        assert phone.started.tracks["caller"].encoding in ("alaw", "pcm_s16le")
        error = phone.heard().astype(int) - tone
        assert np.abs(error).max() <= 256


def test_16_khz_words_are_lowered_without_shifting_them() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire, encoding="audio/x-l16", sample_rate=16000)
    wide = (np.sin(np.arange(32000) / 20) * 8000).astype("<i2").tobytes()
    texts = [wire.media(at // 32, wide[at : at + 640]) for at in range(0, len(wide), 640)]
    phone.hear(stream, [*texts[:40], *texts[50:], wire.stop()])
    line = phone.heard()
    assert phone.stalls() == [(800, 1000)]
    assert len(line) == 16000
    assert np.abs(line[1100 * 8 :].astype(int) - np.frombuffer(wide, "<i2")[1100 * 16 :: 2])[:-100].max() < 100


def test_notices_are_few_however_much_is_wrong() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    texts = []
    for text in wire.speech(0, 20_000):
        texts += [text, text, "{", '{"event":"news"}']
    phone.hear(stream, [*texts, wire.stop()])
    for kind in ("duplicate", "bad_payload", "unknown_event"):
        assert phone.count(kind) == 1000
        assert len(phone.notices(kind)) <= 6
    assert [given.at for given in phone.notices()] == sorted(given.at for given in phone.notices())


def test_a_second_start_is_passed_over() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, [*wire.speech(0, 100), Wire(call="CA9").start(), *wire.speech(100, 200), wire.stop()])
    assert phone.count("unexpected_start") == 1
    assert np.array_equal(phone.heard(), expected([(0, 200)]))


def test_a_time_stamp_from_the_far_future_is_dropped() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, wire.speech(0, 100))
    phone.hear(stream, [wire.media(10**15, code(1)), wire.media(-5, code(2))])
    phone.hear(stream, [*wire.speech(100, 200), wire.stop()])
    assert phone.count("bad_payload") == 2
    assert len(phone.heard()) <= 220 * 8


def test_messages_beyond_the_limit_are_counted_not_read() -> None:
    phone, wire = Phone(CallLimits(max_message_bytes=1000)), Wire()
    stream = phone.join(wire)
    phone.hear(stream, [wire.media(0, bytes(2000)), *wire.speech(0, 100)])
    assert phone.count("bad_payload") == 1
    assert "longer" in phone.notices("bad_payload")[0].message


def test_an_epoch_as_origin_is_taken_away() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    epoch = 1_705_312_200_000
    phone.hear(stream, [wire.media(epoch + at, code(at // 20)) for at in range(0, 400, 20)], step_ms=20)
    assert np.array_equal(phone.heard(), expected([(0, 400)]))


def test_inputs_are_only_what_they_should_be() -> None:
    phone, wire = Phone(), Wire()
    stream = phone.join(wire)
    phone.hear(stream, [*wire.speech(0, 1000), wire.stop(), *wire.speech(1000, 1100)])
    assert [type(given).__name__ for given in phone.inputs[:2]] == ["CallStarted", "Audio"]
    assert not any(isinstance(given, Elapsed | Stall) for given in phone.inputs)
    assert phone.ended.cause == "hangup"
    assert phone.call.elapsed(phone.clock + 10_000) == []
