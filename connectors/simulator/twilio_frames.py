"""What a carrier sends for a call, message by message, with the faults that carriers have. Pure.

Every fault is seeded: the same settings give the same messages.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from connectors import g711
from connectors.protocols import twilio

RATE = 8000
FRAME_BYTES = 160
ENCODINGS = {"mulaw": ("audio/x-mulaw", g711.MULAW), "alaw": ("audio/x-alaw", g711.ALAW)}


class CarrierSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the carrier behaves. The parts are of all media messages, 0 to 1.

    `loss`, `duplicate`: how many do not come, or come twice. `swap`: how many change places with the next one of their
    track. `hold_ms`: once in `hold_every_ms` nothing is sent for so long, and then all of it at once. `drop_silence`:
    pieces without any sound are not sent, and take no number. `payload_bytes`: the lengths of payloads, in turn.
    `stop`: whether the stream ends with a stop message. `tracks`: `inbound` (caller), `outbound` (agent) or both.
    """

    loss: float = 0.0
    duplicate: float = 0.0
    swap: float = 0.0
    hold_ms: int = 0
    hold_every_ms: int = 2000
    drop_silence: bool = False
    payload_bytes: tuple[int, ...] = (FRAME_BYTES,)
    encoding: str = "mulaw"
    tracks: tuple[str, ...] = ("inbound", "outbound")
    stop: bool = True
    seed: int = 1


class Line(NamedTuple):
    """A message and when it is sent, in ms from the stream's start."""

    due_ms: int
    text: str


class _Piece(NamedTuple):
    due_ms: int
    track: str
    timestamp: int
    payload: bytes
    silent: bool


def lines(
    caller: bytes,
    agent: bytes,
    *,
    stream_sid: str,
    call_sid: str,
    settings: CarrierSettings | None = None,
    parameters: dict[str, str] | None = None,
) -> Iterator[Line]:
    """One stream's messages, in the order of sending. `caller`, `agent`: s16le at 8 kHz."""
    settings = settings or CarrierSettings()
    dice = random.Random(settings.seed)
    wire_name, _ = ENCODINGS[settings.encoding]
    yield Line(0, twilio.connected())
    yield Line(
        0,
        twilio.start(stream_sid, call_sid, tracks=settings.tracks, encoding=wire_name, parameters=parameters),
    )
    sequence, chunks, due = 1, dict.fromkeys(settings.tracks, 0), 0
    waiting: dict[str, str] = {}
    for piece in _pieces({"inbound": caller, "outbound": agent}, settings):
        if settings.drop_silence and piece.silent:
            continue
        sequence += 1
        chunks[piece.track] += 1
        due = _held(piece.due_ms, settings)
        text = twilio.media(
            stream_sid,
            piece.track,
            piece.payload,
            sequence=sequence,
            chunk=chunks[piece.track],
            timestamp=piece.timestamp,
        )
        before = waiting.pop(piece.track, None)
        if dice.random() < settings.loss:
            text = ""
        elif before is None and dice.random() < settings.swap:
            waiting[piece.track] = text
            continue
        for sent in (text, text if text and dice.random() < settings.duplicate else "", before):
            if sent:
                yield Line(due, sent)
    for text in waiting.values():
        yield Line(due, text)
    if settings.stop:
        yield Line(due, twilio.stop(stream_sid, call_sid, sequence=sequence + 1))


def _held(due_ms: int, settings: CarrierSettings) -> int:
    """When a piece that is ready at `due_ms` is sent, with the carrier's holes in sending."""
    into = due_ms % settings.hold_every_ms
    return due_ms - into + settings.hold_ms if into < settings.hold_ms else due_ms


def _pieces(tracks: dict[str, bytes], settings: CarrierSettings) -> list[_Piece]:
    """Both tracks cut into payloads, in order of time; a piece is ready when its last sample is."""
    _, table = ENCODINGS[settings.encoding]
    pieces = []
    for track in settings.tracks:
        pcm = tracks[track]
        coded = g711.compress(table, pcm[: len(pcm) // 2 * 2])
        levels = np.abs(np.frombuffer(pcm[: len(coded) * 2], dtype="<i2").astype(np.int32))
        at, turn = 0, 0
        while at < len(coded):
            end = min(at + max(1, settings.payload_bytes[turn % len(settings.payload_bytes)]), len(coded))
            silent = int(levels[at:end].max()) <= 8
            pieces.append(_Piece(end * 1000 // RATE, track, at * 1000 // RATE, coded[at:end], silent))
            at, turn = end, turn + 1
    return sorted(pieces, key=lambda piece: (piece.due_ms, piece.timestamp))
