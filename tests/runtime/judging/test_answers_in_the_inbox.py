"""Answers on their way back: before what waits, after the end of the call, and never lost."""

from __future__ import annotations

import asyncio

from connectors.inputs import CallEnded, Elapsed, Input, Notice, Text, Verdicts
from monitor.runtime.inbox import Bounds, Inbox
from tests.runtime.stand_ins import STARTED, audio

ANSWER = Verdicts(100, 0, "m", ())


async def test_an_answer_comes_before_what_waits() -> None:
    inbox = Inbox()
    inbox.put(STARTED, audio("caller", 0))
    inbox.answer(ANSWER)
    assert (await inbox.take())[0] == ANSWER
    inbox.put(audio("caller", 20))
    inbox.answer(ANSWER)
    assert inbox.answered
    assert inbox.answers() == [ANSWER]
    assert not inbox.answered
    assert await inbox.take() == [audio("caller", 20)]


async def test_an_answer_is_never_lost_in_a_full_inbox() -> None:
    inbox = Inbox(Bounds(inputs=2, reserve=0))
    inbox.put(STARTED, *(audio("caller", at) for at in range(0, 200, 20)))
    inbox.answer(ANSWER)
    assert ANSWER in await inbox.take()
    assert inbox.dropped == 9


async def test_an_answer_wakes_whoever_waits_also_after_the_end() -> None:
    inbox = Inbox()
    inbox.put(STARTED, CallEnded(0, "hangup"))
    await inbox.take()
    assert inbox.closed
    assert await inbox.take() == []
    waiting = asyncio.create_task(inbox.take(rest=True))
    await asyncio.sleep(0)
    assert not waiting.done()
    inbox.answer(ANSWER)
    assert await waiting == [ANSWER]
    inbox.close()
    assert await inbox.take(rest=True) == []


async def test_after_the_end_a_tape_may_bring_answers_and_notices_and_nothing_else() -> None:
    inbox = Inbox()
    words = Text("caller", 0, "Hello?", "transcript", turn=0)
    again = CallEnded(0, "hangup")
    notice = Notice(0, "n", "m")
    late: list[Input] = [audio("caller", 0), notice, Elapsed(1), ANSWER, words, again]
    for given in [STARTED, CallEnded(0, "hangup"), *late]:
        await inbox.offer(given)
    assert await inbox.take() == [STARTED, again, notice, ANSWER, words, again]
    inbox.put(ANSWER, again)  # a source that is not a tape has nothing to say any more
    inbox.close()
    assert await inbox.take(rest=True) == []
