"""Events as JSON Lines: UTF-8 bytes, one whole line at a time, written as soon as the event is there."""

from __future__ import annotations

import os
import select
from typing import Protocol

from monitor.core.encode import encode
from monitor.core.events import Event


class RawOutput(Protocol):
    """What has a file descriptor: `sys.stdout.buffer`, an open file."""

    def fileno(self) -> int:
        """The descriptor's number."""
        ...


class JsonLinesSink:
    """Writes to a descriptor that it does not own, past Python's text layer: neither the locale nor a buffer can come
    between an event and its line. May block: give it a thread of its own. Raises BrokenPipeError once nobody reads.
    """

    def __init__(self, output: RawOutput) -> None:
        self._descriptor = output.fileno()

    async def open(self) -> None:
        """Nothing to get ready."""

    async def deliver(self, event: Event) -> None:
        """Write one event's line."""
        line = memoryview(encode(event) + b"\n")
        while line:
            try:
                line = line[os.write(self._descriptor, line) :]
            except BlockingIOError:  # whoever started us left the pipe in non-blocking mode
                select.select([], [self._descriptor], [])

    async def close(self) -> None:
        """Nothing is held back, so nothing is left to write."""
