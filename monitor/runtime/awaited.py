"""How many answers each call still awaits, and the one task that gives up on what is due: for whoever asks the world
outside on behalf of many calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time for deadlines and pauses: never for anything that stands in an event."""

    def now(self) -> float:
        """Seconds; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait so long."""
        ...


class LoopClock:
    """The clock of the running event loop."""

    def now(self) -> float:
        """Seconds; never goes back."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait so long."""
        await asyncio.sleep(seconds)


class Awaited:
    """Counts what is open, by call. `oldest` gives what is due first, as (number, deadline on the clock in seconds), or
    None while nothing is open; `give_up` settles the one of that number."""

    def __init__(
        self,
        clock: Clock,
        oldest: Callable[[], tuple[int, float] | None],
        give_up: Callable[[int], None],
        name: str,
    ) -> None:
        self._clock, self._oldest, self._give_up, self._name = clock, oldest, give_up, name
        self._open_of: Counter[str | None] = Counter()  # None: of all calls
        self._none_left: dict[str | None, asyncio.Event] = {}
        self._expiry: asyncio.Task[None] | None = None

    def add(self, call: str) -> None:
        """One more answer is awaited for `call`."""
        self._open_of.update((call, None))

    def done(self, call: str) -> None:
        """One of them has come, or is given up."""
        for one in (call, None):
            self._open_of[one] -= 1
            if not self._open_of[one]:
                del self._open_of[one]
                if event := self._none_left.pop(one, None):
                    event.set()

    def of(self, call: str) -> int:
        """How many `call` awaits."""
        return self._open_of[call]

    async def answered(self, call: str | None = None) -> None:
        """Wait until nothing is awaited for `call` (None: for any call)."""
        while self._open_of[call]:
            await self._none_left.setdefault(call, asyncio.Event()).wait()

    def watch(self) -> None:
        """See to it that what is due is given up, for as long as anything is open."""
        if self._expiry is None or self._expiry.done():
            self._expiry = asyncio.create_task(self._expire(), name=f"{self._name} deadlines")

    async def answered_within(self, seconds: float) -> None:
        """Wait until nothing is awaited any more, so long at most."""
        if seconds > 0 and self._open_of[None]:
            waiting = asyncio.ensure_future(self.answered())
            await asyncio.wait([waiting], timeout=seconds)
            waiting.cancel()

    async def leave(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """Watch no more, and wait a moment for `tasks`, which have been cancelled."""
        leaving = list(tasks)
        if self._expiry is not None:
            self._expiry.cancel()
            leaving.append(self._expiry)
        if leaving:
            await asyncio.wait(leaving, timeout=1.0)

    async def _expire(self) -> None:
        while (first := self._oldest()) is not None:
            number, deadline = first
            left = deadline - self._clock.now()
            if left > 0:
                await self._clock.sleep(left)
            else:
                self._give_up(number)
