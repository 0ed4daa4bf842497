"""Verdicts from a file, for tests, rehearsals and the demo.

    {"name": "script",
     "verdicts": [{"index": 3, "verdict": "no", "reason": "speaks of the weather"},
                  {"order": 0, "verdict": "yes"},
                  {"text": "opening hours", "verdict": "no"}],
     "otherwise": "yes",
     "delay_s": 0.2,
     "failures": [{"batch": 1, "kind": "rate_limit", "retry_after_s": 2, "times": 2}]}

A verdict names its turn by `index` on the timeline, by `order` among the assistant turns that were asked about in the
call (from 0), or by a `text` that the turn holds, whatever the case of its letters; the first that fits counts.
`otherwise`: the verdict on all other turns (`unscored` if it is left out). `delay_s`: how long each answer takes.
`failures`: batches (all, if `batch` is left out) that fail so many `times` (always, if left out) before they succeed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from connectors.inputs import Verdict
from monitor.core.questions import JudgeRequest
from monitor.judges import FailureKind, JudgeAnswer, JudgeFailure
from monitor.judges.script_file import Count, Seconds, read_script

MAX_CALLS: Final = 1000
"""Calls whose order of turns is remembered; beyond it the oldest starts anew."""

Word = Literal["yes", "no", "unscored"]


class Scripted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One verdict of a script."""

    verdict: Word
    index: Count | None = None
    order: Count | None = None
    text: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if sum(name is not None for name in (self.index, self.order, self.text)) != 1:
            raise ValueError("a verdict names its turn by index, by order or by text, and by one of them alone")

    def fits(self, index: int, order: int, text: str) -> bool:
        """Whether this verdict is about that turn."""
        if self.text is not None:
            return self.text.casefold() in text.casefold()
        return self.index == index if self.index is not None else self.order == order


class Failing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Batches that fail. `batch`: which one, or None for all. `times`: how often each, or None for always."""

    kind: FailureKind
    batch: Count | None = None
    times: Count | None = None
    retry_after_s: Seconds | None = None
    message: str = "the script says so"


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in the file."""

    verdicts: list[Scripted] = []
    otherwise: Word = "unscored"
    name: str = "scripted"
    delay_s: Seconds = 0.0
    failures: list[Failing] = []


class ScriptedJudge:
    """Judges by a script. `sleep` takes seconds, as `asyncio.sleep` does."""

    def __init__(self, script: Script, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.name = script.name
        self._script, self._sleep = script, sleep
        self._orders: OrderedDict[str, dict[int, int]] = OrderedDict()
        self._failed: OrderedDict[tuple[str, int, int], int] = OrderedDict()

    async def judge(self, request: JudgeRequest) -> JudgeAnswer:
        """The script's verdicts on `request.asked`. Raises JudgeFailure where the script says so."""
        orders = self._ordered(request)
        if self._script.delay_s > 0:
            await self._sleep(self._script.delay_s)
        self._maybe_fail(request)
        texts = {line.index: line.text for line in request.lines}
        return JudgeAnswer(
            tuple(
                self._verdict(asked.index, orders[asked.index], texts.get(asked.index, "")) for asked in request.asked
            )
        )

    async def close(self) -> None:
        """Nothing is held."""

    def _verdict(self, index: int, order: int, text: str) -> Verdict:
        for scripted in self._script.verdicts:
            if scripted.fits(index, order, text):
                return Verdict(index, scripted.verdict, scripted.reason)
        reason = "the script says nothing of this turn" if self._script.otherwise == "unscored" else None
        return Verdict(index, self._script.otherwise, reason)

    def _ordered(self, request: JudgeRequest) -> dict[int, int]:
        """The place of each turn asked about in this call so far; a turn that is asked about again keeps its place."""
        orders = self._orders.setdefault(request.call, {})
        self._orders.move_to_end(request.call)
        if len(self._orders) > MAX_CALLS:
            self._orders.popitem(last=False)
        for index in sorted(asked.index for asked in request.asked):
            orders.setdefault(index, len(orders))
        return orders

    def _maybe_fail(self, request: JudgeRequest) -> None:
        for row, failing in enumerate(self._script.failures):
            key = (request.call, request.batch, row)
            times = self._failed.get(key, 0)
            if failing.batch in (None, request.batch) and (failing.times is None or times < failing.times):
                self._failed[key] = times + 1
                if len(self._failed) > MAX_CALLS:
                    self._failed.popitem(last=False)
                raise JudgeFailure(failing.kind, failing.message, failing.retry_after_s)


def scripted_judge(file: Path) -> ScriptedJudge:
    """The judge of `--judge scripted:FILE`. Raises `ScriptError`."""
    return ScriptedJudge(read_script(file, Script, "script of verdicts"))
