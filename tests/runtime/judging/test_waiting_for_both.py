"""While a call waits, it waits for the judge and the transcriber alike, whoever of them asks more meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from monitor.runtime.inbox import Inbox
from monitor.runtime.inquiry import Bench, Inquiry


class Slow:
    """Owes one answer for each of `steps`; the last of them makes the other one owe one more."""

    def __init__(self, *steps: Slow | None) -> None:
        self._steps = list(steps)
        self.owed = len(self._steps)

    def waiting(self, call: str) -> int:
        return self.owed

    async def answered(self, call: str) -> None:
        while self._steps:
            await asyncio.sleep(0)
            other = self._steps.pop()
            self.owed -= 1
            if other is not None:
                other.owe()

    def owe(self) -> None:
        self._steps.append(None)
        self.owed += 1

    def cancel(self, call: str) -> None:
        self._steps, self.owed = [], 0

    def forget(self, call: str) -> None: ...


async def test_an_answer_of_one_that_asks_the_other_anew_is_waited_for_too() -> None:
    judge = Slow(None)
    transcriber = Slow(judge, None)
    inquiry = Inquiry(Bench(cast("Any", judge), cast("Any", transcriber)), cast("Any", None), Inbox())
    async with asyncio.timeout(5):
        await inquiry.answered()
    assert (judge.owed, transcriber.owed, inquiry.waiting) == (0, 0, False)
    inquiry.close()
