"""Text to a terminal, a pipe or a file: never an error for a character, and one clear error once nobody reads."""

from __future__ import annotations

import os
import select
from typing import Protocol, TextIO

from monitor.sinks.screen_line import plainer


class TextOutput(Protocol):
    """What is written to: `sys.stdout`, `sys.stderr`, an `io.StringIO`."""

    def write(self, text: str, /) -> int:
        """Take text."""
        ...

    def flush(self) -> None:
        """Hand it on."""
        ...


class Output:
    """Writes past Python's buffer where the stream has a descriptor: once a pipe is closed, nothing is left in the
    buffer for Python to complain about at the end. May block. Raises BrokenPipeError once nobody reads, also where the
    stream has been closed."""

    def __init__(self, stream: TextOutput | TextIO) -> None:
        self._stream = stream
        self._descriptor = _descriptor(stream)
        self.encoding: str = getattr(stream, "encoding", None) or "utf-8"
        self._plainer = plainer(self.encoding)

    @property
    def terminal(self) -> bool:
        """Somebody sits in front of it."""
        try:
            return bool(getattr(self._stream, "isatty", bool)())
        except ValueError:  # closed
            return False

    def open(self) -> None:
        """What others have printed comes before what is written here."""
        try:
            self._stream.flush()
        except ValueError as error:
            raise BrokenPipeError("the output is closed") from error

    def write(self, text: str) -> None:
        """Write at once. A character that the encoding lacks becomes a plainer one or a question mark."""
        data = text.translate(self._plainer).encode(self.encoding, "replace")
        if self._descriptor is not None:
            self._write_bytes(self._descriptor, memoryview(data))
            return
        try:
            self._stream.write(data.decode(self.encoding))
            self._stream.flush()
        except ValueError as error:
            raise BrokenPipeError("the output is closed") from error

    def _write_bytes(self, descriptor: int, data: memoryview) -> None:
        while data:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:  # whoever started us left the pipe in non-blocking mode
                select.select([], [descriptor], [])


def _descriptor(stream: object) -> int | None:
    # Windows consoles take text, not bytes of a code page.
    if os.name == "nt":
        return None
    try:
        return int(stream.fileno())  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return None
