"""Looking up a name may block for half a minute where the network is gone, and nothing can break it off. Python waits
at its end for the threads in which asyncio does that; these ones it does not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST: Final = 8
"""So many may hang at once; more are refused, which counts as a failed try."""


class LooseThreads(ThreadPoolExecutor):
    """Does each piece of work in a thread that holds up nobody."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)  # none of its own threads is ever started
        self._free = threading.Semaphore(MOST)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Raises OSError where too many hang."""
        if not self._free.acquire(blocking=False):
            raise OSError("too many lookups of names hang")
        future: Future[T] = Future()

        def run() -> None:
            try:
                if future.set_running_or_notify_cancel():
                    future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)
            finally:
                self._free.release()

        threading.Thread(target=run, name="lookup", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for nothing."""
