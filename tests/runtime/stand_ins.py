"""Stand-ins for what surrounds the runtime: a core that echoes its inputs, sinks that misbehave."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from connectors.inputs import Audio, CallEnded, CallStarted, Input, Track, TrackFormat
from monitor.core import events
from monitor.core.call import Status
from monitor.core.events import Event

STARTED = CallStarted("call", "test", tracks={"caller": TrackFormat(), "agent": TrackFormat()})


def audio(track: Track, at: int, ms: int = 20) -> Audio:
    """`ms` of faint sound on `track`."""
    return Audio(track, at, b"\x01\x00" * (8 * ms))


class EchoCore:
    """Answers each input with one event; keeps what it heard. Raises at the input number `fails_at`."""

    def __init__(self, settings: Any = None, fails_at: int | None = None) -> None:
        self.heard: list[Input] = []
        self._fails_at = fails_at

    def feed(self, given: Input, /) -> list[Event]:
        if len(self.heard) == self._fails_at:
            raise KeyError("a word of the call")
        seq = len(self.heard)
        self.heard.append(given)
        at = getattr(given, "at", 0)
        if isinstance(given, CallEnded):
            return [events.CallEnded(call="call", seq=seq, at_ms=at, known_at_ms=at, cause=given.cause, summary={})]
        message = type(given).__name__
        return [
            events.Notice(
                call="call", seq=seq, at_ms=at, known_at_ms=at, kind="heard", track=None, count=1, message=message
            )
        ]

    @property
    def status(self) -> Status:
        return Status("call", 0, (), None, None, 0, False)


def notice(seq: int) -> Event:
    """An event that carries its number."""
    return events.Notice(
        call="call", seq=seq, at_ms=seq, known_at_ms=seq, kind="n", track=None, count=1, message=str(seq)
    )


def alert(seq: int) -> Event:
    """An alert that carries its number."""
    told = events.Alert(
        id=f"call/dead_air/{seq}",
        rule="dead_air",
        severity="warning",
        scope="call",
        message=str(seq),
        value=4.1,
        threshold=4.0,
        because=(),
        since_ms=seq,
    )
    return events.AlertRaised(call="call", seq=seq, at_ms=seq, known_at_ms=seq, alert=told)


class Collector:
    """A good sink."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.opened = self.closed = 0

    async def open(self) -> None:
        self.opened += 1

    async def deliver(self, event: Event) -> None:
        self.seen.append(event.seq)

    async def close(self) -> None:
        self.closed += 1


class Broken(Collector):
    """Raises at the event with number `at`."""

    def __init__(self, at: int, error: BaseException) -> None:
        super().__init__()
        self._at, self._error = at, error

    async def deliver(self, event: Event) -> None:
        if event.seq == self._at:
            raise self._error
        await super().deliver(event)


class Held(Collector):
    """Takes nothing before it is released: in its event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.release = asyncio.Event()

    async def deliver(self, event: Event) -> None:
        await self.release.wait()
        await super().deliver(event)


class Blocking(Collector):
    """Blocks its whole thread, as a terminal does that somebody has stopped."""

    async def deliver(self, event: Event) -> None:
        while True:
            time.sleep(3600)
