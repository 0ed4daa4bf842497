"""Silero's model, asked for many tracks at once: one row a track, one hop of 32 ms each.

The model answers for a row the very same whoever else is in the batch (a test holds it to that), so it does not matter
when a hop is worked out, nor together with which: whoever needs an answer first pays for all whose audio is ready.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from monitor.detectors import DetectorUnavailable

MODEL = Path(__file__).with_name("silero_vad.onnx")
"""Silero VAD 6.2, MIT licence (silero_vad.LICENSE beside it)."""

MAX_BATCH = 128
"""Rows at a time: beyond it a row costs no less."""

HOP_MS = 32


@cache
def session() -> Any:
    """The model, loaded once a process. Raises DetectorUnavailable where it cannot be."""
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise DetectorUnavailable(f"Silero cannot be loaded: install turnwatch[silero] ({error})") from error


class Row:
    """One track: its audio that has not been judged, the model's memory of it, and the answers so far."""

    __slots__ = ("__weakref__", "_context", "_samples", "_waiting", "probabilities", "state")

    def __init__(self, rate: int) -> None:
        self._samples = rate * HOP_MS // 1000
        self.forget()

    def forget(self) -> None:
        """As new: nothing heard, nothing answered."""
        self._waiting = bytearray(2 * self._samples // 8)  # a hop goes with the eighth of a hop before it
        self.state: NDArray[np.float32] = np.zeros((2, 1, 128), np.float32)
        self.probabilities: list[float] = []

    def hear(self, pcm: bytes) -> None:
        """The next samples, s16le."""
        self._waiting += pcm

    @property
    def ready(self) -> bool:
        """Is there a whole hop to be judged?"""
        return len(self._waiting) >= 2 * self._samples * 9 // 8

    def take(self) -> NDArray[np.int16]:
        """The next hop, with the samples before it."""
        hop = np.frombuffer(bytes(self._waiting[: 2 * self._samples * 9 // 8]), "<i2")
        del self._waiting[: 2 * self._samples]
        return hop


class Batches:
    """The tracks of one sample rate that are judged together."""

    def __init__(self, rate: int) -> None:
        """Raises DetectorUnavailable where the model cannot be loaded."""
        self._model = session()
        self._rate = np.array(rate, np.int64)
        self._rows: WeakSet[Row] = WeakSet()

    def join(self, row: Row) -> None:
        """A new track."""
        self._rows.add(row)

    def work(self, wanted: Row) -> None:
        """Judge every whole hop of `wanted`, and with each as many others as are ready."""
        while wanted.ready:
            others = [row for row in self._rows if row is not wanted and row.ready][: MAX_BATCH - 1]
            self._judge([wanted, *others])

    def _judge(self, rows: list[Row]) -> None:
        audio = np.stack([row.take() for row in rows]).astype(np.float32) / np.float32(32768)
        state = rows[0].state if len(rows) == 1 else np.concatenate([row.state for row in rows], axis=1)
        found, state = self._model.run(None, {"input": audio, "state": state, "sr": self._rate})
        for at, (row, probability) in enumerate(zip(rows, found[:, 0].tolist(), strict=True)):
            row.state = state[:, at : at + 1].copy()
            row.probabilities.append(probability)


@cache
def batches(rate: int) -> Batches:
    """The process's batches of one sample rate."""
    return Batches(rate)
