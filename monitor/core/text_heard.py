"""How much of its words an answer was heard with: what a caller did not hear is not judged.

A provider tells the words of a whole response; when its playing is cut, the caller has heard the beginning. Where the
provider corrects the words, that is what was heard. Where it does not, the words are shortened to the share of the
delivered audio that was heard, and to what can be said in that time at all: the rest may never have been delivered.
"""

from __future__ import annotations

from monitor.core.playout import Playout
from monitor.core.transcript import Entry, Piece

MAX_RESPONSES = 512
MAX_CUTS = 64
BYTES_PER_MS = 16
"""Delivered audio is s16le mono at 8000 Hz."""

UNHEARD_TAIL_MS = 250
"""So much may go unheard before words do: responses end in silence."""

CHARACTERS_PER_S = 25
"""Nobody speaks faster."""

CUT_NEAR_MS = 400
"""A turn that the provider ended lies so near to the cut."""


class TextHeard:
    """Counts what was delivered and heard of each response of one track. `over`: nothing more will be heard."""

    def __init__(self) -> None:
        self._amounts: dict[int, list[int]] = {}  # response -> bytes delivered, bytes heard
        self._cuts: list[tuple[int, int]] = []  # (from when on nothing was heard, how many ms were not)
        self._clock = 0
        self.over = False

    @property
    def has_ids(self) -> bool:
        """Audio comes with the ids of responses."""
        return bool(self._amounts)

    def knows(self, response: int) -> bool:
        """Audio of this response has been delivered."""
        return response in self._amounts

    def delivered(self, response: int | None, length: int) -> None:
        """So many bytes of a response have been delivered."""
        if response is not None:
            self._amounts.setdefault(response, [0, 0])[0] += length
            if len(self._amounts) > MAX_RESPONSES:
                del self._amounts[next(iter(self._amounts))]

    def heard(self, response: int | None, length: int) -> None:
        """So many bytes of a response have been heard."""
        if response is not None and response in self._amounts:
            self._amounts[response][1] += length

    def played(self, until: int) -> None:
        """Everything that is heard before `until` (ms) has been counted."""
        self._clock = max(self._clock, until)

    def cut(self, at: int, unheard_ms: int) -> None:
        """From `at` on nothing of what was queued was heard, which were `unheard_ms`."""
        self._cuts = [*self._cuts[1 - MAX_CUTS :], (at, unheard_ms)]

    def never_heard(self, response: int | None) -> bool:
        """The response was delivered, and cut before a sound of it was heard."""
        return response is not None and self._amounts.get(response, [0, 1])[1] == 0

    def shown(self, entry: Entry, playout: Playout | None) -> str:
        """The words of a turn as far as they were heard; shortened ones end in an ellipsis."""
        whole = entry.text or ""
        if playout is None or entry.turn.role == "user":
            return whole
        if all(piece.response is None or piece.response not in self._amounts for piece in entry.pieces):
            return self._shortened_turn(entry, whole)
        return " ".join(text for piece in entry.pieces if (text := self._shortened(piece, playout)))

    def _shortened(self, piece: Piece, playout: Playout) -> str:
        amounts = self._amounts.get(piece.response) if piece.response is not None else None
        if piece.reason == "correction" or amounts is None or piece.response is None:
            return piece.text
        span = playout.heard_of(piece.response)
        if span is not None and span[1] > self._clock and not self.over:
            return piece.text  # it goes on
        delivered, heard = amounts
        if delivered - heard < UNHEARD_TAIL_MS * BYTES_PER_MS:
            return piece.text
        return beginning(piece.text, heard / delivered, heard // BYTES_PER_MS)

    def _shortened_turn(self, entry: Entry, whole: str) -> str:
        """Of audio without ids only the cut itself is known, and how much it silenced."""
        turn = entry.turn
        corrected = any(piece.reason == "correction" for piece in entry.pieces)
        unheard = [ms for at, ms in self._cuts if abs(turn.end_ms - at) <= CUT_NEAR_MS]
        if turn.ended_by != "interruption" or corrected or not unheard or unheard[-1] < UNHEARD_TAIL_MS:
            return whole
        heard = turn.duration_ms or 0
        return beginning(whole, heard / (heard + unheard[-1]), heard)


def beginning(text: str, share: float, heard_ms: int) -> str:
    """The first words of `text`: those in its first `share` (0..1), and no more than can be said in `heard_ms`; one at
    least, with an ellipsis behind. Scripts without spaces are counted by characters."""
    share = min(share, heard_ms * CHARACTERS_PER_S / 1000 / max(1, len(text)))
    if share >= 1:
        return text
    words = text.split()
    if len(words) * 15 < len(text):
        return text[: max(1, round(share * len(text)))].rstrip() + "…"
    return " ".join(words[: max(1, round(share * len(words)))]) + "…"
