"""`TurnRelevancy`: how relevant the assistant's turns of a finished conversation were to it, as a judge sees it.

metric = TurnRelevancy(eval_mode="llm", model="gpt-5.4")
metric.measure([{"role": "user", "text": "When do you open?"}, {"role": "assistant", "text": "At nine."}])
print(metric.score, metric.reason)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from connectors.inputs import Verdicts
from monitor.core.given_turns import turns_of
from monitor.core.questions import JudgeRequest
from monitor.core.relevancy_settings import EvalMode, RelevancySettings, WindowUnit
from monitor.core.turn_relevancy import EXAMPLE, FinishedConversation
from monitor.judges import Judge
from monitor.judges.whole import WholeJudge
from monitor.runtime.asking import Asking
from monitor.runtime.judging import judge_for, named

EVAL_MODE = "TURNWATCH_EVAL_MODE"
"""The environment variable that names the mode where `eval_mode` is left out."""


class TurnRelevancy:
    """The share of the judged assistant turns that are relevant to the conversation so far, in 0..1.

    Options: `threshold` (0..1, or None for the score alone); `model` (of the LLM); `include_reason`; `strict_mode` (the
    threshold is 1 and a score below 1 becomes 0); `async_mode` (several requests on their way at once); `verbose_mode`
    (prints the breakdown); `window_size` (a turn is judged in the last so many turns, itself the last of them);
    `flaky` (kept for reports, decides nothing); `eval_mode` (`llm`, `hybrid`, `system_one`, `local`, `scripted:FILE`,
    `off`, or a word of the command line's `--judge`; None: what the environment's TURNWATCH_EVAL_MODE says, else
    `llm`); `system_one_model`. `judge`: one of `monitor.judges`, in place of the one that the mode stands for; its
    connections are let go after each call. `window_unit`, `base_url`: as in `[relevancy]`; with `interactions` the
    windows, and what is judged, are those of DeepEval 4.3.

    An option of another type raises `TypeError`, one out of its range `ValueError`; both name it.

    After `measure`: `score`; `success` (None without a threshold or without a score); `skipped` (nothing was judged:
    the score is None and `reason` says why); `verdicts`, one for each turn in order: `{index, verdict, reason, window,
    batch, judge}`; `score_breakdown`: `{relevant, judged, unscored, not_asked, assistant_turns, requests, tokens,
    cost_usd, verdicts}`. `system_one` gives a score and a `confidence` (in the breakdown), and no verdicts.
    """

    def __init__(
        self,
        threshold: float | None = 0.5,
        model: str = "gpt-5.4",
        include_reason: bool = True,
        strict_mode: bool = False,
        async_mode: bool = True,
        verbose_mode: bool = False,
        window_size: int = 10,
        flaky: bool = False,
        eval_mode: str | None = None,
        system_one_model: str = "jev-latest",
        judge: Judge | WholeJudge | None = None,
        window_unit: WindowUnit = "turns",
        base_url: str | None = None,
    ) -> None:
        for name, value, kind, good in (
            ("threshold", threshold, "a number in 0..1, or None", threshold is None or _is_number(threshold)),
            ("model", model, "the name of a model", _is_name(model)),
            ("include_reason", include_reason, "True or False", isinstance(include_reason, bool)),
            ("strict_mode", strict_mode, "True or False", isinstance(strict_mode, bool)),
            ("async_mode", async_mode, "True or False", isinstance(async_mode, bool)),
            ("verbose_mode", verbose_mode, "True or False", isinstance(verbose_mode, bool)),
            ("window_size", window_size, "a whole number from 1 on", type(window_size) is int),
            ("flaky", flaky, "True or False", isinstance(flaky, bool)),
            ("eval_mode", eval_mode, "a word, or None", eval_mode is None or isinstance(eval_mode, str)),
            ("system_one_model", system_one_model, "the name of a model", _is_name(system_one_model)),
            ("window_unit", window_unit, "'turns' or 'interactions'", isinstance(window_unit, str)),
            ("base_url", base_url, "an address, or None", base_url is None or isinstance(base_url, str)),
        ):
            if not good:
                raise TypeError(f"{name} must be {kind}; got {value!r}")
        if window_unit not in get_args(WindowUnit):
            raise ValueError(f"window_unit must be 'turns' or 'interactions'; got {window_unit!r}")
        mode, script = _mode(eval_mode, judge is not None)
        self.settings = RelevancySettings(
            threshold=threshold,
            model=model,
            include_reason=include_reason,
            strict_mode=strict_mode,
            async_mode=async_mode,
            verbose_mode=verbose_mode,
            window_size=window_size,
            flaky=flaky,
            eval_mode=mode,
            script=script,
            system_one_model=system_one_model,
            window_unit=window_unit,
            base_url=base_url,
        )
        self.threshold: float | None = 1.0 if strict_mode else threshold
        self.flaky = flaky
        self._judge = judge
        self._forget()

    def _forget(self) -> None:
        self.score: float | None = None
        self.success: bool | None = None
        self.skipped = False
        self.reason: str | None = None
        self.verdicts: list[dict[str, Any]] = []
        self.score_breakdown: dict[str, Any] | None = None

    def measure(self, turns: Iterable[object]) -> float | None:
        """Judge a conversation; None if nothing was judged. For `turns` and what is raised see
        `monitor.core.turn_relevancy.FinishedConversation`. Within a running event loop use `a_measure`."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.a_measure(turns))
        raise RuntimeError("an event loop is running here: use `await metric.a_measure(turns)`")

    async def a_measure(self, turns: Iterable[object]) -> float | None:
        """As `measure`, within an event loop."""
        self._forget()
        given, settings = turns_of(turns, EXAMPLE), self.settings
        if settings.eval_mode == "system_one" or isinstance(self._judge, WholeJudge):
            settings = msgspec.structs.replace(settings, eval_mode="system_one", batch_size=max(1, len(given)))
        if self.settings.eval_mode == "off":
            settings = self.settings
        conversation = FinishedConversation(given, settings)
        if conversation.requests:
            await self._ask(conversation, settings)
        self._tell(conversation)
        return self.score

    async def _ask(self, conversation: FinishedConversation, settings: RelevancySettings) -> None:
        """Put the requests to the judge, so many at once that each has the whole of its time before it. Raises
        `monitor.runtime.judging.NoJudge` where the judge cannot be had."""
        judge = self._judge or judge_for(settings)
        assert judge is not None  # nobody is asked where the mode is off
        asking = Asking(judge, settings)
        places = asyncio.Semaphore(settings.in_flight)

        async def put(request: JudgeRequest) -> None:
            reply: asyncio.Future[Verdicts] = asyncio.get_running_loop().create_future()
            async with places:
                asking.ask(request, reply.set_result)
                conversation.answer(await reply)

        try:
            await asyncio.gather(*(put(request) for request in conversation.requests))
        finally:
            await asking.close()

    def _tell(self, conversation: FinishedConversation) -> None:
        told = conversation.summary
        self.score, self.success, self.reason = (told.pop(name, None) for name in ("score", "success", "reason"))
        self.verdicts = [conversation.verdicts[index] for index in sorted(conversation.verdicts)]
        self.skipped = self.score is None
        self.score_breakdown = {**told, "verdicts": self.verdicts}
        if self.settings.eval_mode == "off":
            self.reason = "No score: eval_mode is off, so nobody was asked." if self.settings.include_reason else None
        if self.settings.verbose_mode:
            print(f"turn relevancy: {self.score}\n  {self.reason or 'no reason asked for'}")
            for one in self.verdicts:
                print(f"    {one}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _mode(given: str | None, has_judge: bool) -> tuple[EvalMode, str | None]:
    """The mode that was asked for, or that the environment names, and its script. Raises `ValueError` for one that is
    none."""
    word = given or os.environ.get(EVAL_MODE) or "llm"
    where = "eval_mode" if given else EVAL_MODE
    try:
        mode, script = named(word)
    except ValueError as error:
        if word.strip().casefold().startswith("scripted"):
            raise ValueError(f"{where}: {error}") from None
        modes = "llm, hybrid, system_one, local, off or scripted:FILE"
        raise ValueError(f"{where}={word}: it takes one of {modes}; any other judge is given as judge=…") from error
    if mode == "scripted" and has_judge:
        return "llm", None  # the judge is there, whatever it is called
    if mode == "scripted" and script is None:
        raise ValueError(f"{where}={word}: name the file of verdicts as well, as in scripted:verdicts.json")
    return mode, script
