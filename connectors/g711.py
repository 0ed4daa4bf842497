"""The two 8-bit telephone codes of ITU-T G.711, mu-law and A-law, as tables of 256 samples.

The tables are bit-identical to the ones of `audioop`, which left the standard library in Python 3.13.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16]


def _mulaw(code: int) -> int:
    """One code's sample: inverted bits; sign, 3 bits of segment, 4 bits of step; a bias of 132 keeps segments equal."""
    bits = ~code & 0xFF
    size = (((bits & 0x0F) << 3) + 132 << (bits >> 4 & 7)) - 132
    return -size if bits & 0x80 else size


def _alaw(code: int) -> int:
    """One code's sample: every other bit inverted; the first two segments share a step; set sign bit is positive."""
    bits = code ^ 0x55
    segment = bits >> 4 & 7
    size = ((bits & 0x0F) << 4) + 8
    if segment:
        size = size + 256 << segment - 1
    return size if bits & 0x80 else -size


MULAW: Samples = np.array([_mulaw(code) for code in range(256)], dtype="<i2")
ALAW: Samples = np.array([_alaw(code) for code in range(256)], dtype="<i2")

MULAW_SILENCE = 0xFF
ALAW_SILENCE = 0xD5


def expand(table: Samples, data: bytes) -> Samples:
    """The samples of `data`, one a byte. `take` beats both indexing and two `bytes.translate` on large blocks and
    costs about the same (1.5 us) on a frame of 160 bytes."""
    return table.take(np.frombuffer(data, dtype=np.uint8))


def compress(table: Samples, pcm: bytes) -> bytes:
    """s16le `pcm` as the nearest codes of `table`. For simulators: it is exact, not fast."""
    order = np.argsort(table, kind="stable")
    # Both laws are steps of even width, so a midpoint is never itself a level; mu-law's two zeros lie side by side,
    # and `side="right"` takes the later one in the table, 0xFF, which is what senders use for silence.
    levels = table[order].astype(np.int32)
    places = np.searchsorted((levels[:-1] + levels[1:]) / 2, np.frombuffer(pcm, dtype="<i2"), side="right")
    return order[places].astype(np.uint8).tobytes()
