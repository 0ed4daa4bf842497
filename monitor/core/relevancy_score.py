"""The running score of turn relevancy: assistant turns judged relevant ÷ assistant turns judged, and what it took.

What is `unscored` leaves both sides of the fraction and is counted by itself, and so is what was never asked about.
Where nothing is judged there is no score, and neither success nor failure; where most is unscored, the score is of what
was judged, and its reason says so first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connectors.inputs import ConversationScore, Verdicts
from monitor.core.events import Relevancy
from monitor.core.relevancy_due import Skipped
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.turn_taking import verdict

MAX_SHOWN: Final = 3
"""Reasons that a summary quotes."""

NOT_ASKED: Final[dict[Skipped, str]] = {
    "no_words": "their words are not known",
    "interaction": "an interaction is judged by its last turn, and what is part of none is not judged",
    "too_many": "too many waited for their words",
}


class Spending:
    """What the judge's answers took: requests sent (those that were sent again count again, those that nobody was asked
    count not), tokens, and the cost where that of every answer is known."""

    def __init__(self) -> None:
        self.requests = self.input_tokens = self.output_tokens = 0
        self._usd: float | None = None
        self._unknown = False

    def add(self, given: Verdicts) -> None:
        """An answer has come, in time or not."""
        self.requests += given.requests
        self.input_tokens += given.input_tokens
        self.output_tokens += given.output_tokens
        if given.cost_usd is not None:
            self._usd = (self._usd or 0.0) + given.cost_usd
        elif given.input_tokens or given.output_tokens:
            self._unknown = True

    def tokens(self, settings: RelevancySettings) -> dict[str, int | None]:
        """In and out; None where servers were asked and none of them told of any."""
        untold = self.requests and not (self.input_tokens or self.output_tokens)
        if untold and settings.eval_mode in ("llm", "hybrid", "system_one"):
            return {"input": None, "output": None}
        return {"input": self.input_tokens, "output": self.output_tokens}

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None where nothing was spent, or part of it is not known."""
        return None if self._unknown else self._usd


class RelevancyScore:
    """Counts verdicts. `assistant_turns`: all of the call so far, without backchannels, judged or not."""

    def __init__(self) -> None:
        self.assistant_turns = self.relevant = self.judged = self.unscored = 0
        self.spending = Spending()
        self.whole: ConversationScore | None = None
        self._settled = 0
        self._noes: list[tuple[int, str | None]] = []
        self._failures: dict[str, int] = {}

    def settle(self, index: int, answer: str, reason: str | None) -> None:
        """A turn has its verdict: `yes`, `no` or `unscored`."""
        if answer == "unscored":
            self.unscored += 1
            self._failed(reason, 1)
            return
        self.judged += 1
        self.relevant += answer == "yes"
        if answer == "no" and len(self._noes) < MAX_SHOWN:
            self._noes.append((index, reason))

    def settle_whole(self, answer: ConversationScore, turns: int, upto: int) -> None:
        """A judge of whole conversations was asked for `turns` more, `upto` with those before, and this is what came of
        it. An answer counts for all turns before it, so it makes up for those that failed."""
        self._settled += turns
        if answer.score is None:
            self._failed(answer.reason, turns)
        elif upto > self.judged:
            self.whole, self.judged = answer, upto
        self.unscored = max(0, self._settled - self.judged)

    def _failed(self, reason: str | None, turns: int) -> None:
        why = reason or "no reason given"
        if why in self._failures or len(self._failures) < MAX_SHOWN:
            self._failures[why] = self._failures.get(why, 0) + turns

    @property
    def score(self) -> float | None:
        """The score so far, in 0..1; None while nothing has been judged."""
        if self.whole is not None:
            return self.whole.score
        return self.relevant / self.judged if self.judged else None

    @property
    def state(self) -> Relevancy:
        """The score and its counts, as the events show them."""
        relevant = None if self.whole is not None else self.relevant
        return Relevancy(self.score, relevant, self.judged, self.unscored, self.assistant_turns)

    def summary(self, settings: RelevancySettings, not_asked: Mapping[Skipped, int] | None = None) -> dict[str, Any]:
        """The part `relevancy` of a call's summary. `not_asked`: how many assistant turns were not asked about, by
        why."""
        not_asked = not_asked or {}
        score, success = self.score, None
        if score is not None:
            score, success = verdict(score, settings.threshold, settings.strict_mode)
        spent, state = self.spending, self.state
        told: dict[str, Any] = {
            "score": score,
            "relevant": state.relevant,
            "judged": state.judged,
            "unscored": state.unscored,
            "not_asked": dict(not_asked),
            "success": success,
            "reason": f"{self.reason}{_not_asked(not_asked)}" if settings.include_reason else None,
            "requests": spent.requests,
            "tokens": spent.tokens(settings),
            "cost_usd": spent.cost_usd,
        }
        if self.whole is not None:
            told["confidence"] = self.whole.confidence
        return told | ({"flaky": True} if settings.flaky else {})

    @property
    def reason(self) -> str:
        """The score in words."""
        rest = self._unscored_in_words()
        if self.score is None:
            return f"No score: no assistant turn was judged.{rest}"
        if self.whole is not None:
            told = f"Turn relevancy was {self.score:.2f} over the whole conversation. {self.whole.reason or ''}"
            return f"{told.strip()}{rest}"
        told = f"Turn relevancy was {self.score:.2f}"
        if self.unscored > self.judged:
            told += f", but rests on {self.judged} of {self.judged + self.unscored} assistant turns"
        told += f": {self.relevant} of {_many(self.judged)} judged relevant."
        for index, reason in self._noes:
            told += f" Turn {index} was not: {reason.rstrip('.')}." if reason else f" Turn {index} was not."
        more = self.judged - self.relevant - len(self._noes)
        return f"{told}{f' Nor were {more} more.' if more else ''}{rest}"

    def _unscored_in_words(self) -> str:
        if not self.unscored:
            return ""
        why = "; ".join(f"{reason.rstrip('.')} ({count})" for reason, count in self._failures.items())
        return f" {_many(self.unscored)} not scored: {why or 'no answer'}."


def _not_asked(not_asked: Mapping[Skipped, int]) -> str:
    if not not_asked:
        return ""
    why = "; ".join(f"{NOT_ASKED[one]} ({count})" for one, count in not_asked.items())
    if sum(not_asked.values()) == 1:
        why = why.replace("their words are", "its words are").replace("waited for their words", "waited for words")
    return f" {_many(sum(not_asked.values()))} not asked about: {why}."


def _many(turns: int) -> str:
    return "1 assistant turn was" if turns == 1 else f"{turns} assistant turns were"
