"""How the simulated agent hears its caller: an energy gate over the caller's audio. Pure.

A real agent has a voice activity detector, a transcriber and a turn model; a gate is enough to take turns with a quiet
line. Behind a loudspeaker without echo cancelling the agent hears, and interrupts, itself.
"""

from __future__ import annotations

import numpy as np

RATE = 8000
_FRAME_MS = 20
_FRAME = RATE * _FRAME_MS // 1000

GATE = 32768 * 10 ** (-45 / 20)
"""Root mean square above which a frame is voice: -45 dBFS."""

HANGOVER_MS = 350
"""A shorter silence does not end an utterance."""

OPENING_FRAMES = 3
"""So many voiced frames in a row begin an utterance: a click does not."""

STOPPED_MS = 1000
"""When audio comes later than it should by more than this, or not at all, the microphone had stopped."""


class Hearing:
    """The caller's current or last utterance. It is measured on the caller's own samples, so that jitter on the way
    moves nothing; `start` and `last` (its first and its last voiced ms) are told on the clock that `hear` is given,
    both None before the first one. `open`: it goes on, or its hangover does."""

    def __init__(self) -> None:
        self.open = False
        self._position = 0.0
        """Ms of caller audio so far, times included in which the microphone had stopped."""
        self._zero: float | None = None
        """When position 0 was, by the least delayed arrival so far."""
        self._start: float | None = None
        self._last: float | None = None
        self._rest = np.zeros(0, dtype=np.int16)
        self._run = 0
        self._has_microphone = False

    @property
    def start(self) -> float | None:
        """When the utterance began."""
        return None if self._start is None or self._zero is None else self._zero + self._start

    @property
    def last(self) -> float | None:
        """When it was last voiced."""
        return None if self._last is None or self._zero is None else self._zero + self._last

    @property
    def number(self) -> float | None:
        """What tells this utterance from others: where it began on the caller's samples."""
        return self._start

    def hear(self, now: float, pcm: bytes) -> None:
        """Takes the caller's next audio (s16le, 8 kHz), which arrived at `now` (ms)."""
        self._has_microphone = True
        samples = np.concatenate([self._rest, np.frombuffer(pcm, dtype="<i2")])
        whole = len(samples) // _FRAME * _FRAME
        self._rest = samples[whole:]
        frames = samples[:whole].reshape(-1, _FRAME).astype(np.float64)
        length = len(frames) * _FRAME_MS
        late = 0.0 if self._zero is None else now - length - self._position - self._zero
        if late > STOPPED_MS:
            self._position += late
        for level in np.sqrt(np.mean(frames * frames, axis=1)):
            self._frame(float(level) > GATE)
        zero = now - self._position
        self._zero = zero if self._zero is None else min(self._zero, zero)

    def type(self, now: float) -> None:
        """The caller wrote a message instead of speaking: an utterance that is over as soon as it is there."""
        if self._zero is None:
            self._zero = 0.0
        self._start = self._last = self._position = now - self._zero
        self.open = True

    def silent_ms(self, now: float) -> float:
        """For how long the caller is known to have been silent since its last utterance. Audio that is still on its
        way may hold speech, so only what has been heard counts, unless nothing comes at all."""
        if self._last is None or self._zero is None:
            return 0.0
        unheard = now - self._zero - self._position
        return self._position - self._last + (0.0 if self._has_microphone and unheard <= STOPPED_MS else unheard)

    def settle(self, now: float) -> bool:
        """Whether the utterance has ended by `now`; True once for each."""
        if self.open and self.silent_ms(now) >= HANGOVER_MS:
            self.open = False
            return True
        return False

    def speech_ms(self) -> float:
        """For how long the caller has been speaking, while it does; else 0."""
        return self._last - self._start if self.open and self._start is not None and self._last is not None else 0.0

    def _frame(self, voiced: bool) -> None:
        self._run = self._run + 1 if voiced else 0
        begun, self._position = self._position, self._position + _FRAME_MS
        if self.open and self._last is not None and begun - self._last >= HANGOVER_MS:
            return  # waits for `settle`, so that no utterance is missed
        if self.open and voiced:
            self._last = self._position
        elif self._run >= OPENING_FRAMES:
            self.open, self._start, self._last = True, self._position - self._run * _FRAME_MS, self._position
