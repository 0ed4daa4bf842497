"""The last events in memory, for programs that ask and for tests."""

from __future__ import annotations

from collections import deque

from monitor.core.events import Event


class MemorySink:
    """Keeps the last `limit` events in `events`, oldest first."""

    def __init__(self, limit: int = 10_000) -> None:
        self.events: deque[Event] = deque(maxlen=limit)

    async def open(self) -> None:
        """Nothing to get ready."""

    async def deliver(self, event: Event) -> None:
        """Keep one event; the oldest goes once there are too many."""
        self.events.append(event)

    async def close(self) -> None:
        """Nothing to let go of: what came stays readable."""
