"""Twilio Media Streams: the messages on the wire, read and written. SignalWire speaks the same.

Source: Twilio's "Media Streams - WebSocket Messages". Numbers come as strings there and as numbers elsewhere; both are
read. A media message is the hot path: JSON and base64 are undone in one pass of one typed decoder, about 1 us a frame.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from connectors.inputs import Track, TrackFormat
from connectors.protocols.surrogates import without_halves

TRACK_NAMES: dict[str, Track] = {"inbound": "caller", "outbound": "agent"}
"""Twilio's word for a track -> ours. `inbound` is what Twilio receives from the person on the line, whoever dialled."""

KNOWN_EVENTS = frozenset({"connected", "start", "media", "dtmf", "mark", "stop"})

_ENCODINGS = {
    "audio/x-mulaw": "mulaw",
    "audio/mulaw": "mulaw",
    "audio/pcmu": "mulaw",
    "pcmu": "mulaw",
    "audio/x-alaw": "alaw",
    "audio/alaw": "alaw",
    "audio/pcma": "alaw",
    "pcma": "alaw",
    # 16-bit words: little-endian in every client seen, whatever RFC 3551 says of audio/L16.
    "audio/x-l16": "s16le",
    "audio/l16": "s16le",
    "audio/x-raw": "s16le",
}


class BadMessage(ValueError):
    """A text that is no message: broken JSON, or a field of the wrong kind. The message says which."""


class MediaFormat(msgspec.Struct, frozen=True, rename="camel"):
    """What the payloads are. Twilio's own are always `audio/x-mulaw` at 8000 Hz, one channel."""

    encoding: str = "audio/x-mulaw"
    sample_rate: int = 8000
    channels: int = 1

    @property
    def pcm_encoding(self) -> str:
        """The encoding by the name that `connectors.pcm` has for it, or the wire's own name where it has none."""
        return _ENCODINGS.get(self.encoding.lower().split(";")[0].strip(), self.encoding)

    @property
    def track_format(self) -> TrackFormat:
        """The format as the event contract names it."""
        name = self.pcm_encoding
        return TrackFormat(encoding="pcm_s16le" if name == "s16le" else name, sample_rate=self.sample_rate)


class Start(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of a stream. `tracks`: Twilio's words for the tracks it is going to send."""

    stream_sid: str | None = None
    call_sid: str | None = None
    account_sid: str | None = None
    tracks: list[str] | None = None
    media_format: MediaFormat | None = None
    custom_parameters: dict[str, Any] | None = None

    @property
    def carries(self) -> frozenset[Track]:
        """The tracks that are promised; empty where the message does not say."""
        names = (name.removesuffix("_track") for name in self.tracks or ())
        return frozenset(TRACK_NAMES[name] for name in names if name in TRACK_NAMES)

    @property
    def parameters(self) -> dict[str, str]:
        """The customer's parameters as text, as many and as long as Twilio allows them (99, 500 characters)."""
        given = list((self.custom_parameters or {}).items())[:99]
        return {str(name)[:500]: _text(value)[:500] for name, value in given}


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class Media(msgspec.Struct, gc=False):
    """One piece of one track. `chunk` counts the pieces of a track from 1; `timestamp` is its place in the stream in ms
    from the stream's start. `payload` is None where it is missing."""

    payload: bytes | None = None
    track: str | None = "inbound"
    chunk: int | None = None
    timestamp: int | None = None


class Message(msgspec.Struct, rename="camel"):
    """Any message. `sequence_number` counts all the messages of a stream from 1."""

    event: str = ""
    sequence_number: int | None = None
    media: Media | None = None
    start: Start | None = None


_decoder = msgspec.json.Decoder(Message, strict=False)


def decode(text: str) -> Message:
    """Read one message. Raises `BadMessage`. An event that nobody knows is not an error: see `KNOWN_EVENTS`."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError as wrong:
        mended = without_halves(text)
        if mended is not None:
            return decode(mended)
        raise BadMessage(f"not a media-stream message: {wrong}"[:200]) from None
    except RecursionError:
        raise BadMessage("not a media-stream message: nested too deeply") from None
    except UnicodeError:
        raise BadMessage("not a media-stream message: not valid Unicode") from None


# What a carrier (or a simulator of one) writes. Numbers are written as Twilio writes them: as strings.


def _line(event: str, stream_sid: str, sequence: int, **body: Any) -> str:
    message = {"event": event, "sequenceNumber": str(sequence), "streamSid": stream_sid, **body}
    return msgspec.json.encode(message).decode()


def connected() -> str:
    """The first message on a socket."""
    return '{"event":"connected","protocol":"Call","version":"1.0.0"}'


def start(
    stream_sid: str,
    call_sid: str,
    *,
    tracks: Sequence[str] = ("inbound", "outbound"),
    encoding: str = "audio/x-mulaw",
    sample_rate: int = 8000,
    parameters: Mapping[str, str] | None = None,
    account_sid: str = "AC" + "0" * 32,
    sequence: int = 1,
) -> str:
    """The second: what the stream is."""
    body = {
        "accountSid": account_sid,
        "streamSid": stream_sid,
        "callSid": call_sid,
        "tracks": list(tracks),
        "mediaFormat": {"encoding": encoding, "sampleRate": sample_rate, "channels": 1},
        "customParameters": dict(parameters or {}),
    }
    return _line("start", stream_sid, sequence, start=body)


def media(stream_sid: str, track: str, payload: bytes, *, sequence: int, chunk: int, timestamp: int) -> str:
    """One piece of one track, `timestamp` in ms."""
    body = {
        "track": track,
        "chunk": str(chunk),
        "timestamp": str(timestamp),
        "payload": base64.b64encode(payload).decode(),
    }
    return _line("media", stream_sid, sequence, media=body)


def stop(stream_sid: str, call_sid: str, *, sequence: int, account_sid: str = "AC" + "0" * 32) -> str:
    """The last one of a stream that ends well."""
    return _line("stop", stream_sid, sequence, stop={"accountSid": account_sid, "callSid": call_sid})
