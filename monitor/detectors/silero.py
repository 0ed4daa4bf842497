"""Silero's voice-activity detector, one a track: right in babble, music and comfort noise, late on soft beginnings.

It judges hops of 32 ms; a 20 ms frame is given the answer of the last hop that ended by the end of the frame, so that
answers depend on nothing but the samples. Audio may be offered ahead of its question: it is then judged together with
that of other tracks of the process, which costs a third.
"""

from __future__ import annotations

from monitor.detectors.silero_batches import HOP_MS, Row, batches

FRAME_MS = 20


class SileroDetector:
    """Says of each 20 ms frame whether it holds voice. Stateful: frames must come in order."""

    def __init__(self, rate: int = 8000, percent: int = 50) -> None:
        """`percent`: a frame is voice above this probability. Raises DetectorUnavailable without onnxruntime."""
        if rate not in (8000, 16000):
            raise ValueError(f"the Silero detector takes 8000 or 16000 Hz, not {rate}")
        if not 0 <= percent <= 100:
            raise ValueError(f"the Silero detector's threshold is 0 to 100 percent, not {percent}")
        self._batches = batches(rate)
        self._row = Row(rate)
        self._batches.join(self._row)
        self._over = percent / 100
        self._size = 2 * rate * FRAME_MS // 1000
        self.reset()

    def reset(self) -> None:
        """Forget everything heard, and everything offered, as after a long hole in the audio."""
        self._row.forget()
        self._offered = 0  # bytes offered and not asked about yet
        self._frames = 0  # frames asked about since the hop that `probabilities` begin with

    def offer(self, pcm: bytes) -> None:
        """Whole frames that will be asked about next, after what has been offered before: they may be judged by
        then."""
        self._row.hear(pcm)
        self._offered += len(pcm)

    def voiced(self, pcm: bytes) -> bytes:
        """One byte, 0 or 1, for each 20 ms frame of `pcm` (s16le, a whole number of frames; where audio has been
        offered, the very same).

        Raises ValueError for an empty buffer or one that is not a whole number of frames.
        """
        size = self._size
        if not pcm or len(pcm) % size:
            raise ValueError(f"{len(pcm)} bytes are not a whole number of 20 ms frames ({size} bytes each)")
        if len(pcm) > self._offered:
            self._row.hear(pcm[self._offered :])
        self._offered = max(0, self._offered - len(pcm))
        first, self._frames = self._frames, self._frames + len(pcm) // size
        found = self._row.probabilities
        if len(found) < self._frames * FRAME_MS // HOP_MS:
            self._batches.work(self._row)
        over = self._over
        hops = [(frame + 1) * FRAME_MS // HOP_MS for frame in range(first, self._frames)]
        answers = bytes([hop > 0 and found[hop - 1] > over for hop in hops])
        self._forget_old()
        return answers

    def _forget_old(self) -> None:
        """Eight frames are five hops: whole periods that have been asked about are dropped."""
        periods = (self._frames - 1) // 8
        if periods > 0:
            del self._row.probabilities[: 5 * periods]
            self._frames -= 8 * periods
