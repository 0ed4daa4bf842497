"""ElevenLabs conversations on a scripted clock: frames as they pass the relay, into its listener, and on to events.

    agent = delivery(voice(8000), "pcm_24000", at=10_000, within=300, pieces=80, event=3)
    events = converse([*agent, (11_200, interruption(3))], [speech("caller", 10_900, 13_000)], 16_000)

The caller's microphone sends a chunk every `chunk_ms`, as soon as it is full; the relay is swept every 50 ms.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from connectors.elevenlabs.beginning import Opened
from connectors.elevenlabs.ending import Ending
from connectors.elevenlabs.listening import Listener
from connectors.inputs import Input
from connectors.simulator.wire_audio import pack, wire_rate
from monitor.core.events import Event
from tests.builders import PER_MS, Speech, sound
from tests.connectors.elevenlabs.stage import agent_audio, caller_audio, metadata, ping
from tests.connectors.recordings.takes import at_rate
from tests.pipeline.hearing import heard

BUFFER_MS = 40
"""What the default client buffers before it plays: all agent audio is heard so much later than it came."""

OPENED_AT = 1_000_000
"""The relay's clock at the beginning."""

Frame = tuple[int, str | bytes]
"""When (ms of the call) a frame passes the relay, and the frame."""


@lru_cache(64)
def on_the_wire(pcm: bytes, form: str) -> bytes:
    """s16le at 8 kHz as the bytes of a wire format."""
    samples = np.frombuffer(pcm, "<i2").reshape(-1, 1)
    return pack(at_rate(samples, wire_rate(form))[:, 0], form)


def delivery(
    pcm: bytes, form: str = "pcm_16000", *, at: int, within: int = 0, pieces: int = 1, event: object = 1
) -> list[Frame]:
    """Agent audio (s16le at 8 kHz) sent in so many messages, evenly over `within` ms."""
    data = on_the_wire(pcm, form)
    width = 1 if form.startswith("ulaw") else 2
    cuts = [len(data) // width * n // pieces * width for n in range(pieces + 1)]
    return [
        (at + within * n // pieces, agent_audio(data[begin:end], event))
        for n, (begin, end) in enumerate(pairwise(cuts))
    ]


def chunks(pcm: bytes, form: str, chunk_ms: int, length: int, muted: tuple[int, int] | None) -> Iterator[Frame]:
    """The caller's microphone (s16le at 8 kHz), each chunk as soon as it is full; nothing while it is muted."""
    data = on_the_wire(pcm, form)
    rate, width = wire_rate(form), 1 if form.startswith("ulaw") else 2
    for end in range(chunk_ms, length + 1, chunk_ms):
        if muted is None or not muted[0] < end <= muted[1]:
            piece = data[(end - chunk_ms) * rate // 1000 * width : end * rate // 1000 * width]
            yield end, caller_audio(piece)


def conversation(
    server: Iterable[Frame],
    caller: Sequence[Speech] | bytes,
    length: int,
    *,
    agent_format: str | None = "pcm_16000",
    caller_format: str | None = "pcm_16000",
    chunk_ms: int = 20,
    muted: tuple[int, int] | None = None,
    client: Iterable[Frame] = (),
    ending: Ending | None = None,
    sweep_ms: int = 50,
    opening: Iterable[Frame] | None = None,
    **opened: Any,
) -> list[Input]:
    """The inputs of a conversation. `caller`: what the caller says, or its track as s16le at 8 kHz. `muted`: while its
    microphone sends nothing. `opening`: in place of the metadata. `ending`: how the socket closes at `length`."""
    listener = Listener(Opened(OPENED_AT, "own-1", **opened))
    pcm = caller if isinstance(caller, bytes) else sound(caller, length)["caller"]
    microphone = chunks(pcm, caller_format or "pcm_16000", chunk_ms, length, muted)
    first = [(0, metadata(agent=agent_format, caller=caller_format))] if opening is None else opening
    streams: list[Iterable[tuple[int, int, Any]]] = [
        ((at, 0, frame) for at, frame in sorted([*first, *server], key=lambda one: one[0])),
        ((at, 1, frame) for at, frame in microphone),
        ((at, 1, frame) for at, frame in sorted(client, key=lambda one: one[0])),
        ((at, 2, None) for at in range(sweep_ms, length + 1, sweep_ms)),
    ]
    inputs: list[Input] = []
    for at, who, frame in heapq.merge(*streams, key=lambda one: one[:2]):
        if who == 2:
            inputs += listener.elapsed(OPENED_AT + at)
        else:
            inputs += listener.receive("client" if who else "server", frame, OPENED_AT + at)
    return inputs + listener.closed(OPENED_AT + length, ending or Ending("server", 1000))


def converse(
    server: Iterable[Frame], caller: Sequence[Speech] | bytes, length: int, *, detector: str = "energy", **how: Any
) -> list[Event]:
    """The events of a conversation; see `conversation`."""
    return heard(conversation(server, caller, length, **how), detector=detector)


def answered_ping(number: int, at: int, round_trip: int) -> tuple[Frame, Frame]:
    """A ping that passes at `at`, and the client's pong that passes so much later."""
    return (at, ping(number)), (at + round_trip, json.dumps({"type": "pong", "event_id": number}))


def length_of(pcm: bytes) -> int:
    """ms of s16le at 8 kHz."""
    return len(pcm) // (2 * PER_MS)
