"""The live feed: on a terminal lines in colours over a status line that redraws, elsewhere plain lines.

    console = ConsoleSink(status=lambda: [call.status for call in calls])
    delivery.add("console", console, own_thread=True)

Writing may block (a paused terminal, a slow pager), so the sink wants a thread of its own. Once whoever read has gone,
`deliver` raises BrokenPipeError; the sink is over then, and nobody else is.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from monitor.core.events import AlertRaised, CallEnded, Event
from monitor.sinks.drawing import Drawing, Tag, plain, tag_of
from monitor.sinks.feed_lines import CallView
from monitor.sinks.literal import literal
from monitor.sinks.output import Output, TextOutput
from monitor.sinks.screen_line import Bit, Line
from monitor.sinks.status_line import Standing, status_bits

if TYPE_CHECKING:
    from rich.console import Console

_REFRESH_S = 0.2
_ERASE = "\r\x1b[2K"
_BELL = "\a"
_MOST_CALLS = 5000
"""Calls remembered. The end of a call may never come where the screen was too slow."""


class Advancing(Protocol):
    """What knows how far a recording has been read; see `monitor.sinks.progress`."""

    def text(self) -> str:
        """In a few words; empty if there is nothing to say."""
        ...


class ConsoleSink:
    """The feed of all calls. `stream`: standard output unless told otherwise. `status`: how the calls that go on stand,
    asked five times a second on a terminal; without it there is no status line. `many`: mark each line with its call
    from the beginning (else from the second call on). `progress` is shown in the status line. `opening`: a line before
    everything else. `bell`: a terminal rings with each alert that is raised.
    """

    def __init__(
        self,
        stream: TextOutput | None = None,
        status: Callable[[], Sequence[Standing]] | None = None,
        *,
        many: bool = False,
        progress: Advancing | None = None,
        opening: str | None = None,
        bell: bool = False,
    ) -> None:
        self._stream = stream if stream is not None else sys.stdout
        self._output = Output(self._stream)
        self._status = status
        self._progress = progress
        self._many = many
        self._opening = opening
        self._bell = bell
        self._views: dict[str, CallView] = {}
        self._seen = 0
        self._drawing: Drawing | None = None
        self._bottom = ""
        self._refreshing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Find out what the terminal can do, and begin to refresh the status line."""
        self._output.open()
        if self._output.terminal:
            self._drawing = _drawing(self._stream)
        if self._opening:
            opening = literal(self._opening)
            self._output.write(f"{opening if self._drawing is None else self._drawing.paint(opening, 'dim')}\n")
        if self._drawing is not None and (self._status or self._progress):
            self._refreshing = asyncio.create_task(self._refresh(), name="status line")

    async def deliver(self, event: Event) -> None:
        """Show one event, if it makes a line."""
        view = self._views.get(event.call)
        if view is None:
            view = self._views[event.call] = CallView(event.call, self._seen)
            self._seen += 1
            if len(self._views) > _MOST_CALLS:
                del self._views[next(iter(self._views))]
            self._many = self._many or self._seen > 1
        lines = view.lines(event)
        if isinstance(event, CallEnded):
            del self._views[event.call]
        if not lines:
            return
        tag = tag_of(view.name, view.number) if self._many else None
        rings = self._bell and isinstance(event, AlertRaised) and self._output.terminal
        bell = _BELL if rings else ""
        if self._drawing is None:
            self._output.write(bell + "".join(f"{plain(line, tag)}\n" for line in lines))
        else:
            self._above_status(self._drawing, lines, tag, bell)

    async def close(self) -> None:
        """Take the status line away. What was shown stays."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await self._refreshing
        if self._bottom:
            self._bottom = ""
            with suppress(OSError):
                self._output.write(_ERASE)

    def _above_status(self, drawing: Drawing, lines: list[Line], tag: Tag | None, bell: str) -> None:
        """In one write, so that nothing flickers."""
        text = bell + "".join(f"{drawing.line(line, tag)}\n" for line in lines)
        if self._bottom:
            text = f"{_ERASE}{text}{self._bottom}"
        self._output.write(text)

    async def _refresh(self) -> None:
        assert self._drawing is not None
        while True:
            bottom = self._drawing.status(self._status_bits())
            if bottom != self._bottom:
                self._bottom = bottom
                try:
                    self._output.write(f"{_ERASE}{bottom}")
                except OSError:  # the next line says so to whoever delivers
                    return
            await asyncio.sleep(_REFRESH_S)

    def _status_bits(self) -> list[Bit]:
        bits: list[Bit] = []
        # The calls live in another thread: a list that changes while it is read is read again next time.
        with suppress(RuntimeError):
            bits = status_bits(self._status() if self._status else [], self._views)
        text = self._progress.text() if self._progress else ""
        return [*bits, Bit(f"  {text}" if bits else f" {text}", "dim")] if text else bits


def _drawing(stream: TextOutput) -> Drawing | None:
    """What can be drawn on this terminal; None if it takes plain lines only."""
    from rich.console import Console

    console: Console = Console(file=stream)  # type: ignore[arg-type]
    return None if console.is_dumb_terminal or console.legacy_windows else Drawing(console)
