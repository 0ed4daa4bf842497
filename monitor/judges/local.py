"""`eval_mode = "local"`: a small model on this machine. No key, no server, no cost; approximate, and English only.

It tells whether a reply keeps to the subject, not whether it is true: a wrong price is a "yes". A "no" is mostly right,
but about half of the wrong replies pass (figures: `tests/benchmarks/local_judge.py`). No language model reads the
words, so there is nothing in it that could obey them; each turn is judged by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from connectors.inputs import Verdict
from monitor.core.questions import JudgeRequest, Line
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.judges.local_features import Comparison, Seen, looks_english, seen_of
from monitor.judges.local_files import LocalModelError, check_installed

if TYPE_CHECKING:
    from monitor.judges.local_model import LocalModel

NAME: Final = "local, approximate (minilm)"

# From here on a closeness (cosine) counts as one where a "no" is explained; the verdict does not depend on them.
CLOSE: Final = 0.5
STOCK: Final = 0.6


def local_judge_available() -> bool:
    """Whether everything that the local judge needs is installed. Cheap: nothing is imported or read."""
    try:
        check_installed()
    except LocalModelError:
        return False
    return True


class LocalJudge:
    """Judges by the local model, one turn after the other in a thread, so the loop goes on and a batch that is given up
    ends with the turn at hand. `reasons`: say why for a "no"."""

    def __init__(self, model: LocalModel, *, reasons: bool = True) -> None:
        self.name = NAME
        self._model = model
        self._reasons = reasons

    async def judge(self, request: JudgeRequest) -> JudgeAnswer:
        """A verdict for every turn of `request.asked`. Raises JudgeFailure where the model cannot be loaded."""
        lines = {line.index: line for line in request.lines}
        verdicts = []
        for asked in request.asked:
            window = [lines[index] for index in asked.window if index in lines and index != asked.index]
            reply = lines[asked.index].text if asked.index in lines else ""
            try:
                verdicts.append(await asyncio.to_thread(self._verdict, asked.index, window, reply))
            except LocalModelError as error:
                raise JudgeFailure("configuration", str(error)) from error
        return JudgeAnswer(tuple(verdicts))

    async def close(self) -> None:
        """The model stays: it is the process's own."""

    def _verdict(self, index: int, context: Sequence[Line], reply: str) -> Verdict:
        from monitor.judges.local_model import THRESHOLD, relevance_of

        seen = seen_of(context, reply)
        if (unscored := _no_verdict_because(seen)) is not None:
            return Verdict(index, "unscored", unscored)
        if not seen.turns:
            return Verdict(index, "yes")  # the first words of a call: there is nothing yet that they could miss
        comparison = self._model.compare(seen)
        relevance = relevance_of(comparison)
        if relevance >= THRESHOLD:
            return Verdict(index, "yes")
        return Verdict(index, "no", f"{_why(seen, comparison)}: relevance {relevance:.2f}" if self._reasons else None)


def local_judge(settings: RelevancySettings) -> LocalJudge:
    """The judge of `eval_mode = "local"`. The model is loaded with the first batch. Raises JudgeFailure (configuration)
    where it is not installed."""
    try:
        check_installed()
    except LocalModelError as error:
        raise JudgeFailure("configuration", str(error)) from error
    from monitor.judges.local_model import SHARED

    return LocalJudge(SHARED, reasons=settings.include_reason)


def _no_verdict_because(seen: Seen) -> str | None:
    """Why there is no verdict on it, or None where there is one."""
    if not any(letter.isalnum() for letter in seen.reply):
        return "no words: what the agent said is not known"
    if seen.unheard:
        return "no words: what the caller said is not known"
    if not looks_english(seen):
        return "not English: the local model knows no other language"
    return None


def _why(seen: Seen, comparison: Comparison) -> str:
    """A "no" in words, from what was measured."""
    if not seen.asked:
        return "has little to do with what was said before"
    last = "what the caller last asked" if seen.asked.endswith("?") else "what the caller last said"
    if comparison.to_nearest >= CLOSE > comparison.to_asked:
        return f"comes back to what the agent said before, not to {last}"
    if comparison.generic >= STOCK:
        return f"is a common phrase that does not take up {last}"
    if comparison.words_of_asked == 0:
        return f"says nothing of {last}"
    return f"has little to do with {last}"
