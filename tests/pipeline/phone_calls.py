"""Twilio calls on a scripted clock: the carrier's JSON, into the call's decoder, and on to events.

    wire = Line(sound([speech("caller", 0, 4000)], 6000))
    events = wire.call(drop(range(120, 130), wire.media("inbound")))

Pieces of 20 ms come when they are full, both tracks side by side, and the endpoint is swept every 50 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from connectors import g711
from connectors.inputs import Input
from connectors.protocols import twilio
from connectors.protocols.twilio_call import CallLimits
from monitor.core.events import Event
from tests.builders import PER_MS
from tests.connectors.twilio.phone import Phone, Wire
from tests.pipeline.hearing import heard

NAMES = {"caller": "inbound", "agent": "outbound"}
PIECE_MS = 20

Sent = tuple[int, str]
"""When (ms of the stream) a message is sent, and the message."""


class Line:
    """One stream that carries these tracks (s16le at 8 kHz). `zero`: the stream's first time stamp stands for this
    moment (ms) of the tracks."""

    def __init__(
        self,
        tracks: Mapping[Any, bytes],
        *,
        sid: str = "MZ1",
        zero: int = 0,
        end: int | None = None,
        silence: bool = True,
    ) -> None:
        self._sid = sid
        self.wire = self._new_wire([NAMES[track] for track in tracks])
        self._zero = zero
        self._tracks = {NAMES[track]: pcm for track, pcm in tracks.items()}
        self.length = max(len(pcm) for pcm in self._tracks.values()) // (2 * PER_MS) if end is None else end
        self._silence = silence

    def pieces(self, track: str | None = None, *, shifted: int = 0) -> list[Sent]:
        """The media messages of one of Twilio's tracks, or of all. Without `silence`, silent ones are not sent.
        `shifted`: where the time stamps begin."""
        self.wire = self._new_wire(self._tracks)
        sent = []
        for at in range(self._zero, self.length, PIECE_MS):
            for name, pcm in self._tracks.items():
                data = pcm[2 * PER_MS * at : 2 * PER_MS * min(at + PIECE_MS, self.length)]
                if track in (None, name) and data and (self._silence or _loudest(data) > 8):
                    payload = g711.compress(g711.MULAW, data)
                    when = at - self._zero
                    sent.append((when + PIECE_MS, self.wire.media(when + shifted, payload, name)))
        return sent

    def _new_wire(self, names: Iterable[str]) -> Wire:
        return Wire(tracks=tuple(names), sid=self._sid)


class Carried:
    """One call as its carrier sends it, on a clock of its own."""

    def __init__(self, **limits: Any) -> None:
        self.phone = Phone(CallLimits(**limits))
        self.begun = self.phone.clock

    def stream(
        self,
        line: Line,
        sent: Iterable[Sent],
        *,
        stop: bool = True,
        lose: str | None = None,
        encoding: str = "mulaw",
        **start: Any,
    ) -> Carried:
        """A stream that begins now: messages at their times; then it stops, is lost, or just hangs."""
        zero = self.phone.clock
        stream = self.phone.join(line.wire, encoding=f"audio/x-{encoding}", **start)
        for at, text in sent:
            self._until(zero + at)
            self.phone.hear(stream, [text])
        if lose is not None:
            self.phone.lose(stream, lose)
        elif stop:
            self.phone.hear(stream, [line.wire.stop()])
        return self

    def wait(self, ms: int) -> Carried:
        """Nothing comes for so long."""
        self._until(self.phone.clock + ms)
        return self

    def end(self) -> Carried:
        """The program is being stopped."""
        self.phone.inputs += self.phone.call.stopped(self.phone.clock)
        return self

    def _until(self, clock: int) -> None:
        """The clock goes on, with a sweep at every whole 50 ms."""
        while (sweep := self.phone.clock // 50 * 50 + 50) <= clock:
            self.phone.clock = sweep
            self.phone.inputs += self.phone.call.elapsed(sweep)
        self.phone.clock = max(self.phone.clock, clock)

    @property
    def inputs(self) -> list[Input]:
        """What the call was to the core."""
        assert self.phone.call.ended
        return self.phone.inputs

    def events(self, detector: str = "energy") -> list[Event]:
        """What was told of it."""
        return heard(self.inputs, detector=detector)


def call(line: Line, sent: Iterable[Sent] | None = None, *, detector: str = "energy", **limits: Any) -> list[Event]:
    """The events of a call of one stream that stops."""
    return Carried(**limits).stream(line, line.pieces() if sent is None else sent).events(detector)


def _loudest(pcm: bytes) -> int:
    return int(np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)).max())


def track_of(text: str) -> str | None:
    """Twilio's word for the track of a media message."""
    media = twilio.decode(text).media
    return None if media is None else media.track
