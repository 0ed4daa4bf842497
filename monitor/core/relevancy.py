"""Room 7: when the judge is asked, what it is asked, and what becomes of its answers.

Assistant turns that are due wait until `batch_size` of them are, or the oldest has waited `max_wait_s`, or the call
ends; then one request carries the slice of the conversation once, and the turns to be judged. Every assistant turn that
is due ends exactly once as `yes`, `no` or `unscored`. An answer is matched by the index of the turn alone. What has no
answer by its due media time is `unscored`, and an answer that comes later changes nothing but what was spent.

A judge of whole conversations (`system_one`) is asked at the same moments, is shown everything, and gives one score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from connectors.inputs import ConversationScore, Verdict, Verdicts
from monitor.core import events
from monitor.core.encode import clean_text
from monitor.core.questions import Asked, JudgeRequest, Line
from monitor.core.relevancy_due import Due, Ready, judged_turns
from monitor.core.relevancy_score import RelevancyScore
from monitor.core.relevancy_settings import RelevancySettings, WindowUnit
from monitor.core.relevancy_windows import interactions
from monitor.core.transcript import Entry, Transcript

MAX_OUTSTANDING: Final = 64
MAX_REASON: Final = 2000

NO_ANSWER: Final = "the judge did not answer in time"
TOO_MANY: Final = "too many requests wait for the judge"
GIVEN_UP: Final = "the call was over before the judge had answered"
NOT_NAMED: Final = "the judge's answer leaves out this turn"
NAMED_TWICE: Final = "the judge answers twice on this turn"
NO_USER_WORDS: Final = "none of the caller's words before it are known"

WHOLE_TURNS: Final = 1024
"""So many turns are kept for a judge of whole conversations."""
TURNS_OF_WINDOW: Final[dict[WindowUnit, int]] = {"turns": 8, "interactions": 32}
"""So many turns are kept for each unit of a window."""

Happening = tuple[type[events.Event], int, dict[str, Any]]
"""An event to be told: its type, when it was true (ms), its fields."""


def turns_kept(settings: RelevancySettings) -> int:
    """How many turns a judge with these settings needs to be remembered."""
    each = TURNS_OF_WINDOW[settings.window_unit]
    return WHOLE_TURNS if settings.eval_mode == "system_one" else each * settings.window_size


class _Outstanding(NamedTuple):
    """A request that has no answer yet. `upto`: how many turns had been asked about with it."""

    request: JudgeRequest
    turns: dict[int, events.Turn]
    upto: int


class Relevancy:
    """Judges one call as it goes on. `wake`: the next media time (ms) at which something may follow, or None. `shown`:
    the words of a turn as the judge sees them. `outstanding`: so many requests may wait for an answer at a time."""

    def __init__(
        self,
        settings: RelevancySettings,
        wait_ms: int,
        transcript: Transcript,
        shown: Callable[[Entry], str],
        outstanding: int = MAX_OUTSTANDING,
    ) -> None:
        self._settings = settings
        self._transcript = transcript
        self._shown = shown
        self._due = Due(transcript, wait_ms, settings.window_unit == "interactions")
        self._most = outstanding
        self._outstanding: dict[int, _Outstanding] = {}
        self._expired: list[int] = []
        self._batches = self._asked = 0
        self._judge: str | None = None
        self.call = ""
        self.enabled = settings.eval_mode != "off"
        self.score = RelevancyScore()
        self.questions: list[JudgeRequest] = []
        self.wake: int | None = None

    @property
    def waiting(self) -> int:
        """How many turns have been asked about and have no answer yet."""
        return sum(len(one.turns) for one in self._outstanding.values())

    @property
    def summary(self) -> dict[str, Any] | None:
        """The part `relevancy` of the call's summary; None without a judge."""
        return self.score.summary(self._settings, self._due.skipped) if self.enabled else None

    def ended(self, entry: Entry) -> None:
        """A turn has ended."""
        if entry.turn.role == "assistant" and not entry.turn.backchannel:
            self.score.assistant_turns += 1
            if self.enabled:
                self._due.add(entry)

    def look(self, now: int, everything: bool = False) -> list[Happening]:
        """Media time is `now`, or words have come: ask what is to be asked, give up what is over its time.
        `everything`: the call is over, and all that is left is to be asked now."""
        if not self.enabled:
            return []
        out: list[Happening] = []
        for batch in [number for number, one in self._outstanding.items() if one.request.due_ms <= now]:
            out += self._fail(batch, NO_ANSWER)
        ready, size = self._due.ready(now, everything), self._settings.batch_size
        longest = round(self._settings.max_wait_s * 1000)
        while len(ready) >= size or (ready and (everything or now >= ready[0].since + longest)):
            out += self._ask(ready[:size], now)
            del ready[:size]
        wakes = [one.request.due_ms for one in self._outstanding.values()]
        wakes += [self._due.wake] if self._due.wake is not None else []
        wakes += [ready[0].since + longest] if ready else []
        self.wake = min(wakes, default=None)
        return out

    def answer(self, given: Verdicts) -> list[Happening]:
        """The judge has answered, or could not."""
        if given.batch in self._outstanding:
            self.score.spending.add(given)
            self._judge = clean_text(given.judge)
            return self._settle(given.batch, given.verdicts, given.conversation, NOT_NAMED)
        if given.batch in self._expired:
            self._expired.remove(given.batch)
            self.score.spending.add(given)
        return []

    def give_up(self, reason: str = GIVEN_UP) -> list[Happening]:
        """Nothing that is outstanding will be answered."""
        return [happening for batch in list(self._outstanding) for happening in self._fail(batch, reason)]

    def _ask(self, ready: list[Ready], now: int) -> list[Happening]:
        out: list[Happening] = []
        known = judged_turns(self._transcript)
        lines = [Line(e.turn.index, e.turn.role, self._shown(e)) for e in known]
        asked: list[Asked] = []
        turns: dict[int, events.Turn] = {}
        for entry in sorted((one.entry for one in ready), key=lambda entry: entry.turn.index):
            index = entry.turn.index
            self._due.remove(index)
            entry.asked = True
            window = self._window(lines, index)
            if not _has_user_words(lines, window):
                out.append(self._judged(entry.turn, "unscored", NO_USER_WORDS, window, None, None))
                continue
            asked.append(Asked(index, window))
            turns[index] = entry.turn
        if not asked:
            return out
        if len(self._outstanding) >= self._most:
            out += self._fail(next(iter(self._outstanding)), TOO_MANY)
        wanted = {index for one in asked for index in one.window}
        due = now + round(self._settings.deadline_s * 1000)
        shown = tuple(line for line in lines if line.index in wanted)
        request = JudgeRequest(self.call, self._batches, now, due, shown, tuple(asked))
        self._batches += 1
        self._asked += len(asked)
        self._outstanding[request.batch] = _Outstanding(request, turns, self._asked)
        self.questions = [*self.questions[-self._most :], request]
        return out

    def _window(self, lines: list[Line], index: int) -> tuple[int, ...]:
        before = [line for line in lines if line.index <= index]
        if self._settings.eval_mode == "system_one":
            return tuple(line.index for line in before)
        size = self._settings.window_size
        if self._settings.window_unit == "turns":
            return tuple(line.index for line in before[-size:])
        units = interactions([line.role for line in before])[-size:]
        return tuple(before[place].index for unit in units for place in unit) or (index,)

    def _fail(self, batch: int, reason: str) -> list[Happening]:
        self._expired = [*self._expired[1 - MAX_OUTSTANDING :], batch]
        return self._settle(batch, (), None, reason)

    def _settle(
        self, batch: int, verdicts: tuple[Verdict, ...], whole: ConversationScore | None, missing: str
    ) -> list[Happening]:
        """Every turn of the batch gets what was said of it; `missing` is why there is nothing."""
        request, turns, upto = self._outstanding.pop(batch)
        if self._settings.eval_mode == "system_one":
            reasons = [verdict.reason for verdict in verdicts if verdict.reason]
            whole = whole or ConversationScore(None, None, reasons[0] if reasons else missing)
            return [self._scored(batch, turns, whole, upto)]
        said: dict[int, list[Verdict]] = {}
        for verdict in verdicts:
            said.setdefault(verdict.index, []).append(verdict)
        out = []
        for index, window in ((one.index, one.window) for one in request.asked):
            mine = said.get(index, [])
            one = mine[0] if len(mine) == 1 else Verdict(index, "unscored", NAMED_TWICE if mine else missing)
            out.append(self._judged(turns[index], one.verdict, one.reason, window, batch, self._judge))
        return out

    def _judged(
        self,
        turn: events.Turn,
        verdict: events.Verdict,
        reason: str | None,
        window: tuple[int, ...],
        batch: int | None,
        judge: str | None,
    ) -> Happening:
        reason = None if reason is None else clean_text(reason)[:MAX_REASON]
        self.score.settle(turn.index, verdict, reason)
        fields = {
            "turn": turn,
            "verdict": verdict,
            "reason": reason,
            "window": window,
            "batch": batch,
            "judge": judge,
            "relevancy": self.score.state,
        }
        return events.RelevancyJudged, turn.end_ms, fields

    def _scored(self, batch: int, turns: dict[int, events.Turn], whole: ConversationScore, upto: int) -> Happening:
        self.score.settle_whole(whole, len(turns), upto)
        fields = {
            "turns": tuple(turns),
            "score": whole.score,
            "confidence": whole.confidence,
            "reason": None if whole.reason is None else clean_text(whole.reason)[:MAX_REASON],
            "batch": batch,
            "judge": self._judge,
            "relevancy": self.score.state,
        }
        return events.RelevancyScored, max(turn.end_ms for turn in turns.values()), fields


def _has_user_words(lines: list[Line], window: tuple[int, ...]) -> bool:
    """Whether there is something to be relevant to: a window in which the caller spoke, and not one word of it is
    known, says nothing."""
    said = [line.text for line in lines if line.role == "user" and line.index in window]
    return not said or any(said)
