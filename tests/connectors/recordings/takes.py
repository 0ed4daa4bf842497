"""Recordings for tests: made of bytes where the header matters, of speech where the call does."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

import connectors
from connectors.inputs import Audio, CallEnded, CallStarted, Input, Notice
from connectors.source import SourceOptions
from tests.builders import Speech, sound, speech

PCM_GUID = b"\x01\x00\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
"""The sub-format of extensible headers that means PCM."""


def stereo(*said: Speech, length: int) -> NDArray[np.int16]:
    """Both tracks of a call at 8 kHz, left the caller: frames by channels."""
    tracks = sound(said, length)
    return np.stack([np.frombuffer(tracks[track], "<i2") for track in ("caller", "agent")], axis=1)


def at_rate(samples: NDArray[np.int16], rate: int) -> NDArray[np.int16]:
    """What was made at 8 kHz, at another rate: lines are drawn between the samples."""
    places = np.arange(len(samples) * rate // 8000) * 8000 / rate
    before = np.arange(len(samples))
    return np.stack([np.interp(places, before, column) for column in samples.T], axis=1).astype(np.int16)


def wav(
    data: bytes,
    *,
    channels: int = 2,
    bits: int = 16,
    tag: int = 1,
    size: int | None = None,
    extra: bytes = b"",
    before: bytes = b"",
    after: bytes = b"",
) -> bytes:
    """A WAV file at 8 kHz. `size`: what its header says of the length of the audio. `before`, `after`: other chunks."""
    align = channels * bits // 8
    fmt = struct.pack("<HHIIHH", tag, channels, 8000, 8000 * align, align, bits) + extra
    said = len(data) if size is None else size
    body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + before + b"data" + struct.pack("<I", said) + data + after
    return b"RIFF" + struct.pack("<I", len(body) if size is None else min(size + 36, 0xFFFFFFFF)) + body


def chunk(name: bytes, body: bytes, pad: bool = True) -> bytes:
    """One RIFF chunk."""
    return name + struct.pack("<I", len(body)) + body + (b"\0" if pad and len(body) % 2 else b"")


def extensible(bits: int) -> bytes:
    """What an extensible `fmt ` chunk has behind the plain one."""
    return struct.pack("<HHI", 22, bits, 3) + PCM_GUID


def save(path: Path, samples: NDArray[Any], rate: int = 8000, **how: Any) -> Path:
    """Write a sound file through libsndfile."""
    soundfile.write(path, samples, rate, **how)
    return path


def take(word: object, options: SourceOptions | None = None) -> list[Input]:
    """All inputs of a source."""

    async def run() -> list[Input]:
        return [given async for given in connectors.open(str(word), options).inputs()]

    inputs = asyncio.run(run())
    assert isinstance(inputs[0], CallStarted)
    assert isinstance(inputs[-1], CallEnded)
    return inputs


def tracks_of(inputs: Iterable[Input]) -> dict[str, bytes]:
    """The samples of each track; fails where a piece does not begin where the one before it ended."""
    tracks: dict[str, bytes] = {}
    for given in inputs:
        if isinstance(given, Audio):
            held = tracks.get(given.track, b"")
            assert given.at * 16 == len(held)
            tracks[given.track] = held + given.pcm
    return tracks


def notices_of(inputs: Iterable[Input]) -> list[str]:
    """The kinds of the notices, in order."""
    return [given.kind for given in inputs if isinstance(given, Notice)]


def seconds_of(inputs: Iterable[Input]) -> dict[str, float]:
    """How long each track is."""
    return {track: len(pcm) / 16000 for track, pcm in tracks_of(inputs).items()}


TALK = stereo(speech("caller", 500, 1500), speech("agent", 1800, 3600), length=4000)
"""Four seconds of a call, a column a channel."""
BYTES = TALK.astype("<i2").tobytes()
BOTH = {"caller": TALK[:, 0].astype("<i2").tobytes(), "agent": TALK[:, 1].astype("<i2").tobytes()}
