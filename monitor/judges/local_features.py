"""What the local judge looks at in one window: what of it is used, how it is compared, whether it looks English. Pure.

A reply is compared with what the caller said since the agent spoke last, and with the agent's own turns. What the
caller said earlier stays out on purpose: a caller's words can touch the verdict on the reply to them, and no other.

The comparisons (`Comparison`) are cosines of sentence embeddings, words in common, how common a reply it is, and its
form. A logistic regression weighs them (`local_weights.py`). It was fitted on 8 phone-agent dialogues written for this
purpose and on 110 of the BYU chit-chat corpus (package `chitchat-dataset` 0.9.0, MIT); a reply swapped with one of
another conversation, or of another place in the same one, is the example of a wrong one. Its bias was shifted until
0.5 kept 85 % of the true replies of dialogues left out of the fit. So the number is a score, not a calibrated
probability. What it is worth on dialogues that it was not fitted on: `tests/benchmarks/local_judge.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from monitor.core.questions import Line

WINDOW: Final = 10
"""Turns that are looked at, the reply included; older ones are left out."""

MAX_CHARS: Final = 2000
"""A turn's characters beyond this are not looked at."""

MIN_WORDS: Final = 8
"""With fewer words than this, their language cannot be told."""

MIN_ENGLISH: Final = 0.1
"""The least share of English function words in English. Windows of the dialogues have 0.22 and more; German, French,
Spanish, Italian, Portuguese, Russian and Indonesian ones have at most 0.07 (99th percentile)."""

MIN_LATIN: Final = 0.5
"""The least share of Latin letters in English."""

_WORD = re.compile(r"[a-z0-9']+")
_STOP = frozenset(
    _WORD.findall(
        """
    a an and are as at be but by can could did do does for from had has have he her him his how i i'd i'll i'm i've
    if in is it it's its just like me my no not of on or our please she so some that that's the their them then there
    they this to up us want was we we'll we're well were what when where which who will with would yes you you'll
    you're your"""
    )
)
# Without those that are words of other languages too.
_FUNCTION_WORDS = _STOP - {"a", "me", "no", "he", "as", "do", "i", "on", "so", "an", "in", "was", "us"}
_ANY_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_NUMBERISH = re.compile(
    r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen"
    r"|nineteen|twenty|thirty|forty|fifty|sixty|ninety|hundred|thousand|free|half|quarter|noon|midnight|today|tomorrow"
    r"|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|weeks|minutes?|hours?|days?|months?)\b"
)
_ASKS_AMOUNT = re.compile(r"\b(how (much|many|long|old|high|often|far|soon)|what (time|price|day|number)|when)\b")
_ASKS_YES_NO = re.compile(
    r"(^|[.,!?] |\band )(is|are|do|does|did|can|could|will|would|should|have|has|may|am|was|were|shall)(n't)? "
    r"(i|you|we|they|it|he|she|there|that|this|the|my|your|a|an)\b"
)
_SAYS_YES_NO = re.compile(r"^(yes|yeah|yep|no|nope|sure|of course|certainly|absolutely|not|unfortunately|i'm afraid)\b")


class Seen(NamedTuple):
    """What of a window is used. `asked`: the caller's words since the agent spoke last, or empty; `agent`: what the
    agent said before, in order. `unheard`: the caller spoke since, and nobody knows the words."""

    reply: str
    asked: str
    agent: tuple[str, ...]
    unheard: bool

    @property
    def turns(self) -> tuple[str, ...]:
        """What the reply is compared with, the last the nearest; empty at the start of a call."""
        return (*self.agent, self.asked) if self.asked else self.agent

    @property
    def recent(self) -> str:
        """The last two of `turns` as one text."""
        return " ".join(self.turns[-2:])


class Comparison(NamedTuple):
    """The reply compared. In order: closeness (cosine, -1..1) to the caller's last words, to the last two turns, to the
    nearest of the turns before the last, to all on average; closeness of the reply and of the last two turns to
    strangers; closeness to the nearest generic reply, and that times the closeness to the last two turns; the share of
    the reply's words that the caller's last words hold, and the window; log of 1 + the words of meaning in the reply
    and in the caller's last words; an amount asked for and given, a yes or no asked for and given (both centred), and
    whether the reply asks back."""

    to_asked: float
    to_recent: float
    to_nearest: float
    to_all: float
    reply_to_strangers: float
    recent_to_strangers: float
    generic: float
    generic_and_recent: float
    words_of_asked: float
    words_of_window: float
    reply_words: float
    asked_words: float
    amount: float
    yes_no: float
    asks_back: float


class Form(NamedTuple):
    """The fields of `Comparison` that need no model, the last seven of them in its order."""

    words_of_asked: float
    words_of_window: float
    reply_words: int
    asked_words: int
    amount: float
    yes_no: float
    asks_back: float


def seen_of(context: Sequence[Line], reply: str) -> Seen:
    """What of the turns before `reply`, in order, is used."""
    context = context[-(WINDOW - 1) :]
    last = max((place for place, line in enumerate(context) if line.role == "assistant"), default=-1)
    asked = [_clean(line.text) for line in context[last + 1 :]]
    agent = [_clean(line.text) for line in context if line.role == "assistant"]
    words = " ".join(text for text in asked if text)[:MAX_CHARS]
    return Seen(_clean(reply), words, tuple(text for text in agent if text), bool(asked) and not words)


def form_of(seen: Seen) -> Form:
    """Words in common, and the form of question and answer."""
    said, now, before = _content(seen.reply), _content(seen.asked), _content(" ".join(seen.turns))
    asked, reply = seen.asked.lower(), seen.reply.lower()
    amount, says = bool(_ASKS_AMOUNT.search(asked)), bool(_SAYS_YES_NO.match(reply))
    return Form(
        len(said & now) / (1.0 + len(said)) ** 0.5,
        len(said & before) / (1.0 + len(said)) ** 0.5,
        len(said),
        len(now),
        float(amount and bool(_NUMBERISH.search(reply))) - float(amount) * 0.5,
        float(says and bool(_ASKS_YES_NO.search(asked))) - float(says) * 0.5,
        float(reply.endswith("?")),
    )


def looks_english(seen: Seen) -> bool:
    """Whether the words look English. In other languages the model says "yes" to nearly everything. In Latin letters
    nothing can be told of fewer than `MIN_WORDS` words, and the answer is True."""
    text = " ".join((*seen.turns, seen.reply)).lower().replace("\u2019", "'")
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter < "\u0250" for letter in letters) < MIN_LATIN * len(letters):
        return False
    words = _ANY_WORD.findall(text)
    return len(words) < MIN_WORDS or sum(word in _FUNCTION_WORDS for word in words) >= MIN_ENGLISH * len(words)


def _clean(text: str) -> str:
    """Without what cannot be written as UTF-8, and no longer than `MAX_CHARS`."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8").strip()


def _content(text: str) -> set[str]:
    """The words of meaning, with a plural or past ending taken off."""
    words = {word.removesuffix("'s") for word in _WORD.findall(text.lower())} - _STOP
    return {re.sub(r"(ing|ed|es|s)$", "", word) if len(word) > 4 else word for word in words}
