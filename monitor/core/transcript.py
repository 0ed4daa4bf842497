"""The turns of a call with the words that are known of each: what `turn.text` tells and a judge is shown.

Memory is bounded: the newest turns are kept, and so much of each one's words.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

import msgspec

from monitor.core.events import Role, TextReason, Turn

MIN_TURNS, MAX_TURNS = 64, 4096
"""How many of the newest turns are kept: at least, and at most, as the windows of the judge need them."""
MAX_TEXT = 20_000
"""Characters kept of one turn's words, and of one piece of them."""
MAX_PIECES = 64


class Piece:
    """Words that came at once. `at`: when they came; `when`: where in the call they belong, for their order within the
    turn (both ms); `response`: the provider's id, or None."""

    __slots__ = ("at", "reason", "response", "text", "when")

    def __init__(self, text: str, reason: TextReason, at: int, when: int, response: int | None) -> None:
        self.text = text
        self.reason: TextReason = reason
        self.at = at
        self.when = when
        self.response = response


class Entry:
    """One turn and its words. `told_ms`: the media time at which its end was told, None while it goes on.
    `transcribed`: a transcriber has answered for it, be it with nothing. `asked`: the judge has been asked about it."""

    __slots__ = ("asked", "pieces", "told_ms", "transcribed", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.told_ms: int | None = None
        self.transcribed = False
        self.asked = False
        self.pieces: list[Piece] = []

    @property
    def text(self) -> str | None:
        """What is known of its words; None where nothing is, empty where it is known that nothing was heard."""
        if not self.pieces:
            return None
        return " ".join(piece.text for piece in self.pieces if piece.text)[:MAX_TEXT]

    @property
    def worded(self) -> bool:
        """It has words that can be read."""
        return any(piece.text for piece in self.pieces)

    @property
    def words_at(self) -> int:
        """When its last words came, in ms; far before the call if none have."""
        return max((piece.at for piece in self.pieces), default=-MAX_TEXT)

    def holds(self, text: str) -> bool:
        """These words are among its own."""
        return any(piece.text == text for piece in self.pieces)

    def add(self, piece: Piece) -> None:
        """Put words to their place."""
        insort(self.pieces, piece, key=lambda one: one.when)
        if len(self.pieces) > MAX_PIECES:
            first, second = self.pieces[:2]
            second.text = f"{first.text} {second.text}".strip()[:MAX_TEXT]
            del self.pieces[0]


class Transcript:
    """The newest `keep` turns of a call in order of index. `forgotten`: older ones have been dropped."""

    def __init__(self, keep: int = MIN_TURNS) -> None:
        self.keep = min(max(MIN_TURNS, keep), MAX_TURNS)
        self._entries: dict[int, Entry] = {}
        self.forgotten = False

    def started(self, turn: Turn) -> Entry:
        """A turn has begun."""
        entry = self._entries[turn.index] = Entry(turn)
        while len(self._entries) > self.keep:
            del self._entries[next(iter(self._entries))]
            self.forgotten = True
        return entry

    def ended(self, turn: Turn, now: int) -> Entry:
        """A turn has ended, which is known at `now` (ms)."""
        entry = self._entries.get(turn.index) or Entry(turn)
        entry.turn = msgspec.structs.replace(turn, text=entry.text)
        entry.told_ms = now
        return entry

    def get(self, index: int) -> Entry | None:
        """The turn of that index, unless it has been forgotten or never was."""
        return self._entries.get(index)

    def newest(self, role: Role) -> Iterator[Entry]:
        """The turns of a role, the newest first."""
        return (entry for entry in reversed(self._entries.values()) if entry.turn.role == role)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())
