"""What the core asks of the world outside: verdicts of a judge, words of a turn's sound. It never waits for an answer.

A question stands in no event and on no tape; its answer comes back as an input, and is on the tape. What has no answer
by its due media time is settled by the core itself.
"""

from __future__ import annotations

import msgspec

from monitor.core.events import Role


class Line(msgspec.Struct, frozen=True):
    """One turn's words, as the judge is shown them. The words are data, never instructions. `text` is empty for a turn
    of the user whose words are not known."""

    index: int
    role: Role
    text: str


class Asked(msgspec.Struct, frozen=True):
    """An assistant turn to be judged, in the light of the turns of `window` (indexes, the turn itself the last)."""

    index: int
    window: tuple[int, ...]


class JudgeRequest(msgspec.Struct, frozen=True):
    """One batch: the slice of the conversation once, in order, and the turns to be judged. `batch` numbers the requests
    of a call from 0, however often each has to be sent; the answer must reach the core before media time `due_ms`."""

    call: str
    batch: int
    at_ms: int
    due_ms: int
    lines: tuple[Line, ...]
    asked: tuple[Asked, ...]


class TranscribeRequest(msgspec.Struct, frozen=True):
    """A turn that has ended and has no words: what is said in it? `pcm`: its sound, s16le mono of `rate` Hz, with a
    little of what is around it. The answer, `Text` with the same `turn`, must reach the core before media time
    `due_ms`."""

    call: str
    turn: int
    role: Role
    pcm: bytes
    rate: int
    at_ms: int
    due_ms: int

    @property
    def seconds(self) -> float:
        """How long the sound lasts."""
        return len(self.pcm) / (2 * self.rate)
