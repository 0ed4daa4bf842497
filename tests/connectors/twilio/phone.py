"""A carrier and a listener for the tests: what is sent as messages, and what a core would make of the inputs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from connectors import g711
from connectors.inputs import Audio, CallEnded, CallStarted, Input, Notice, Stall, Track
from connectors.protocols import twilio
from connectors.protocols.media_stream import MediaStream
from connectors.protocols.twilio_call import CallLimits, TwilioCall

CALL = "CA0123456789abcdef0123456789abcdef"
FRAME = 160


def code(number: int) -> bytes:
    """A mu-law payload of 20 ms that no other number below 100 has."""
    return bytes([number % 100 + 1]) * FRAME


def sample(number: int) -> int:
    """The sample that `code(number)` holds throughout."""
    return int(g711.MULAW[number % 100 + 1])


class Wire:
    """One stream's messages, numbered as Twilio numbers them."""

    def __init__(
        self, *, tracks: tuple[str, ...] = ("inbound", "outbound"), sid: str = "MZ1", call: str = CALL
    ) -> None:
        self.sid = sid
        self.call = call
        self.tracks = tracks
        self.sequence = 1
        self.chunks = {"inbound": 0, "outbound": 0}

    def start(self, **more: object) -> str:
        return twilio.start(self.sid, self.call, tracks=self.tracks, **more)  # type: ignore[arg-type]

    def media(self, at_ms: int, payload: bytes, track: str = "inbound") -> str:
        self.sequence += 1
        self.chunks[track] += 1
        return twilio.media(self.sid, track, payload, sequence=self.sequence, chunk=self.chunks[track], timestamp=at_ms)

    def speech(self, begin_ms: int, end_ms: int, track: str = "inbound") -> list[str]:
        """Pieces of 20 ms whose content tells their place."""
        return [self.media(at, code(at // 20), track) for at in range(begin_ms, end_ms, 20)]

    def stop(self) -> str:
        return twilio.stop(self.sid, self.call, sequence=self.sequence + 1)


def interleaved(wire: Wire, begin: int, end: int) -> list[str]:
    """Both tracks of a stream, or the one it has, piece by piece."""
    return [text for at in range(begin, end, 20) for track in wire.tracks for text in wire.speech(at, at + 20, track)]


class Phone:
    """A `TwilioCall` under test. Every message is received at `clock`, which the test sets."""

    def __init__(self, limits: CallLimits | None = None) -> None:
        self.call = TwilioCall(CALL, limits or CallLimits(), "2026-01-01T00:00:00Z")
        self.inputs: list[Input] = []
        self.clock = 5_000_000

    def join(self, wire: Wire, **more: object) -> MediaStream:
        message = twilio.decode(wire.start(**more))
        assert message.start is not None
        stream = self.call.join(message.start, message.sequence_number, self.clock)
        self.inputs += self.call.elapsed(self.clock)
        return stream

    def hear(self, stream: MediaStream, texts: Iterable[str], *, step_ms: int = 0) -> None:
        """Receive messages, the clock going on by `step_ms` before each."""
        for text in texts:
            self.clock += step_ms
            self.inputs += self.call.receive(stream, text, self.clock)

    def wait(self, ms: int) -> None:
        """The clock goes on, with a sweep every 50 ms."""
        end = self.clock + ms
        while self.clock < end:
            self.clock = min(end, self.clock + 50)
            self.inputs += self.call.elapsed(self.clock)

    def lose(self, stream: MediaStream, how: str = "code 1006") -> None:
        self.inputs += self.call.leave(stream, self.clock, how)

    @property
    def started(self) -> CallStarted:
        (started,) = [given for given in self.inputs if isinstance(given, CallStarted)]
        assert self.inputs[0] is started
        return started

    @property
    def ended(self) -> CallEnded:
        (ended,) = [given for given in self.inputs if isinstance(given, CallEnded)]
        assert self.inputs[-1] is ended
        return ended

    def notices(self, kind: str | None = None) -> list[Notice]:
        return [given for given in self.inputs if isinstance(given, Notice) and kind in (None, given.kind)]

    def count(self, kind: str) -> int:
        return sum(notice.count for notice in self.notices(kind))

    def heard(self, track: Track = "caller") -> NDArray[np.int16]:
        return heard(self.inputs, track)

    def stalls(self, track: Track = "caller") -> list[tuple[int, int]]:
        return stalls(self.inputs, track)


def heard(inputs: Iterable[Input], track: Track) -> NDArray[np.int16]:
    """The track as a core hears it by the rules of `connectors.inputs`: pieces within 40 ms touch, holes are zeros."""
    line = np.zeros(0, np.int16)
    for given in inputs:
        if isinstance(given, Stall) and given.track == track:
            line = np.append(line, np.zeros(max(0, given.until * 8 - len(line)), np.int16))
        if isinstance(given, Audio) and given.track == track:
            assert given.rate == 8000
            assert given.pcm
            assert len(given.pcm) % 2 == 0
            assert given.at >= len(line) // 8 - 40, "nothing may be given that the core would drop as late"
            if given.at - len(line) // 8 > 40:
                line = np.append(line, np.zeros(given.at * 8 - len(line), np.int16))
            line = np.append(line, np.frombuffer(given.pcm, "<i2"))
    return line


def stalls(inputs: Iterable[Input], track: Track) -> list[tuple[int, int]]:
    """The unknown stretches of a track in ms, those that touch joined."""
    joined: list[tuple[int, int]] = []
    for given in inputs:
        if isinstance(given, Stall) and given.track == track:
            if joined and joined[-1][1] == given.at:
                joined[-1] = (joined[-1][0], given.until)
            else:
                joined.append((given.at, given.until))
    return joined


def expected(spans: Iterable[tuple[int, int]], end_ms: int | None = None) -> NDArray[np.int16]:
    """A track on which `Wire.speech` was heard in these spans and silence elsewhere."""
    spans = list(spans)
    line = np.zeros((spans[-1][1] if end_ms is None else end_ms) * 8, np.int16)
    for begin, end in spans:
        for at in range(begin, end, 20):
            line[at * 8 : (at + 20) * 8] = sample(at // 20)
    return line
