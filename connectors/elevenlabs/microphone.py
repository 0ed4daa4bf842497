"""When the caller's audio was captured, from when it arrived.

Chunks carry no time. A chunk cannot have left before its last sample was captured, so of all chunks the one that came
soonest after its capture tells best: with `a` its arrival and `q` the audio up to its end, the anchor is the smallest
`a - q` so far, and a sample at offset `o` was captured at anchor + o - d, where d is the way from client to relay.

- The anchor is settled over the first second; until then audio waits.
- A smaller anchor later, or another d, is taken over only in silence, by leaving out silent samples: no word is cut.
- Where `a - q` stays more than a second above the anchor for half a second, the microphone had stopped: that much
  silence is inserted. (A network stall catches up in one burst and does not stay above.) Until this is clear, audio
  waits.
"""

from __future__ import annotations

import numpy as np

RATE = 8000
SETTLE_MS = 1000
STOPPED = RATE
STOPPED_FOR_MS = 500
MAX_HELD = 30 * RATE
"""Samples that may wait for a decision; at more, it is made at once."""

_MS = RATE // 1000
_SILENCE_MEAN_SQUARE = (32768 * 10 ** (-45 / 20)) ** 2

Placed = tuple[int, bytes]
"""When the first sample was captured (ms), and the s16le samples."""


class Microphone:
    """The sample clock of one caller. Times are whole ms of the relay's clock, audio is s16le mono at 8 kHz."""

    def __init__(self) -> None:
        self._came = 0
        self._given = 0
        self._lowest = self._new_lowest = 0
        self._anchor: int | None = None
        """Where sample 0 lies, in samples of the relay's clock, one-way delay deducted; None while unsettled."""
        self.waiting_since: int | None = None
        """Since when (ms) audio waits here for its place to become clear; None while none does."""
        self._last_arrival = 0
        self._held: list[bytes] = []
        self._held_samples = 0

    def arrive(self, at: int, pcm: bytes, delay_ms: int) -> list[Placed]:
        """A chunk came at `at`; `delay_ms` is the way from the client as far as known. What has found its place."""
        if not pcm:
            return []
        self._last_arrival = at
        self._came += len(pcm) // 2
        offset = at * _MS - self._came
        self._held.append(pcm)
        self._held_samples += len(pcm) // 2
        if self._anchor is None or offset > self._lowest + STOPPED:
            if self.waiting_since is None:
                self.waiting_since, self._new_lowest = at, offset
            self._new_lowest = min(self._new_lowest, offset)
            patience = SETTLE_MS if self._anchor is None else STOPPED_FOR_MS
            if at - self.waiting_since < patience and self._held_samples < MAX_HELD:
                return []
            self._settle(delay_ms)
        else:
            self.waiting_since = None
            self._lowest = min(self._lowest, offset)
        return self._give(delay_ms)

    def elapsed(self, now: int, delay_ms: int) -> list[Placed]:
        """Nothing came since. What has waited long enough finds its place."""
        if self.waiting_since is None:
            return []
        patient = now - self.waiting_since < SETTLE_MS if self._anchor is None else self._expecting(now)
        return [] if patient else self.flush(delay_ms)

    def flush(self, delay_ms: int) -> list[Placed]:
        """No more will come, or not soon: all that waits finds its place."""
        if self.waiting_since is not None:
            self._settle(delay_ms)
        return self._give(delay_ms)

    def restart(self) -> None:
        """Chunks were lost on the way here: the anchor must be found again."""
        self._anchor, self.waiting_since = None, None

    def _expecting(self, now: int) -> bool:
        return now - self._last_arrival < STOPPED_FOR_MS

    def _settle(self, delay_ms: int) -> None:
        self._lowest = self._new_lowest
        self._anchor = self._lowest - delay_ms * _MS
        self.waiting_since = None

    def _give(self, delay_ms: int) -> list[Placed]:
        placed = []
        for pcm in self._held:
            assert self._anchor is not None
            self._anchor, pcm = self._shift_in_silence(self._anchor, pcm, delay_ms)
            start = self._anchor + self._given
            early = min(max(0, -start), len(pcm) // 2)
            self._given += len(pcm) // 2
            if early < len(pcm) // 2:
                placed.append(((start + early) // _MS, pcm[2 * early :]))
        self._held.clear()
        self._held_samples = 0
        return placed

    def _shift_in_silence(self, anchor: int, pcm: bytes, delay_ms: int) -> tuple[int, bytes]:
        """The anchor for `pcm` and what is left of it: where `pcm` is silent, the anchor may move."""
        wanted = self._lowest - delay_ms * _MS
        if wanted == anchor or not _silent(pcm):
            return anchor, pcm
        if wanted > anchor:
            return wanted, pcm
        left_out = min(anchor - wanted, len(pcm) // 2)
        self._given += left_out
        return anchor - left_out, pcm[2 * left_out :]


def _silent(pcm: bytes) -> bool:
    """Under -45 dBFS: no voice, or none that can be missed."""
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32)
    return float(np.dot(samples, samples)) < _SILENCE_MEAN_SQUARE * len(samples)
