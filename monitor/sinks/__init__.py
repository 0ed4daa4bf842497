"""Where events go. To add a sink: one file with a class like this, and the option that makes one in `monitor.commands`.

    class Counter:
        async def open(self) -> None:
            self.count = 0

        async def deliver(self, event: Event) -> None:
            self.count += 1

        async def close(self) -> None:
            print(self.count)

A sink gets the events of all calls, each call's in order, one at a time: `deliver` is never entered twice at once. What
it raises ends that sink alone. `close` is called once, also after a failure, and also if `open` failed.
"""

from __future__ import annotations

from typing import Protocol

from monitor.core.events import Event


class Sink(Protocol):
    """Takes events. It stands behind a bounded queue of its own, so it may be slow; it must not block the event loop,
    unless it is given a thread of its own."""

    async def open(self) -> None:
        """Get ready: connect, open files."""
        ...

    async def deliver(self, event: Event) -> None:
        """Take one event."""
        ...

    async def close(self) -> None:
        """Write what is left, and let go of everything."""
        ...
