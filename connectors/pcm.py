"""Any encoding and sample rate of a wire -> s16le mono at 8 or 16 kHz, one byte string a channel.

Pure, with its own state: the same samples come out for any chunking of the input, down to single bytes. A sample that
is split between two chunks is kept for the next one. Rates are only ever lowered; where they are lowered the output
lies exactly on the input (see `connectors.resampling`) and lags by at most 2.5 ms.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from connectors import g711
from connectors.resampling import Downsampler, UnusualRate

Samples = NDArray[np.int16]

TARGETS = (8000, 16000)
MAX_RATE = 192_000


class UnknownFormat(ValueError):
    """An encoding, rate or number of channels that cannot be turned into s16 mono. The message is for the user."""


def _from_float(data: bytes) -> Samples:
    """Floats with full scale ±1.0; what is beyond is clipped, what is not a number is silence."""
    scaled = np.nan_to_num(np.frombuffer(data, dtype="<f4").astype(np.float64) * 32768, nan=0.0)
    return np.clip(np.rint(scaled), -32768, 32767).astype("<i2")


_READERS: dict[str, tuple[int, Callable[[bytes], Samples]]] = {
    "s16le": (2, lambda data: np.frombuffer(data, dtype="<i2")),
    "s16be": (2, lambda data: np.frombuffer(data, dtype=">i2").astype("<i2")),
    "mulaw": (1, lambda data: g711.expand(g711.MULAW, data)),
    "alaw": (1, lambda data: g711.expand(g711.ALAW, data)),
    "f32le": (4, _from_float),
}
ENCODINGS = tuple(_READERS)


class PcmDecoder:
    """One stream of bytes: `encoding` (one of `ENCODINGS`, `pcm_` before it or not) at `sample_rate` Hz, with
    `channels` interleaved, to s16le at `target` Hz. Raises `UnknownFormat`.

    `spare_bytes`: how many bytes at the end of the stream made no whole sample of every channel and were dropped; known
    after `finish`.
    """

    def __init__(self, encoding: str, sample_rate: int, *, channels: int = 1, target: int = 8000) -> None:
        reader = _READERS.get(encoding.removeprefix("pcm_"))
        if reader is None:
            raise UnknownFormat(f"audio encoding {encoding[:40]!r} is not known; known are {', '.join(ENCODINGS)}")
        if target not in TARGETS:
            raise UnknownFormat(f"cannot make audio of {target} Hz, only of 8000 or 16000 Hz")
        if not target <= sample_rate <= MAX_RATE:
            raise UnknownFormat(
                f"audio of {sample_rate} Hz cannot be watched at {target} Hz: it must have {target} to {MAX_RATE} Hz"
            )
        if not 1 <= channels <= 64:
            raise UnknownFormat(f"audio with {channels} channels cannot be read; 1 to 64 can")
        self._width, self._read = reader
        self._frame = self._width * channels
        self._channels = channels
        self._spare = b""
        self.spare_bytes = 0
        self._plain = sample_rate == target and channels == 1
        self._downsamplers: list[Downsampler] = []
        if sample_rate != target:
            try:
                self._downsamplers = [Downsampler(sample_rate, target) for _ in range(channels)]
            except UnusualRate as unusual:
                raise UnknownFormat(f"audio of {sample_rate} Hz cannot be read: {unusual}") from None

    def decode(self, data: bytes) -> tuple[bytes, ...]:
        """s16le bytes for each channel, in the order of the channels. May be empty where a filter is waiting."""
        if self._frame > 1:
            if self._spare:
                data = self._spare + data
            extra = len(data) % self._frame
            self._spare = data[len(data) - extra :]
            if extra:
                data = data[:-extra]
        samples = self._read(data)
        if self._plain:
            return (samples.tobytes(),)
        tracks = [samples] if self._channels == 1 else list(samples.reshape(-1, self._channels).T)
        if self._downsamplers:
            tracks = [lower.feed(track) for lower, track in zip(self._downsamplers, tracks, strict=True)]
        return tuple(track.tobytes() for track in tracks)

    def finish(self) -> tuple[bytes, ...]:
        """What the filter still held, for each channel. The decoder then is as new, but for `spare_bytes`."""
        self.spare_bytes += len(self._spare)
        self._spare = b""
        if not self._downsamplers:
            return (b"",) * self._channels
        return tuple(lower.finish().tobytes() for lower in self._downsamplers)
