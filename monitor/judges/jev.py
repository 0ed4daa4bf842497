"""The two judges that ask Jev, a model that answers bounded questions with probabilities.

| | decides | where Jev fails | the reason |
|---|---|---|---|
| `HybridJudge` | Jev, one question on each window: yes where P(yes) ≥ 0.5 | the LLM decides | of a "no": the LLM's |
| `SystemOneJudge` | Jev, three questions on the whole conversation | nobody: there is no score | each answer |

A judge of the second kind is `whole`: it gives a score for the conversation and no verdict on any turn
(`monitor.judges.whole`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from connectors.inputs import Verdict
from monitor.core.questions import Asked, JudgeRequest, Line
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import Judge, JudgeAnswer, JudgeFailure
from monitor.judges.batches import part, summed
from monitor.judges.estimates import Estimate, Estimating, Prices, estimate
from monitor.judges.jev_wire import BASE_URL, MAX_TOKENS, Answer, Jev, Question, State, state_of
from monitor.judges.openai import TRY_SHARE, openai_judge
from monitor.judges.whole import ConversationAnswer

YES: Final = 0.5
"""From this probability of yes on, a turn is relevant."""

WINDOW: Final = {
    "relevant": Question(
        "noul",
        "Is the last assistant turn in `turns` relevant to the conversation so far, given the turns before it?",
        yes="It answers or takes up what the user said last, or is a greeting, a question back, or a vague reply to "
        "vague words.",
        no="It ignores what the user said last, or changes the subject without need.",
    )
}

LEVELS: Final = ("mostly irrelevant", "several irrelevant turns", "mostly relevant", "all relevant")

CONVERSATION: Final = {
    "relevant": Question(
        "noul",
        "Every assistant turn in `turns` is relevant to the conversation so far, given the user turns before it.",
    ),
    "on_subject": Question(
        "noul", "No assistant turn in `turns` ignores the user turn it responds to or changes the subject."
    ),
    "level": Question("score", "How relevant are the assistant turns in `turns` to the conversation so far?", LEVELS),
}
WEIGHTS: Final = {"relevant": 2.0, "on_subject": 1.0, "level": 1.0}


class Explaining(Judge, Protocol):
    """A judge that can also say why a turn is not relevant."""

    async def explain(self, request: JudgeRequest) -> tuple[dict[int, str], JudgeAnswer]:
        """Reasons by turn index, and what they took. Raises JudgeFailure."""
        ...


class HybridJudge:
    """Jev decides turn by turn, one request after the other; `llm` writes the reasons, and decides where Jev failed:
    then the verdict's reason says so. Raises `JudgeFailure` only where not one turn could be judged."""

    def __init__(self, jev: Jev, llm: Explaining, include_reason: bool = True) -> None:
        self.name = f"{jev.model}+{llm.name}"
        self._jev, self._llm, self._include_reason = jev, llm, include_reason

    async def judge(self, request: JudgeRequest) -> JudgeAnswer:
        """Verdicts for `request.asked`."""
        verdicts: dict[int, Verdict] = {}
        spent: list[JudgeAnswer] = []
        failed: JudgeFailure | None = None
        for asked in request.asked:
            if failed is not None and failed.kind not in ("broken", "refusal"):
                break  # it will not do better for the next turn of this batch
            try:
                answers = await self._jev.ask(state_of(_window(request, asked), WINDOW), WINDOW)
            except JudgeFailure as failure:
                failed = failure
                spent += [failure.spent or JudgeAnswer(())]
                continue
            spent.append(answers.spent)
            verdicts[asked.index] = Verdict(asked.index, "yes" if answers.answers["relevant"].value >= YES else "no")
        if self._include_reason:
            spent += await self._explain(request, verdicts)
        if failed is not None:
            spent += await self._fall_back(request, verdicts, failed, spent)
        found = tuple(verdicts[asked.index] for asked in request.asked if asked.index in verdicts)
        told = failed if failed is not None and failed.kind != "refusal" else None
        return msgspec.structs.replace(summed(spent, found), stood_in_for=told)

    def estimate(self, request: JudgeRequest) -> Estimate:
        """What the batch takes while Jev answers: a request for each window, and the LLM's for the reasons."""
        parts = [estimate(part(request, [asked.index]), self._jev.prices) for asked in request.asked]
        parts.append(self._llm.estimate(request) if isinstance(self._llm, Estimating) else estimate(request))
        return Estimate(len(parts), sum(part.tokens for part in parts), sum(part.usd for part in parts))

    async def close(self) -> None:
        """Let go of connections."""
        await self._jev.close()
        await self._llm.close()

    async def _explain(self, request: JudgeRequest, verdicts: dict[int, Verdict]) -> list[JudgeAnswer]:
        """Put the LLM's reason to each "no". Without one, it stays a "no"."""
        noes = [index for index, verdict in verdicts.items() if verdict.verdict == "no"]
        if not noes:
            return []
        try:
            reasons, spent = await self._llm.explain(part(request, noes))
        except JudgeFailure as failure:
            reasons, spent = dict.fromkeys(noes, f"no reason: {failure}"), failure.spent or JudgeAnswer(())
        none = f"no reason: {self._llm.name} gives none of use"
        for index in noes:
            verdicts[index] = Verdict(index, "no", reasons.get(index) or none)
        return [spent]

    async def _fall_back(
        self, request: JudgeRequest, verdicts: dict[int, Verdict], failed: JudgeFailure, before: list[JudgeAnswer]
    ) -> list[JudgeAnswer]:
        """Let the LLM decide what Jev did not."""
        open_turns = [asked.index for asked in request.asked if asked.index not in verdicts]
        try:
            answer = await self._llm.judge(part(request, open_turns))
        except JudgeFailure as failure:
            spent = failure.spent or JudgeAnswer(())
            if not verdicts:
                words = f"{failed}; then {failure}"
                raise JudgeFailure(failure.kind, words, failure.retry_after_s, summed([*before, spent])) from None
            verdicts |= {index: Verdict(index, "unscored", f"{failed}; then {failure}") for index in open_turns}
            return [spent]
        told = f"{self._llm.name} decided: {failed}"
        for one in answer.verdicts:
            reason = one.reason if one.verdict == "unscored" else "; ".join(filter(None, (one.reason, told)))
            verdicts[one.index] = Verdict(one.index, one.verdict, reason)
        return [answer]


class SystemOneJudge:
    """Jev alone, over the whole conversation in one request; see `monitor.judges.whole`."""

    whole: Final = True

    def __init__(self, jev: Jev) -> None:
        self.name = jev.model
        self._jev = jev

    async def judge_conversation(self, lines: Sequence[Line]) -> ConversationAnswer:
        """The score of the conversation in `lines`. Raises JudgeFailure: nobody stands in for Jev."""
        state = state_of(lines, CONVERSATION)
        answers, spent = await self._jev.ask(state, CONVERSATION)
        score = sum(WEIGHTS[name] * answer.value for name, answer in answers.items()) / sum(WEIGHTS.values())
        confidence = min(answer.confidence for answer in answers.values())
        reason = _reason(self.name, answers, state)
        return ConversationAnswer(
            score, confidence, reason, {name: answer.value for name, answer in answers.items()}, state.left_out, spent
        )

    def estimate(self, request: JudgeRequest) -> Estimate:
        """What the conversation in `request.lines` takes."""
        whole = estimate(request, self._jev.prices)
        return Estimate(1, min(whole.tokens, MAX_TOKENS), whole.usd)

    async def close(self) -> None:
        """Let go of connections."""
        await self._jev.close()


def _window(request: JudgeRequest, asked: Asked) -> list[Line]:
    """The turns that count for one, in order; the judged turn is the last."""
    wanted = {*asked.window, asked.index}
    return [line for line in request.lines if line.index in wanted]


def _reason(name: str, answers: Mapping[str, Answer], state: State) -> str:
    first, second, level = answers["relevant"], answers["on_subject"], answers["level"]
    levels = ", ".join(
        f"{words} {p:.2f}" for p, words in sorted(zip(level.probabilities, LEVELS, strict=True), reverse=True) if p > 0
    )
    told = [
        f"every assistant turn is relevant: P(yes) {first.value:.2f}",
        f"none ignores the user or changes the subject: P(yes) {second.value:.2f}",
        f"how relevant: level {3 * level.value:.2f} of 3 ({levels or 'no probabilities given'})",
    ]
    if state.left_out:
        told.append(f"the first {state.left_out} turns did not fit")
    return f"{name}: " + "; ".join(told)


def jev_of(
    settings: RelevancySettings, environment: Mapping[str, str] = os.environ, new: Callable[..., Jev] = Jev
) -> Jev:
    """The far side that `[relevancy]` describes, with the key from TYPESAFE_API_KEY."""
    hybrid = settings.eval_mode == "hybrid"  # the LLM must have time to stand in
    return new(
        environment.get("TYPESAFE_API_KEY") or None,
        model=settings.system_one_model,
        base_url=settings.system_one_base_url or BASE_URL,
        timeout_s=(0.25 if hybrid else TRY_SHARE) * settings.deadline_s,
        prices=Prices(
            settings.system_one_usd_per_million_input_tokens, settings.system_one_usd_per_million_output_tokens
        ),
    )


def hybrid_judge(
    settings: RelevancySettings, environment: Mapping[str, str] = os.environ, new: Callable[..., Jev] = Jev
) -> HybridJudge:
    """The judge of `eval_mode = "hybrid"`. `new`: makes its Jev."""
    jev = jev_of(settings, environment, new)
    return HybridJudge(jev, openai_judge(settings, environment), settings.include_reason)


def system_one_judge(settings: RelevancySettings, environment: Mapping[str, str] = os.environ) -> SystemOneJudge:
    """The judge of `eval_mode = "system_one"`."""
    return SystemOneJudge(jev_of(settings, environment))
