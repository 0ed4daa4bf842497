"""Words that the source brings -> the turns they belong to, and what is to be told of it.

Words wait until it is known where they belong (`monitor.core.word_places`), or the call ends. The same words told twice
are taken once. A correction (what was heard of a cut response) takes the place of what was going to be said, whichever
of the two comes first. Words of a turn that goes on are told with its end; later ones by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from connectors.inputs import Text
from monitor.core.events import Role, TextReason, Turn
from monitor.core.playout import Playout
from monitor.core.text_heard import TextHeard
from monitor.core.timeline import Timeline
from monitor.core.transcript import Entry, Piece, Transcript
from monitor.core.word_places import JUST_MS, Waiting, WordPlaces

MAX_WAITING = 64
MAX_TIMED = 4096
"""Words that say where they belong may all come beforehand."""


class WordsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the words beforehand. `wait_s`: so long after its end, in seconds of the call, the words of a
    turn are waited for. `transcribed`: set by itself where there is a transcriber, so leave it out: every turn that has
    no words is answered for (with `Text.turn`; with an empty text where nothing was recognised), so that at the end of
    the call the last answers are waited for."""

    wait_s: float = 5.0
    transcribed: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.wait_s < float("inf"):
            raise ValueError(f"wait_s must be a number of seconds, 0 or more; got {self.wait_s!r}")


class Told(NamedTuple):
    """A turn that had ended has other words now."""

    turn: Turn
    text: str
    reason: TextReason


class Words:
    """Matches words and turns of one call. `wake`: the next media time (ms) at which something may be decided, or None.
    `unplaced`: words that found no turn, by role. `waiting`: words that have none yet."""

    def __init__(self, timeline: Timeline, transcript: Transcript, heard: TextHeard) -> None:
        self._transcript = transcript
        self._heard = heard
        self._places = WordPlaces(timeline, transcript, heard)
        self.waiting: list[Waiting] = []
        self.wake: int | None = None
        self.unplaced: dict[Role, int] = {"user": 0, "assistant": 0}

    def text(self, given: Text, now: int, playout: Playout | None) -> list[Told]:
        """Words have come at media time `now`."""
        words = Waiting(given)
        told: list[Told] = []
        if words.reason == "correction" and words.index is None:
            told = self._correct(words, playout)
        elif (words.text or words.index is not None) and not self._is_known(words):
            self.waiting.append(words)
        if words in self.waiting:
            told += self._settle(words, now, playout, last=False)
            told += self._bound(words.timed, now, playout)
        self._set_wake()
        return told

    def look(self, now: int, playout: Playout | None, last: bool = False) -> list[Told]:
        """Place what can be placed at media time `now`; with `last` everything, as well as can be."""
        told: list[Told] = []
        for words in list(self.waiting):
            told += self._settle(words, now, playout, last)
        self._set_wake()
        return told

    def _set_wake(self) -> None:
        self.wake = min((words.look for words in self.waiting if words.look is not None), default=None)

    def _bound(self, timed: bool, now: int, playout: Playout | None) -> list[Told]:
        """Where too many wait, the oldest waits no longer."""
        most = MAX_TIMED if timed else MAX_WAITING
        if len(self.waiting) <= most:
            return []
        alike = [words for words in self.waiting if words.timed == timed]
        return self._settle(alike[0], now, playout, last=True) if len(alike) > most else []

    def _settle(self, words: Waiting, now: int, playout: Playout | None, last: bool) -> list[Told]:
        place = self._places.find(words, now, playout, last)
        if place is None:
            return []
        self.waiting.remove(words)
        if isinstance(place, Entry):
            return self._bind(place, words, playout)
        if not self._heard.never_heard(words.response):
            self.unplaced[words.role] += 1
        return []

    def _is_known(self, words: Waiting) -> bool:
        """The same words are there already, or what was heard of them."""
        if words.response is None or words.index is not None:
            return False
        theirs: list[Waiting | Piece] = [one for one in self.waiting if one.role == words.role]
        for entry in self._transcript.newest(words.role):
            theirs += entry.pieces
        return any(
            one.response == words.response and (one.reason == "correction" or one.text == words.text) for one in theirs
        )

    def _bind(self, entry: Entry, words: Waiting, playout: Playout | None) -> list[Told]:
        before = entry.text
        when = words.at if words.start is None else words.start
        if words.response is not None and playout is not None and (span := playout.heard_of(words.response)):
            when = span[0]
        piece = Piece(words.text, words.reason, words.at, when, words.response)
        if words.index is not None:
            entry.transcribed = True
            if words.text:
                entry.pieces = [piece]
        elif not self._repeats(entry, words):
            for one in [one for one in entry.pieces if _is_newer(words, one)]:
                entry.pieces.remove(one)
                piece.when = min(piece.when, one.when)
            entry.add(piece)
        return self._tell(entry, before, words.reason)

    def _repeats(self, entry: Entry, words: Waiting) -> bool:
        return any(
            one.text == words.text and words.start is None and abs(words.at - one.at) <= 2 * JUST_MS
            for one in entry.pieces
        )

    def _tell(self, entry: Entry, before: str | None, reason: TextReason) -> list[Told]:
        text = entry.text
        if entry.told_ms is None or text is None or text == before:
            return []
        entry.turn = msgspec.structs.replace(entry.turn, text=text)
        return [Told(entry.turn, text, reason)]

    def _correct(self, words: Waiting, playout: Playout | None) -> list[Told]:
        """Put what was heard in the place of what was going to be said. Without an id, the response heard last is
        meant."""
        if words.response is None and playout is not None:
            words.response = self._heard_last(words, playout)
        waiting = [one for one in self.waiting if one.role == words.role and one.response == words.response]
        for entry in self._transcript.newest(words.role):
            mine = [one for one in entry.pieces if one.response == words.response]
            if words.response is None:
                if entry.told_ms is not None and entry.turn.end_ms < words.at - 2 * JUST_MS:
                    break
                mine = entry.pieces[-1:]
            if not mine:
                continue
            before = entry.text
            for one in mine[1:]:
                entry.pieces.remove(one)
            mine[0].text, mine[0].reason, mine[0].at = words.text, "correction", words.at
            return self._tell(entry, before, "correction")
        self.waiting = [one for one in self.waiting if one not in waiting]
        self.waiting.append(words)
        return []

    def _heard_last(self, words: Waiting, playout: Playout) -> int | None:
        """Of the responses whose words are known, the one that began to be heard last before these words came."""
        known = {one.response for one in self.waiting if one.role == words.role}
        known |= {piece.response for entry in self._transcript.newest(words.role) for piece in entry.pieces}
        spans = ((playout.heard_of(one), one) for one in known if one is not None)
        begun = [(span[0], one) for span, one in spans if span is not None and span[0] <= words.at]
        return max(begun)[1] if begun else None


def _is_newer(words: Waiting, piece: Piece) -> bool:
    """Whether the words are another version of the piece: they have its id, and go on from it or resemble it."""
    if words.response is None or words.response != piece.response:
        return False
    if words.reason != "transcript":
        return words.text.startswith(piece.text)
    new, old = set(words.text.casefold().split()), set(piece.text.casefold().split())
    return 2 * len(new & old) >= min(len(new), len(old))
