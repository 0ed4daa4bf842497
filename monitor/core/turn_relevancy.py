"""Turn relevancy of a conversation that is over: the turns as anybody may hold them -> requests, and the score.

The windows, the batches, the matching and the score are those of a call that goes on (`monitor.core.relevancy`): the
conversation is gone through turn by turn, in no time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from connectors.inputs import Verdicts
from monitor.core.encode import clean_text
from monitor.core.events import RelevancyJudged, Turn
from monitor.core.given_turns import field_of, turn_names, turns_of
from monitor.core.questions import JudgeRequest
from monitor.core.relevancy import Happening, Relevancy, turns_kept
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.transcript import MAX_TEXT, Piece, Transcript

EXAMPLE: Final = '{"role": "user", "text": "When do you open?"}'


class FinishedConversation:
    """The requests that judge `turns`, and what became of their answers.

    `turns`, in order: `monitor` turns, or mappings or objects with `role` (`user` or `assistant`) and `text` (or
    `content`). Where every turn has an `index` they are named and ordered by it, else by their places. Backchannels
    (`backchannel` true) are left out, and so are assistant turns without words.

    Raises `TypeError` where these are no turns at all, `ValueError` for one that cannot be one.
    """

    def __init__(self, turns: Iterable[object], settings: RelevancySettings) -> None:
        given = turns_of(turns, EXAMPLE)
        names = turn_names([field_of(turn, "index") for turn in given], "conversation")
        transcript = Transcript(max(turns_kept(settings), len(given)))
        self._relevancy = Relevancy(settings, 0, transcript, lambda entry: entry.text or "", outstanding=len(given))
        self.requests: list[JudgeRequest] = []
        self.verdicts: dict[int, dict[str, Any]] = {}
        for name, turn in sorted(zip(names, given, strict=True), key=lambda pair: pair[0]):
            read, text = _read(turn, name)
            entry = transcript.started(read)
            transcript.ended(read, 0)
            entry.transcribed = True
            if text:
                entry.add(Piece(text, "transcript", 0, 0, None))
            self._relevancy.ended(entry)
            self._take(self._relevancy.look(0))
        self._take(self._relevancy.look(0, everything=True))

    @property
    def score(self) -> float | None:
        """The score as it stands, in 0..1; None while nothing has been judged."""
        return self._relevancy.score.score

    @property
    def summary(self) -> dict[str, Any]:
        """As the part `relevancy` of a call's summary, with `assistant_turns`."""
        turns = self._relevancy.score.assistant_turns
        return {**(self._relevancy.summary or {}), "assistant_turns": turns}

    def answer(self, given: Verdicts) -> None:
        """The judge has answered one of the requests, or could not."""
        self._take(self._relevancy.answer(given))

    def _take(self, happenings: list[Happening]) -> None:
        self.requests += self._relevancy.questions
        self._relevancy.questions = []
        for kind, _, fields in happenings:
            if kind is RelevancyJudged:
                told = {name: fields[name] for name in ("verdict", "reason", "window", "batch", "judge")}
                index = fields["turn"].index
                self.verdicts[index] = {"index": index, **told, "window": list(told["window"])}


def _read(turn: object, name: int) -> tuple[Turn, str]:
    role = field_of(turn, "role")
    if role not in ("user", "assistant"):
        raise ValueError(f"turn {name}: role must be 'user' or 'assistant', got {role!r}")
    text = field_of(turn, "text", "content")
    if text is not None and not isinstance(text, str):
        raise ValueError(f"turn {name}: text must be a string or None, got {type(text).__name__}")
    backchannel = field_of(turn, "backchannel") is True
    words = " ".join(clean_text((text or "")[:MAX_TEXT]).split())
    return Turn(index=name, role=role, start_ms=0, duration_ms=0, backchannel=backchannel), words
