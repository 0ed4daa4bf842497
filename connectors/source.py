"""Source words: `scheme:path?key=value&…` taken apart, and the options that say what the bytes are.

A word without a scheme is a recording if it is a file or ends like one. A path may hold `?`, `,` or `:`: what exists
under the whole name is taken by its whole name.
"""

from __future__ import annotations

import os
import re

import msgspec

from connectors.base import SourceError
from connectors.inputs import TRACKS, Track

Channel = Track | None
"""Whose voice a channel holds; None: nobody's, it is passed over."""

# The last row is not read here, but the error then says what to do.
AUDIO_SUFFIXES = (
    *(".wav", ".wave", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".aifc", ".au", ".snd", ".caf"),
    *(".w64", ".rf64", ".voc", ".sph", ".nist"),
    *(".m4a", ".mp4", ".webm", ".mkv", ".wma", ".amr", ".aac"),
)

# One letter before the colon is a Windows drive, not a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
_QUERY = re.compile(r"[A-Za-z_][\w.-]*=[^&]*(&[A-Za-z_][\w.-]*=[^&]*)*")


class SourceOptions(msgspec.Struct, frozen=True):
    """What is known about a source beforehand. `rate` (Hz) and `encoding` (`s16le`, `mulaw`, `alaw`, ...) describe raw
    bytes; `channels` says whose voice each channel holds, in order. `call`, `agent_id` and `labels` go into
    `CallStarted`. `piece_ms`: how much of each track a recording hands on at a time: large pieces are fast, small ones
    are for watching at the speed of the call. `transcript`: the file with the words of a recording; None: what lies
    beside it is taken; empty: nothing is."""

    rate: int | None = None
    encoding: str | None = None
    channels: tuple[Channel, ...] | None = None
    call: str | None = None
    agent_id: str | None = None
    labels: dict[str, str] = {}
    piece_ms: int = 1000
    transcript: str | None = None


class Source(msgspec.Struct, frozen=True):
    """A source word taken apart. `path`: what follows the scheme, without the query. `extra`: what the query holds
    beside `SourceOptions`."""

    word: str
    scheme: str
    path: str
    options: SourceOptions
    extra: dict[str, str] = {}

    def refuse_extra(self) -> None:
        """For connectors without options of their own. Raises `SourceError` if the word holds any."""
        if self.extra:
            raise SourceError(
                f"{self.scheme}: has no option {', '.join(sorted(self.extra))}; "
                "it has rate, encoding, channels, transcript, call, agent_id and label.NAME"
            )


def shown(path: str) -> str:
    """A file's path on one line, whatever bytes it holds."""
    return path if path.isprintable() else repr(path)[1:-1]


def parse_channels(text: str) -> tuple[Channel, ...]:
    """`caller,agent` -> whose voice each channel holds; `-` passes a channel over. Raises `SourceError`."""
    channels: list[Channel] = []
    for name in (part.strip() for part in text.split(",")):
        track = next((track for track in TRACKS if track == name), None)
        if (track is None and name != "-") or (track is not None and track in channels):
            raise SourceError(
                f"channels={text}: say whose voice each channel holds, once each, in the order of the channels: "
                "caller,agent or agent,caller (- passes a channel over)"
            )
        channels.append(track)
    if not any(channels):
        raise SourceError(f"channels={text}: at least one channel must be caller or agent")
    return tuple(channels)


def parse_source(word: str, options: SourceOptions, schemes: tuple[str, ...]) -> Source:
    """Take `word` apart. Raises `SourceError` for a scheme that is not in `schemes` and for broken options."""
    match = _SCHEME.fullmatch("pcm:-" if word == "-" else word)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", word)
    if scheme not in schemes:
        scheme, rest = _recording_without_scheme(word, scheme, schemes), word
    path, query = _split_query(rest)
    if not path and scheme in ("wav", "pcm"):
        raise SourceError(f"{word}: a file name is missing after the colon, as in {scheme}:call.{scheme}")
    own, extra = _read_query(query, options)
    return Source(word, scheme, path, own, extra)


def _recording_without_scheme(word: str, scheme: str, schemes: tuple[str, ...]) -> str:
    path = _split_query(word)[0]
    if "wav" in schemes and (os.path.exists(path) or os.path.splitext(path)[1].lower() in AUDIO_SUFFIXES):
        return "wav"
    known = ", ".join(f"{name}:" for name in schemes)
    if scheme:
        raise SourceError(f"{word}: there is no source {scheme}:. Known are {known}")
    raise SourceError(f"{word}: no such file, and not a source either. Sources begin with {known} as in wav:call.wav")


def _split_query(rest: str) -> tuple[str, str]:
    path, mark, query = rest.rpartition("?")
    if mark and _QUERY.fullmatch(query) and not os.path.exists(rest):
        return path, query
    return rest, ""


def _read_query(query: str, options: SourceOptions) -> tuple[SourceOptions, dict[str, str]]:
    from urllib.parse import parse_qsl

    found: dict[str, object] = {}
    labels = dict(options.labels)
    extra: dict[str, str] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key == "rate":
            if not (value.isascii() and value.isdigit()) or len(value) > 7:
                raise SourceError(f"rate={value}: the rate is a number of samples a second, such as 8000")
            found["rate"] = int(value)
        elif key == "channels":
            found["channels"] = parse_channels(value)
        elif key in ("encoding", "call", "agent_id", "transcript"):
            found[key] = value
        elif key.startswith("label."):
            labels[key.removeprefix("label.")] = value
        else:
            extra[key] = value
    return msgspec.structs.replace(options, labels=labels, **found), extra
