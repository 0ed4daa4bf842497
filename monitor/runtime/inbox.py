"""One bounded, ordered door a call: connectors put inputs in, the call's listener takes them out.

| when the inbox is full | what happens |
|---|---|
| audio | dropped; its stretch is told as a `Stall` on its track, since it is unknown and not silence |
| `Stall` | becomes part of that stretch: told before it, what is lost ahead of it would pass for silence |
| `Elapsed` | dropped: the next one says the same and more |
| text, cuts, notices | kept while the reserve lasts, then dropped and counted |
| the end of the call, answers of a judge | always kept |

Once full, audio is refused until half of the inbox is free again, and then one `overload` notice for each track tells
how much was lost. A source that can wait (a recording) uses `offer` and loses nothing. Answers go before what waits:
there are never more of them than the core has asked for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from connectors.inputs import (
    TRACKS,
    Audio,
    CallEnded,
    CallStarted,
    Elapsed,
    Input,
    Notice,
    Stall,
    Text,
    Track,
    Verdicts,
)
from monitor.core.events import Cause


class Bounds(NamedTuple):
    """How much may wait: `inputs` and `pcm_bytes` of audio; `reserve` more inputs for what is not audio."""

    inputs: int = 4096
    pcm_bytes: int = 4 * 2**20
    reserve: int = 1024


BOUNDS = Bounds()


class _Loss:
    """What one track lost since the inbox was last full."""

    __slots__ = ("at", "length", "pieces", "until")

    def __init__(self, at: int) -> None:
        self.at, self.until = at, at
        self.pieces = self.length = 0

    def add(self, given: Audio | Stall) -> None:
        self.at = min(self.at, given.at)
        if isinstance(given, Stall):
            self.until = max(self.until, given.until)
        else:
            duration = duration_ms(given)
            self.until = max(self.until, given.at + duration)
            self.length += duration
            self.pieces += 1


def duration_ms(audio: Audio) -> int:
    """How long the piece lasts, in whole ms; 0 at a rate that cannot be."""
    return len(audio.pcm) * 500 // audio.rate if audio.rate > 0 else 0


class Inbox:
    """The inputs of one call that wait for its listener. A `connectors.base.Feed`. For one event loop only.

    `dropped` counts every input that was lost, for the operator's gauges. `cause`: why the call ended, where its source
    did not say.
    """

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._bounds = bounds
        self._waiting: deque[Input] = deque()
        self._answers: list[Input] = []
        self._pcm_bytes = 0
        self._full = False
        self._ended = self._closed = False
        self._losses: dict[Track, _Loss] = {}
        self._others_lost = 0
        self._delivered: set[Track] = set()  # come in bursts: what is lost of them lasts as long as its audio
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self.dropped = 0
        self.cause: Cause = "disconnected"

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def closed(self) -> bool:
        """Nothing but answers is taken in any more: the call's end is in, or `close` was called."""
        return self._ended or self._closed

    def put(self, *inputs: Input) -> bool:
        """Take in inputs, in order; never blocks. False where something had to be dropped for want of room."""
        kept = True
        for given in inputs:
            if self.closed:
                break
            kept = self._take_in(given) and kept
        self._filled.set()
        return kept

    async def offer(self, given: Input) -> None:
        """Take in one input, waiting for room: for sources that can wait. Loses nothing. After the end of the call only
        answers and notices that stand on a tape, and that it ended once more, are taken in."""
        while self._crowded() and not self._closed:
            self._room.clear()
            await self._room.wait()
        late = isinstance(given, Verdicts | Notice | CallEnded) or (isinstance(given, Text) and given.turn is not None)
        if not self._closed and (late or not self._ended):
            self._append(given)
            self._filled.set()

    def answer(self, *inputs: Input) -> None:
        """Take in answers to the core's questions, also after the end of the call; never blocks, drops nothing."""
        self._answers += inputs
        self._filled.set()

    @property
    def answered(self) -> bool:
        """Whether an answer waits to be heard."""
        return bool(self._answers)

    def answers(self) -> list[Input]:
        """The answers that wait, and nothing else; does not wait."""
        answers, self._answers = self._answers, []
        return answers

    async def take(self, *, rest: bool = False) -> list[Input]:
        """Everything that waits, answers first, then the oldest; waits for the first. Empty once the inbox is drained
        and the call has ended, or with `rest`, for what a tape holds after that, once `close` was called."""
        while not (self._waiting or self._answers):
            if self._closed or (self._ended and not rest):
                return []
            self._filled.clear()
            await self._filled.wait()
        batch = [*self.answers(), *self._waiting]
        self._waiting.clear()
        self._pcm_bytes = 0
        self._room.set()
        return batch

    def close(self, cause: Cause = "disconnected") -> None:
        """Take nothing in any more; what waits can still be taken. `cause`: why, should the source not have said so."""
        if not self.closed:
            if self._full:
                self._tell_losses(max((loss.until for loss in self._losses.values()), default=0))
            self.cause = cause
        self._closed = True
        self._filled.set()
        self._room.set()

    def _crowded(self) -> bool:
        return len(self._waiting) >= self._bounds.inputs or self._pcm_bytes >= self._bounds.pcm_bytes

    def _take_in(self, given: Input) -> bool:
        if self._full:
            # Half must be free: an inbox at the brim would otherwise tell an overload for every other chunk.
            roomy = len(self._waiting) * 2 < self._bounds.inputs and self._pcm_bytes * 2 < self._bounds.pcm_bytes
            if roomy or isinstance(given, CallEnded):
                self._tell_losses(getattr(given, "at", 0))
        elif self._crowded():
            self._full = True
        if isinstance(given, Elapsed) and not self._losses and self._waiting and isinstance(self._waiting[-1], Elapsed):
            self._waiting[-1] = given
            return True
        if not self._full or isinstance(given, CallEnded):
            self._append(given)
            return True
        return self._squeeze_in(given)

    def _squeeze_in(self, given: Input) -> bool:
        if isinstance(given, Elapsed):
            return True
        if isinstance(given, Audio | Stall):
            self._losses.setdefault(given.track, _Loss(given.at)).add(given)
            if isinstance(given, Stall):
                return True
        elif len(self._waiting) < self._bounds.inputs + self._bounds.reserve:
            self._append(given)
            return True
        else:
            self._others_lost += 1
        self.dropped += 1
        return False

    def _append(self, given: Input) -> None:
        if isinstance(given, Audio):
            self._pcm_bytes += len(given.pcm)
        elif isinstance(given, CallEnded):
            self._ended = True
        elif isinstance(given, CallStarted):
            self._delivered = {
                track for track in TRACKS if track in given.tracks and given.tracks[track].timing == "delivered"
            }
        self._waiting.append(given)

    def _tell_losses(self, now: int) -> None:
        self._full = False
        told: list[Input] = []
        for track, loss in self._losses.items():
            until = loss.at + loss.length if track in self._delivered else loss.until
            told.append(Stall(track, loss.at, until))
            if not loss.pieces:
                continue
            message = f"the monitor fell behind: {loss.pieces} pieces of {track} audio were not analysed"
            told.append(Notice(now, "overload", message, track, loss.pieces))
        if self._others_lost:
            message = f"the monitor fell behind: {self._others_lost} texts, cuts and notices were not analysed"
            told.append(Notice(now, "overload", message, None, self._others_lost))
        self._losses.clear()
        self._others_lost = 0
        self._extend(told)

    def _extend(self, inputs: Iterable[Input]) -> None:
        for given in inputs:
            self._append(given)
