"""Ctrl-C and SIGTERM: the first one ends everything in order, the second one at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

HANG_UP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
"""A terminal that goes away ends the program in order, too."""


class Stop:
    """The wish to stop. `code`: the exit code that goes with it, None as long as nobody wants to."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._wanted = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    def when_wanted(self, callback: Callable[[], None]) -> None:
        """Call `callback` at the first signal; at once if it has come already."""
        if self.code is None:
            self._callbacks.append(callback)
        else:
            callback()

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._wanted.wait()

    def want(self, number: int) -> None:
        """A signal has come."""
        if self.code is not None:
            os._exit(128 + number)  # the second one: whatever hangs, hang it
        self.code = 128 + number
        self._wanted.set()
        for callback in self._callbacks:
            callback()


def run(main: Callable[[Stop], Coroutine[Any, Any, int]], *, fast: bool = False) -> int:
    """Run `main` in a new event loop, listening to both signals. -> what it returns. `fast`: on uvloop where it is."""
    with asyncio.Runner(loop_factory=_fast_loop() if fast else None) as runner:
        return runner.run(_listening(main))


async def _listening(main: Callable[[Stop], Coroutine[Any, Any, int]]) -> int:
    stop = Stop()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, *HANG_UP):
        try:
            loop.add_signal_handler(number, stop.want, number)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda got, _: loop.call_soon_threadsafe(stop.want, got))
    return await main(stop)


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
