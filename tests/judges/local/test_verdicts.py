"""Verdicts of the local model, which runs for real."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from connectors.inputs import Verdict
from connectors.simulator.scenario_demo import DEMO, HOURS
from monitor.core.events import Role
from monitor.core.questions import Asked, JudgeRequest, Line
from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges.local import LocalJudge, local_judge
from monitor.judges.local_features import WINDOW, Comparison, Seen
from monitor.judges.local_model import SHARED, LocalModel
from tests.judges.conversations import CALL, batch

LOCAL = RelevancySettings(eval_mode="local")
CANBERRA = "Canberra is the capital of Australia."
WRONG = (*CALL[:5], CANBERRA)


def judged(request: JudgeRequest, settings: RelevancySettings = LOCAL) -> dict[int, Verdict]:
    answer = asyncio.run(local_judge(settings).judge(request))
    assert [verdict.index for verdict in answer.verdicts] == [asked.index for asked in request.asked]
    return {verdict.index: verdict for verdict in answer.verdicts}


def told(*turns: tuple[Role, str]) -> JudgeRequest:
    """The last of these turns is asked about."""
    last = len(turns) - 1
    lines = tuple(Line(index, role, text) for index, (role, text) in enumerate(turns))
    return JudgeRequest("call", 0, 0, 20_000, lines, (Asked(last, tuple(range(len(turns)))),))


def verdict_on(*turns: tuple[Role, str]) -> Verdict:
    return judged(told(*turns))[len(turns) - 1]


def test_the_demo_calls_answer_beside_the_point_is_caught_and_no_other_turn_is_blamed() -> None:
    # Its agent and its caller take turns; the caller's backchannel is no turn.
    callers = [line.text for line in DEMO.caller if not line.backchannel]
    turns = [text for pair in zip([line.text for line in DEMO.agent], [*callers, ""], strict=True) for text in pair]
    roles: tuple[Role, Role] = ("assistant", "user")
    lines = tuple(Line(index, roles[index % 2], text) for index, text in enumerate(turns) if text)
    asked = tuple(Asked(index, tuple(range(max(0, index - 9), index + 1))) for index in range(0, len(turns), 2))
    verdicts = judged(JudgeRequest("demo", 0, 0, 0, lines, asked))
    blamed = {turns[index]: verdict.reason for index, verdict in verdicts.items() if verdict.verdict == "no"}
    assert list(blamed) == [HOURS]
    assert str(blamed[HOURS]).startswith("says nothing of what the caller last asked: relevance 0.")
    assert {verdict.verdict for verdict in verdicts.values()} == {"yes", "no"}


def test_an_answer_from_another_conversation_is_a_no_with_a_reason_and_costs_nothing() -> None:
    assert {index: verdict.verdict for index, verdict in judged(batch()).items()} == {1: "yes", 3: "yes", 5: "yes"}
    answer = asyncio.run(local_judge(LOCAL).judge(batch(WRONG)))
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (0, 0, None)
    wrong = judged(batch(WRONG))[5]
    assert wrong.verdict == "no"
    assert str(wrong.reason).startswith("says nothing of what the caller last asked: relevance 0.")


def test_reasons_can_be_left_out() -> None:
    settings = RelevancySettings(eval_mode="local", include_reason=False)
    assert judged(batch(WRONG), settings)[5] == Verdict(5, "no")


def test_it_is_named_as_what_it_is() -> None:
    assert local_judge(LOCAL).name == "local, approximate (minilm)"


def test_the_first_words_of_a_call_can_miss_nothing() -> None:
    assert verdict_on(("assistant", "Hi, this is Nora at Swift Parcel. How can I help you?")).verdict == "yes"


@pytest.mark.parametrize(
    "words",
    [
        ("Meine Bestellung ist gestern nicht angekommen.", "Das tut mir leid, ich sehe gleich nach Ihrer Bestellung."),
        ("Mon colis n'est pas arrivé hier matin.", "Je suis désolé, quel est votre numéro de commande ?"),
        ("Мой заказ вчера не пришёл.", "Извините, какой у вас номер?"),
        ("我的包裹昨天没有到。", "对不起，请问您的订单号是多少？"),
        ("طلبي لم يصل أمس.", "آسف، ما رقم طلبك؟"),
    ],
)
def test_other_languages_are_left_unscored(words: tuple[str, str]) -> None:
    verdict = verdict_on(("user", words[0]), ("assistant", words[1]))
    assert verdict.verdict == "unscored"
    assert str(verdict.reason).startswith("not English: ")


@pytest.mark.parametrize("nothing", ["", "  ", "…", "?!"])
def test_an_answer_without_words_is_left_unscored(nothing: str) -> None:
    verdict = verdict_on(("user", CALL[0]), ("assistant", nothing))
    assert verdict == Verdict(1, "unscored", "no words: what the agent said is not known")


def test_an_answer_to_unknown_words_is_left_unscored() -> None:
    verdict = verdict_on(("user", CALL[0]), ("assistant", CALL[1]), ("user", ""), ("assistant", CALL[3]))
    assert verdict == Verdict(3, "unscored", "no words: what the caller said is not known")


def test_an_agent_that_goes_on_is_judged_by_what_was_said_before() -> None:
    begun: tuple[tuple[Role, str], ...] = (("user", CALL[0]), ("assistant", CALL[1]))
    assert verdict_on(*begun, ("assistant", "It is on the order that you got by mail.")).verdict == "yes"
    other = verdict_on(*begun, ("assistant", CANBERRA))
    assert other.verdict == "no"
    assert str(other.reason).startswith("has little to do with what was said before: relevance 0.")


def test_a_turn_that_is_missing_from_the_lines_is_left_unscored() -> None:
    request = JudgeRequest("call", 0, 0, 0, (), (Asked(7, (5, 6, 7)),))
    assert judged(request)[7].verdict == "unscored"


def test_a_verdict_depends_neither_on_the_batch_nor_on_the_order_nor_on_what_came_before() -> None:
    together = judged(batch(WRONG))
    for index in (5, 3, 1):
        assert judged(batch(WRONG, [index]))[index] == together[index]
    SHARED._seen.clear()
    assert judged(batch(WRONG)) == together


def test_turns_older_than_the_models_window_are_not_looked_at() -> None:
    long: list[tuple[Role, str]] = [("assistant", CALL[3]), ("user", CALL[4])] * (WINDOW // 2)
    verdicts = [
        verdict_on(*older, *long, ("assistant", CANBERRA))
        for older in ([], [("assistant", "Canberra? The capital of Australia is Canberra.")])
    ]
    assert verdicts[0].verdict == verdicts[1].verdict == "no"
    assert verdicts[0].reason == verdicts[1].reason


async def test_the_loop_goes_on_while_the_model_works() -> None:
    begun, judge = asyncio.Event(), local_judge(LOCAL)

    async def beats() -> int:
        await begun.wait()
        count = 0
        while not judging.done():
            await asyncio.sleep(0)
            count += 1
        return count

    SHARED._seen.clear()
    judging = asyncio.create_task(judge.judge(batch()))
    beating = asyncio.create_task(beats())
    begun.set()
    assert [verdict.verdict for verdict in (await judging).verdicts] == ["yes"] * 3
    assert await beating > 10


async def test_several_batches_at_once_share_one_model() -> None:
    judges = [local_judge(LOCAL) for _ in range(4)]
    answers: Sequence[object] = await asyncio.gather(*(judge.judge(batch(WRONG)) for judge in judges))
    assert all(answer == answers[0] for answer in answers)
    assert {id(judge._model) for judge in judges} == {id(SHARED)}


async def test_a_batch_that_is_given_up_ends_with_the_turn_at_hand() -> None:
    class Held(LocalModel):
        """Begins with the first turn, and ends it when it may."""

        def __init__(self) -> None:
            super().__init__()
            self.begun, self.may_end = threading.Event(), threading.Event()
            self.compared: list[str] = []

        def compare(self, seen: Seen) -> Comparison:
            self.compared.append(seen.reply)
            self.begun.set()
            assert self.may_end.wait(10)
            return super().compare(seen)

    model = Held()
    judging = asyncio.create_task(LocalJudge(model).judge(batch()))
    assert await asyncio.to_thread(model.begun.wait, 10)
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    model.may_end.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert model.compared == [CALL[1]]
