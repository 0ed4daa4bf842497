"""One call's listener: the tape first, and a failure that stays with its own call."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from connectors.base import ConnectorError
from connectors.inputs import CallEnded, CallStarted, Input
from monitor.core import events
from monitor.runtime.inbox import Inbox
from monitor.runtime.listener import Listener
from monitor.runtime.tape import Header, Tape, TapeWriter
from tests.runtime.stand_ins import STARTED, EchoCore, audio

CALL = [STARTED, audio("caller", 0), audio("agent", 0), CallEnded(20, "hangup")]


def filled(*given: Input) -> Inbox:
    inbox = Inbox()
    inbox.put(*given)
    inbox.close()
    return inbox


def writer_in(folder: Path, call: str) -> TapeWriter:
    return TapeWriter(folder, call, Header("0", "none", {}))


async def test_everything_that_is_heard_stands_on_the_tape_before() -> None:
    order: list[str] = []

    class Recorder:
        failure = None

        def write(self, batch: list[Input]) -> None:
            order.extend(f"tape {type(one).__name__}" for one in batch)

        def close(self) -> None:
            order.append("closed")

    class Core(EchoCore):
        def feed(self, given: Input, /) -> list[events.Event]:
            order.append(f"core {type(given).__name__}")
            return super().feed(given)

    listener = Listener(Core(), lambda call: Recorder())  # type: ignore[arg-type, return-value]
    seen = [event.seq async for event in listener.events(filled(*CALL))]
    assert seen == [0, 1, 2, 3]
    names = [type(one).__name__ for one in CALL]
    assert order == [f"tape {name}" for name in names] + [f"core {name}" for name in names] + ["closed"]
    assert listener.ended
    assert listener.cause == "hangup"


async def test_a_call_whose_source_just_stops_is_ended_where_it_stopped(tmp_path: Path) -> None:
    listener = Listener(EchoCore(), lambda call: writer_in(tmp_path, call))
    told = [event async for event in listener.events(filled(*CALL[:3], audio("caller", 500)))]
    assert isinstance(told[-1], events.CallEnded)
    assert (told[-1].cause, told[-1].at_ms) == ("disconnected", 500)
    on_tape = [one async for one in Tape(tmp_path / "call.tape").inputs()]
    assert on_tape[-1] == CallEnded(500, "disconnected")


async def test_a_failing_core_ends_its_call_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    failing, well = Listener(EchoCore(fails_at=2)), Listener(EchoCore())
    told = [event async for event in failing.events(filled(*CALL))]
    assert len([event async for event in well.events(filled(*CALL))]) == 4
    assert [event.seq for event in told] == [0, 1, 2, 3]
    notice, ended = told[-2:]
    assert isinstance(notice, events.Notice)
    assert isinstance(ended, events.CallEnded)
    assert (ended.cause, failing.cause, well.cause) == ("failed", "failed", "hangup")
    assert "KeyError" in notice.message
    assert "a word of the call" not in notice.message
    assert failing.hear([audio("caller", 40)]) == []
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_call_that_fails_at_its_first_input_still_has_its_name() -> None:
    told = Listener(EchoCore(fails_at=0)).hear([CallStarted("the-name", "test")])
    assert {event.call for event in told} == {"the-name"}


async def test_a_tape_that_cannot_be_made_is_told_and_the_call_goes_on() -> None:
    def none(call: str) -> TapeWriter:
        raise ConnectorError(f"no tape for {call}")

    core = EchoCore()
    listener = Listener(core, none)
    assert len([event async for event in listener.events(filled(*CALL))]) == 5
    assert [getattr(one, "kind", None) for one in core.heard] == [None, "tape_failed", None, None, None]
    assert listener.cause == "hangup"


async def test_a_tape_that_fails_later_is_told_once(tmp_path: Path) -> None:
    writer = writer_in(tmp_path, "call")
    core = EchoCore()
    listener = Listener(core, lambda call: writer)
    listener.hear([STARTED])
    writer.failure = "the tape call.tape ends here: disk full"
    listener.hear([audio("caller", 0)])
    listener.hear([audio("caller", 20)])
    assert [type(one).__name__ for one in core.heard] == ["CallStarted", "Audio", "Notice", "Audio"]


async def test_nothing_is_told_of_a_call_that_never_began() -> None:
    listener = Listener(EchoCore())
    assert [event async for event in listener.events(filled())] == []
    assert listener.ended
