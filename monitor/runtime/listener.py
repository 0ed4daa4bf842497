"""One call's way from its inbox to its events: written to the tape first, then given to the core.

Its questions go to the judge and the transcriber after each input, and the answers come back through the inbox, so that
they are on the tape. A live call never waits for them; where `stands_still`, nothing is heard while one is awaited. At
the end of a call its last answers are awaited in any case.

Should the core itself fail, that call ends as `failed` with a notice, and no other call notices. The failure repeats at
the very same input when the tape is heard again, so even then a replay gives the same events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import msgspec

from connectors.base import ConnectorError
from connectors.inputs import CallEnded, CallStarted, FleetView, Input, Notice
from monitor.core import events
from monitor.core.call import Status
from monitor.core.events import Cause, Event
from monitor.core.questions import JudgeRequest, TranscribeRequest
from monitor.runtime.call_names import CallNames
from monitor.runtime.inbox import Inbox
from monitor.runtime.inquiry import Bench, Inquiry
from monitor.runtime.tape import TapeWriter, cleaned

log = logging.getLogger("turnwatch.call")

BATCH = 64
"""Inputs that are heard at a stretch before other calls get their turn."""


class Core(Protocol):
    """What the runtime needs of `CallMonitor`."""

    def feed(self, given: Input, /) -> list[Event]:
        """The events that this input gives rise to."""
        ...

    @property
    def untranscribed(self) -> Callable[[], list[TranscribeRequest]]:
        """Gives the turns that a transcriber is to be asked about, since the last call."""
        ...

    def questions(self) -> list[JudgeRequest]:
        """What the judge is to be asked, since the last call."""
        ...

    @property
    def status(self) -> Status:
        """Where the call stands."""
        ...


NewTape = Callable[[str], TapeWriter]
"""Makes the tape of the call with this id. Raises ConnectorError where it cannot."""

View = Callable[[str | None], FleetView | None]
"""What is known across calls about the agent with this id; None while that is nothing."""


class Listener:
    """Listens to one call. `ended` once its last event is out; `cause` is then why. `failed`: because of the core.
    `tape_failed`: a tape was wanted and is not whole. `names`: gives each call of a program its own. `view`: what the
    call begins with, right behind `CallStarted`; a tape has its own.

    `bench`: the judge and the transcriber; None where a tape holds their answers: `replay`.
    """

    def __init__(
        self,
        core: Core,
        new_tape: NewTape | None = None,
        *,
        bench: Bench | None = None,
        stands_still: bool = False,
        replay: bool = False,
        names: CallNames | None = None,
        view: View | None = None,
    ) -> None:
        self._core = core
        self._new_tape = new_tape
        self._tape: TapeWriter | None = None
        self._bench = bench if bench is not None and any(bench) else None
        self._stands_still = stands_still and self._bench is not None
        self._replay = replay
        self._inquiry: Inquiry | None = None
        self._hurried = False
        self._call = ""
        self._told = 0
        self._known_at_ms = 0
        self._now_ms = 0
        self._over = False
        self._cause: Cause | None = None
        self.cause: Cause | None = None
        self.ended = False
        self.failed = False
        self.tape_failed = False
        self._names = None if replay else names
        self._view = None if replay else view

    @property
    def status(self) -> Status:
        """Where the call stands, as the core sees it."""
        return self._core.status

    def hurry(self) -> None:
        """Wait no longer than a moment for any answer."""
        self._hurried = True
        if self._inquiry is not None:
            self._inquiry.hurry()

    async def events(self, inbox: Inbox) -> AsyncIterator[Event]:
        """Hear all that comes through `inbox`, to the end of the call."""
        if self._bench is not None:
            self._inquiry = Inquiry(self._bench, self._core, inbox)
            if self._hurried:
                self._inquiry.hurry()
        try:
            while not (self.ended or self._over) and (batch := await inbox.take()):
                size = 1 if self._stands_still else BATCH
                for start in range(0, len(batch), size):
                    for event in self.hear(batch[start : start + size]):
                        yield event
                    while self._stands_still and self._inquiry is not None and self._inquiry.waiting:
                        await self._inquiry.answered()
                        for event in self.hear(inbox.answers()):
                            yield event
                    if start % BATCH == 0:
                        await asyncio.sleep(0)
            if not self._over:
                for event in self.end(inbox.cause):
                    yield event
            while not self.ended:
                answers = await self._last_answers(inbox)
                for event in self.hear(answers or [CallEnded(self._now_ms, self._cause or "disconnected")]):
                    yield event
                self.ended = self.ended or not answers
        finally:
            if self._inquiry is not None:
                self._inquiry.close()

    async def _last_answers(self, inbox: Inbox) -> list[Input]:
        """The call is over, and answers are awaited: some of them; nothing where no more will come."""
        if self._inquiry is not None:
            await self._inquiry.answered()
            return inbox.answers()
        return await inbox.take(rest=True) if self._replay else []

    def hear(self, batch: list[Input]) -> list[Event]:
        """The events that these inputs give rise to. What comes after the end of the call is ignored."""
        out: list[Event] = []
        if self.ended or not batch:
            return out
        for given in self._record([cleaned(given) for given in batch]):
            self._now_ms = max(self._now_ms, getattr(given, "at", 0))
            try:
                told = self._core.feed(given)
            except Exception as error:
                log.exception("call %s: turnwatch itself failed on it; other calls go on", self._call)
                self.failed = True
                told = self._failure(type(error).__name__)
            out += told
            if isinstance(given, CallEnded):
                self._over, self._cause = True, self._cause or given.cause
            if self._inquiry is not None and not self.failed:
                self._inquiry.put()
            for event in told:
                self._told, self._known_at_ms = event.seq + 1, event.known_at_ms
                if isinstance(event, events.CallEnded):
                    self.ended, self.cause = True, event.cause
            if self.ended:
                self._close_tape()
                break
        return out

    def end(self, cause: Cause) -> list[Event]:
        """End the call here if it has not ended: what is open is told, then `call.ended`."""
        if self.ended or not self._call:
            self.ended = True
            return []
        return self.hear([CallEnded(self._now_ms, cause)])

    def _record(self, batch: list[Input]) -> list[Input]:
        """Write to the tape; the inputs to hear, which are one more where the tape has just failed."""
        failure = None
        started = batch[0] if batch else None
        if not self._call and isinstance(started, CallStarted):
            if self._names is not None:
                started = msgspec.structs.replace(started, call=self._names.own(started.call))
                batch = [started, *batch[1:]]
            self._call = started.call
            known = None if self._view is None else self._view(started.agent_id)
            if known is not None:
                batch = [started, known, *batch[1:]]
            failure = self._start_tape(self._call)
        if self._tape is not None:
            self._tape.write(batch)
            failure = self._tape.failure
        if failure is None:
            return batch
        self._close_tape()
        self.tape_failed = True
        log.error("call %s: %s", self._call, failure)
        return [*batch[:1], Notice(getattr(batch[0], "at", 0), "tape_failed", failure), *batch[1:]]

    def _start_tape(self, call: str) -> str | None:
        """Why there is no tape, if there should be one."""
        try:
            self._tape = self._new_tape(call) if self._new_tape else None
        except ConnectorError as error:
            return str(error)
        return None

    def _failure(self, reason: str) -> list[Event]:
        at, seq = self._known_at_ms, self._told
        message = f"turnwatch itself failed on this call ({reason}): please report it, with the tape if there is one"
        envelope: dict[str, Any] = {"call": self._call, "at_ms": at, "known_at_ms": at}
        return [
            events.Notice(**envelope, seq=seq, kind="failed", track=None, count=1, message=message),
            events.CallEnded(**envelope, seq=seq + 1, cause="failed", summary={"duration": at / 1000}),
        ]

    def _close_tape(self) -> None:
        tape, self._tape = self._tape, None
        if tape is not None:
            tape.close()
