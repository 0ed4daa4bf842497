"""Jev where a language model stands in for it (`eval_mode = "hybrid"`): while it is away, no batch waits for it first.

The judge as a whole goes on then, so its own way (`monitor.runtime.turnstile`) sees no failure.
"""

from __future__ import annotations

import logging
from typing import Any

from monitor.judges import JudgeAnswer, JudgeFailure
from monitor.judges.jev_wire import Answers, Jev, Question, State
from monitor.runtime.awaited import Clock, LoopClock
from monitor.runtime.far_side import FarSide

log = logging.getLogger("turnwatch.judge")


class RestedJev(Jev):
    """As `Jev`, but left alone by the rules of `monitor.runtime.far_side`; a question that it is not asked fails at
    once, and took no request."""

    def __init__(self, api_key: str | None, *, clock: Clock | None = None, **options: Any) -> None:
        super().__init__(api_key, **options)
        self._far = FarSide(f"judge {self.model}", "The LLM decides in its place", log, clock or LoopClock())

    async def ask(self, state: State, questions: dict[str, Question]) -> Answers:
        """See `Jev.ask`."""
        if (left := self._far.left_alone) is not None:
            raise JudgeFailure("configuration" if left.until_mended else "unreachable", left.reason, spent=_NOTHING)
        if self._far.on_trial:
            raise JudgeFailure("unreachable", "Jev was away, and is being tried again", spent=_NOTHING)
        attempt = self._far.attempt()
        try:
            answers = await super().ask(state, questions)
            attempt.answered()
        except JudgeFailure as failure:
            attempt.failed(failure)
            self._far.lost(failure)
            raise
        finally:
            attempt.dropped()
        return answers


_NOTHING = JudgeAnswer((), 0)
