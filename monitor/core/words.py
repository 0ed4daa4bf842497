"""Words that the source brings -> the turns they belong to.

The agent's words carry the id of a response, and the playout room knows when audio of that response was heard: they
belong to the agent's turn that was heard then. The caller's words come after they were spoken: they belong to the
caller's latest turn without any. Words that come before their turn has ended wait for its end; later ones are told by
themselves. A correction (what was heard of a cut response) takes the place of what was going to be said.
"""

from __future__ import annotations

import msgspec

from connectors.inputs import Text
from monitor.core.encode import clean_text
from monitor.core.events import TextReason, Turn
from monitor.core.playout import Playout

MAX_WAITING = 64
MAX_TEXT = 20_000
"""Characters kept of one piece of words."""

ROLE = {"caller": "user", "agent": "assistant"}

Spoken = tuple[Turn, str, TextReason]


class _Words:
    __slots__ = ("reason", "response", "text")

    def __init__(self, text: str, reason: TextReason, response: int | None) -> None:
        self.text = text
        self.reason: TextReason = reason
        self.response = response


class Words:
    """Matches words and turns of one call. Memory: the newest words and turns."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[_Words]] = {"user": [], "assistant": []}
        self._ended: dict[str, list[Turn]] = {"user": [], "assistant": []}
        self._bound: dict[int, tuple[Turn, str]] = {}  # response -> the turn its words went to, and the words before

    def text(self, given: Text, playout: Playout | None) -> list[Spoken]:
        """Words have come. -> what is to be told of turns that have ended already."""
        role = ROLE[given.track]
        words = _Words(clean_text(given.text)[:MAX_TEXT], given.kind, given.response)
        if given.kind == "correction":
            return self._correct(words)
        for turn in reversed(self._ended[role]):
            if self._belongs(words, turn, playout):
                told = self._bind(turn, [words])
                return [(told, told.text or "", words.reason)]
        waiting = self._waiting[role]
        waiting.append(words)
        del waiting[:-MAX_WAITING]
        return []

    def ended(self, turn: Turn, playout: Playout | None) -> Turn:
        """A turn has ended. -> the turn with the words known by now."""
        known = self._ended[turn.role]
        known.append(turn)
        del known[:-MAX_WAITING]
        if turn.backchannel:
            return turn
        waiting = self._waiting[turn.role]
        mine = [words for words in waiting if self._belongs(words, turn, playout)]
        self._waiting[turn.role] = [words for words in waiting if words not in mine]
        return self._bind(turn, mine) if mine else turn

    def _belongs(self, words: _Words, turn: Turn, playout: Playout | None) -> bool:
        if turn.backchannel:
            return False
        if turn.role == "user":
            return turn.text is None
        if words.response is None or playout is None:
            return turn.text is None
        heard = playout.heard_of(words.response)
        return heard is not None and heard[0] < turn.end_ms and heard[1] > turn.start_ms

    def _bind(self, turn: Turn, words: list[_Words]) -> Turn:
        text = " ".join([*([turn.text] if turn.text else []), *(w.text for w in words)])
        told = msgspec.structs.replace(turn, text=text)
        known = self._ended[turn.role]
        known[:] = [told if t.index == turn.index else t for t in known]
        for w in words:
            if w.response is not None:
                self._bound[w.response] = (told, w.text)
        while len(self._bound) > MAX_WAITING:
            del self._bound[next(iter(self._bound))]
        return told

    def _correct(self, words: _Words) -> list[Spoken]:
        for waiting in self._waiting["assistant"]:
            if waiting.response == words.response:
                waiting.text, waiting.reason = words.text, "correction"
                return []
        bound = self._bound.get(words.response) if words.response is not None else None
        if bound is None:
            self._waiting["assistant"].append(words)
            del self._waiting["assistant"][:-MAX_WAITING]
            return []
        turn, before = bound
        text = (turn.text or "").replace(before, words.text, 1) if before else words.text
        told = msgspec.structs.replace(turn, text=text)
        known = self._ended["assistant"]
        known[:] = [told if t.index == turn.index else t for t in known]
        return [(told, text, "correction")]
