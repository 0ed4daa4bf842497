"""A call made of media streams: messages in, inputs out. Pure; `now_ms` is a monotonic clock.

    call = TwilioCall("CA…", limits, started_at)
    stream = call.join(start, sequence, now_ms)   # each stream of the call; raises UnknownFormat
    call.receive(stream, text, now_ms)            # each message -> inputs
    call.leave(stream, now_ms, "code 1006")       # its socket is gone -> inputs
    call.elapsed(now_ms)                          # every 50 ms or so -> inputs

A call usually has one stream with both tracks. It may have one for each track, and one that is lost may come back with
its time stamps at zero: the monotonic clock aligns them. A track belongs to one stream at a time.

| what comes | what it becomes |
|---|---|
| audio in order | `Audio` at once |
| a hole in the time stamps, no number missing | silence |
| numbers missing | `Stall` over what was lost, notice `gap` |
| a track is 250 ms behind the other | silence; unknown if its messages are missing or its stream is gone |
| nothing at all for 2 s | `Stall` and `Elapsed` until audio comes back, notice `stalled` |
| `stop` of the last open stream | `CallEnded`, `hangup` |
| the last open socket lost | nothing until it comes back (`Stall`, `reconnected`) or the grace ends (`disconnected`) |
"""

from __future__ import annotations

from typing import Literal

import msgspec

from connectors.inputs import TRACKS, CallEnded, CallStarted, Elapsed, Input, Notice, Track, TrackFormat
from connectors.protocols.media_placing import MediaPlacing
from connectors.protocols.media_stream import MediaStream
from connectors.protocols.twilio import KNOWN_EVENTS, BadMessage, Start, decode

Cause = Literal["hangup", "disconnected", "stopped"]

STALL_AFTER_MS = 2000
STALL_STEP_MS = 500
PAIRING_AUDIO_MS = 5000
MAX_STREAMS = 8

_LONE = {
    "caller": "agent channel absent: the stream carries only the caller",
    "agent": "caller channel absent: the stream carries only the agent",
}
_ADVICE = '; use <Start><Stream track="both_tracks"> to hear both'


class CallLimits(msgspec.Struct, frozen=True):
    """`reconnect_grace_ms`: how long a call whose socket was lost waits for it to come back. `pairing_ms`: how long a
    stream with one track waits for the other track's stream. `silent_limit_ms`: after so long without any audio the
    call is given up. `max_message_bytes`: a longer message is not read."""

    reconnect_grace_ms: int = 4000
    pairing_ms: int = 1000
    silent_limit_ms: int = 300_000
    max_message_bytes: int = 65_536


class TwilioCall:
    """One call. `ended`: the last input has been given; nothing comes after it. The customer's parameters become the
    call's labels: whoever calls `join` takes secrets out of them before."""

    def __init__(self, call: str, limits: CallLimits, started_at: str | None = None) -> None:
        self.call = call
        self.ended = False
        self._limits = limits
        self._started_at = started_at
        self._placing = MediaPlacing()
        self._tally = self._placing.tally
        self._streams: list[MediaStream] = []
        self._parameters: dict[str, str] = {}
        self._formats: dict[Track, TrackFormat] = {}
        self._early: list[Input] | None = []
        self._first_start = 0
        self._lost_at = 0
        self._lost_how = ""
        self._stalled_from: int | None = None

    def join(self, start: Start, sequence: int | None, now_ms: int) -> MediaStream:
        """A stream of this call has started. Raises `UnknownFormat` if its audio cannot be read."""
        stream = MediaStream(start, sequence, now_ms)
        if not self._placing.begun:
            self._first_start = now_ms
        if not self._streams:
            self._placing.begin(now_ms)
        self._streams.append(stream)
        if self._early is not None:
            self._parameters |= start.parameters
            for track in stream.carries:
                self._formats.setdefault(track, stream.format.track_format)
        return stream

    @property
    def full(self) -> bool:
        """Whether the call has as many streams as a call may have."""
        return len(self._streams) >= MAX_STREAMS

    def receive(self, stream: MediaStream, text: str, now_ms: int) -> list[Input]:
        """A message of a stream. Whatever is wrong with it is counted, never raised."""
        out: list[Input] = []
        if self.ended or not stream.open:
            return out
        if len(text) > self._limits.max_message_bytes:
            self.damaged(f"a message of {len(text)} characters is longer than may be")
            return self._given(out, now_ms)
        try:
            message = decode(text)
        except BadMessage as bad:
            self.damaged(str(bad))
            return self._given(out, now_ms)
        if message.sequence_number is not None:
            stream.sequence.note(message.sequence_number)
        event = message.event
        if event == "media":
            if message.media is None:
                self.damaged("a media message without media")
            elif self._placing.media(stream, message.media, message.sequence_number, now_ms, out):
                self._stalled_from = None
            if self._early is None and self._tally.due_ms is None:
                return out
        elif event == "stop":
            return self._given(out, now_ms) + self._stop(stream, now_ms)
        elif event == "start":
            self._tally.count("unexpected_start", None, "a second start on one stream was passed over")
        elif event not in KNOWN_EVENTS:
            self._tally.count("unknown_event", None, f"unknown event {event[:40]!a}")
        return self._given(out, now_ms)

    def damaged(self, why: str) -> None:
        """Count something that could not be read; it is told with the next inputs."""
        self._tally.count("bad_payload", None, why)

    def leave(self, stream: MediaStream, now_ms: int, how: str) -> list[Input]:
        """A stream's socket is gone without a stop; `how` says it in words for people."""
        if self.ended or not stream.open:
            return []
        out: list[Input] = []
        self._close(stream, now_ms, out)
        self._lost_how = how
        if not self._streams:
            self._lost_at = now_ms
            wait = self._limits.reconnect_grace_ms / 1000
            message = f"the media stream was lost ({how}); the call waits {wait:g} s for it to come back"
            out.append(Notice(self._placing.furthest_ms, "stream_lost", message))
        return self._given(out, now_ms)

    def elapsed(self, now_ms: int) -> list[Input]:
        """Time has passed."""
        if self.ended:
            return []
        if not self._streams:
            if now_ms - self._lost_at >= self._limits.reconnect_grace_ms:
                return self._end("disconnected", f"the media stream was lost without a stop ({self._lost_how})", now_ms)
            return self._given([], now_ms)
        out: list[Input] = []
        for stream in self._streams:
            self._placing.release(stream, now_ms, out)
        silent = now_ms - self._placing.arrival
        if silent >= self._limits.silent_limit_ms:
            return self._given(out, now_ms) + self._end("disconnected", f"no audio for {silent // 1000} s", now_ms)
        if silent >= STALL_AFTER_MS and self._early is None:
            self._stall(silent, out)
        return self._given(out, now_ms)

    def stopped(self, now_ms: int) -> list[Input]:
        """The program is being stopped."""
        return [] if self.ended else self._end("stopped", None, now_ms)

    def _stop(self, stream: MediaStream, now_ms: int) -> list[Input]:
        out: list[Input] = []
        self._close(stream, now_ms, out)
        out = self._given(out, now_ms)
        return out if self._streams else out + self._end("hangup", None, now_ms)

    def _close(self, stream: MediaStream, now_ms: int, out: list[Input]) -> None:
        self._placing.close(stream, now_ms, out)
        self._streams.remove(stream)

    def _end(self, cause: Cause, message: str | None, now_ms: int) -> list[Input]:
        out: list[Input] = []
        for stream in list(self._streams):
            self._close(stream, now_ms, out)
        if self._early is not None:
            self._early += out
            out = self._open()
        out += self._tally.rest(self._placing.furthest_ms)
        out.append(CallEnded(self._placing.furthest_ms, cause, message))
        self.ended = True
        return out

    def _given(self, out: list[Input], now_ms: int) -> list[Input]:
        """What is handed on of `out`: everything, or nothing yet while the call waits for its other track."""
        if self._early is not None:
            self._early += out
            both = len(self._formats) == len(TRACKS)
            waited = now_ms - self._first_start >= self._limits.pairing_ms
            if not both and not waited and self._placing.furthest_ms < PAIRING_AUDIO_MS:
                return []
            out = self._open()
        due = self._tally.due_ms
        if due is not None and due <= self._placing.furthest_ms:
            out += self._tally.told(self._placing.furthest_ms)
        return out

    def _open(self) -> list[Input]:
        """The call's first input, and what has come meanwhile."""
        for track, heard in self._placing.heard_formats().items():
            self._formats.setdefault(track, heard)
        if not self._formats:
            self._formats["caller"] = self._streams[0].format.track_format if self._streams else TrackFormat()
        present = [track for track in TRACKS if track in self._formats]
        tracks: dict[str, TrackFormat] = {track: self._formats[track] for track in present}
        early, self._early = self._early or [], None
        self._placing.declare(present)
        started = CallStarted(
            call=self.call,
            source="twilio",
            started_at=self._started_at,
            agent_id=self._parameters.get("agent_id"),
            labels=self._parameters,
            tracks=tracks,
        )
        given: list[Input] = [started]
        if len(present) == 1:
            (track,) = present
            absent: Track = "agent" if track == "caller" else "caller"
            given.append(Notice(0, "one_way_audio", _LONE[track] + _ADVICE, absent))
        return given + early

    def _stall(self, silent_ms: int, out: list[Input]) -> None:
        """Nothing has come on any track for a while: say so, and let time go on."""
        placing = self._placing
        if self._stalled_from is None:
            self._stalled_from = placing.furthest_ms
            message = "no audio comes on any track: what is missing counts as unknown until it is back"
            out.append(Notice(placing.furthest_ms, "stalled", message))
        until = self._stalled_from + silent_ms
        if until - placing.furthest_ms >= STALL_STEP_MS:
            placing.stall(until, out)
            out.append(Elapsed(until))
