"""One call's way from its inbox to its events: written to the tape first, then given to the core.

Should the core itself fail, that call ends as `failed` with a notice, and no other call notices. The failure repeats at
the very same input when the tape is heard again, so even then a replay gives the same events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from connectors.base import ConnectorError
from connectors.inputs import CallEnded, CallStarted, Input, Notice
from monitor.core import events
from monitor.core.call import Status
from monitor.core.events import Cause, Event
from monitor.runtime.inbox import Inbox
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
    def status(self) -> Status:
        """Where the call stands."""
        ...


NewTape = Callable[[str], TapeWriter]
"""Makes the tape of the call with this id. Raises ConnectorError where it cannot."""


class Listener:
    """Listens to one call. `ended` once its last event is out; `cause` is then why. `failed`: because of the core."""

    def __init__(self, core: Core, new_tape: NewTape | None = None) -> None:
        self._core = core
        self._new_tape = new_tape
        self._tape: TapeWriter | None = None
        self._call = ""
        self._told = 0
        self._known_at_ms = 0
        self._now_ms = 0
        self.cause: Cause | None = None
        self.ended = False
        self.failed = False

    @property
    def status(self) -> Status:
        """Where the call stands, as the core sees it."""
        return self._core.status

    async def events(self, inbox: Inbox) -> AsyncIterator[Event]:
        """Hear all that comes through `inbox`, to the end of the call."""
        while not self.ended and (batch := await inbox.take()):
            for start in range(0, len(batch), BATCH):
                for event in self.hear(batch[start : start + BATCH]):
                    yield event
                await asyncio.sleep(0)
        for event in self.end(inbox.cause):
            yield event

    def hear(self, batch: list[Input]) -> list[Event]:
        """The events that these inputs give rise to. What comes after the end of the call is ignored."""
        out: list[Event] = []
        if self.ended:
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
        if not self._call and batch and isinstance(batch[0], CallStarted):
            self._call = batch[0].call
            failure = self._start_tape(self._call)
        if self._tape is not None:
            self._tape.write(batch)
            failure = self._tape.failure
        if failure is None:
            return batch
        self._close_tape()
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
