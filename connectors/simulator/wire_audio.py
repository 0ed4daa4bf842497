"""Recordings as bytes of a wire format: `pcm_8000` … `pcm_48000` (s16le mono) and `ulaw_8000`."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from connectors import g711
from connectors.pcm import PcmDecoder
from connectors.simulator.voices import samples

FORMATS = ("pcm_8000", "pcm_16000", "pcm_22050", "pcm_24000", "pcm_44100", "pcm_48000", "ulaw_8000")
"""The audio formats of an ElevenLabs conversation, the agent's and the caller's alike."""


def wire_rate(form: str) -> int:
    """Samples per second of a format. Raises `ValueError` if there is no such format."""
    if form not in FORMATS:
        raise ValueError(f"audio format {form!r} does not exist; there are {', '.join(FORMATS)}")
    return int(form.split("_")[1])


def sample_bytes(form: str) -> int:
    """Bytes per sample."""
    return 1 if form == "ulaw_8000" else 2


@cache
def encoded(name: str, form: str) -> bytes:
    """The whole recording `name` in a wire format."""
    return pack(samples(name, wire_rate(form)), form)


def pack(sound: NDArray[np.int16], form: str) -> bytes:
    """Samples of a format's rate as its bytes."""
    pcm = np.asarray(sound, dtype="<i2").tobytes()
    return g711.compress(g711.MULAW, pcm) if form == "ulaw_8000" else pcm


def piece(name: str, form: str, start_ms: int, end_ms: int) -> bytes:
    """[`start_ms`, `end_ms`) of a recording in a wire format. Neighbouring pieces add up to the whole, sample by
    sample, also where a ms is no whole number of samples."""
    rate, width = wire_rate(form), sample_bytes(form)
    return encoded(name, form)[start_ms * rate // 1000 * width : end_ms * rate // 1000 * width]


def duration_ms(data: bytes, form: str) -> float:
    """How long `data` plays, in ms."""
    return len(data) / sample_bytes(form) / wire_rate(form) * 1000


def decoder(form: str) -> PcmDecoder:
    """Reads a wire format into s16le at 8 kHz."""
    return PcmDecoder("mulaw" if form == "ulaw_8000" else "s16le", wire_rate(form))
