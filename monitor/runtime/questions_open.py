"""A question on its way to the judge, of either kind, and what is known of its answer so far.

`Turns` asks for a verdict on each turn of a batch, `Conversation` for the score of a whole conversation. Both are
answered exactly once: by `settle`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from connectors.inputs import ConversationScore, Notice, Verdict, Verdicts
from monitor.core.questions import JudgeRequest
from monitor.judges import Judge, JudgeAnswer
from monitor.judges.batches import part, summed
from monitor.judges.estimates import Estimate, Estimating
from monitor.judges.verdicts import settled
from monitor.judges.whole import ConversationAnswer, WholeJudge

log = logging.getLogger("turnwatch.judge")

Reply = Callable[[Verdicts], object]
Tell = Callable[[Notice], object]

UNSURE = "the judge says nothing clear of this turn"


class Open:
    """A question that is not answered yet. `request` is what is left of it; `deadline` is on the asker's clock, in
    seconds. `asked_again`: whether it was put again for what the first answer left open. `sent`: whether a request is
    on its way right now."""

    def __init__(self, request: JudgeRequest, reply: Reply, tell: Tell | None, deadline: float) -> None:
        self.request = request
        self.deadline = deadline
        self.asked_again = self.sent = False
        self._reply, self._tell = reply, tell
        self._took: list[JudgeAnswer] = []

    @property
    def call(self) -> str:
        """The call's id."""
        return self.request.call

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask."""
        raise NotImplementedError

    def estimate(self) -> Estimate:
        """What putting it now will take."""
        raise NotImplementedError

    async def put(self) -> JudgeAnswer:
        """Put it to the judge; keep the answer, and say what it took. Raises JudgeFailure."""
        raise NotImplementedError

    def settle(self, reason: str) -> None:
        """Reply with what is known; `reason`: why there is no more."""
        raise NotImplementedError

    def took(self, answer: JudgeAnswer) -> None:
        """Count in what a request took."""
        self._took.append(answer)

    def tell(self, kind: str, message: str) -> None:
        """Tell the call something about its judge."""
        if self._tell is None:
            return
        try:
            self._tell(Notice(self.request.at_ms, kind, message))
        except Exception:
            log.exception("a call could not be told of its judge: please report it")

    def tell_once(self, told: set[str], kind: str, message: str) -> None:
        """As `tell`, unless the call was `told` of that kind before."""
        if kind not in told:
            told.add(kind)
            self.tell(kind, message)

    def _answer(self, judge: str, verdicts: tuple[Verdict, ...], conversation: ConversationScore | None = None) -> None:
        took = summed([*self._took, *([JudgeAnswer(())] if self.sent else [])])
        self._reply(
            Verdicts(
                at=self.request.at_ms,
                batch=self.request.batch,
                judge=judge,
                verdicts=verdicts,
                requests=took.requests,
                input_tokens=took.input_tokens,
                output_tokens=took.output_tokens,
                cost_usd=took.cost_usd,
                conversation=conversation,
            )
        )


class Turns(Open):
    """A batch of turns to be judged."""

    def __init__(self, judge: Judge, request: JudgeRequest, reply: Reply, tell: Tell | None, deadline: float) -> None:
        super().__init__(request, reply, tell, deadline)
        self._judge = judge
        self._asked = [asked.index for asked in request.asked]
        self._found: dict[int, Verdict] = {}

    @property
    def complete(self) -> bool:
        return not self.request.asked

    def estimate(self) -> Estimate:
        return self._judge.estimate(self.request) if isinstance(self._judge, Estimating) else Estimate(1, 0)

    async def put(self) -> JudgeAnswer:
        answer = await self._judge.judge(self.request)
        self._found |= settled(answer.verdicts, (asked.index for asked in self.request.asked))
        self.request = part(self.request, [index for index in self._asked if not self._clear(index)])
        return answer

    def settle(self, reason: str) -> None:
        found = (self._found.get(index) or Verdict(index, "unscored", reason) for index in self._asked)
        verdicts = tuple(one if one.reason or one.verdict != "unscored" else _unsure(one) for one in found)
        self._answer(self._judge.name, verdicts)

    def _clear(self, index: int) -> bool:
        return index in self._found and self._found[index].verdict in ("yes", "no")


class Conversation(Open):
    """A whole conversation to be judged. The batch's `lines` are the conversation so far."""

    def __init__(
        self, judge: WholeJudge, request: JudgeRequest, reply: Reply, tell: Tell | None, deadline: float
    ) -> None:
        super().__init__(request, reply, tell, deadline)
        self._judge = judge
        self._found: ConversationAnswer | None = None

    @property
    def complete(self) -> bool:
        return self._found is not None

    def estimate(self) -> Estimate:
        return self._judge.estimate(self.request) if isinstance(self._judge, Estimating) else Estimate(1, 0)

    async def put(self) -> JudgeAnswer:
        self._found = await self._judge.judge_conversation(self.request.lines)
        return self._found.spent

    def settle(self, reason: str) -> None:
        found = self._found
        told = (None, None, reason) if found is None else (found.score, found.confidence, found.reason)
        self._answer(self._judge.name, (), ConversationScore(*told))


def _unsure(verdict: Verdict) -> Verdict:
    return Verdict(verdict.index, verdict.verdict, UNSURE)
