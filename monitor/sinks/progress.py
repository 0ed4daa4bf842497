"""How far a recording has been read, for `--speed max`: how much of it, how many times the speed of the call.

Drawn on standard error, and only on a terminal; where the feed has a status line of its own, give it to `ConsoleSink`
instead.

    progress = Progress(length_ms)
    progress.advance(now_ms)        # as often as you like
    progress.close()
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress

from monitor.sinks.output import Output, TextOutput
from monitor.sinks.screen_line import meter

_EVERY_S = 0.1
_FIRST_S = 0.5
"""What takes no longer than this shows nothing."""
_CELLS = 20
_ERASE = "\r\x1b[2K"


class Progress:
    """`length_ms`: how long the calls are together, or None if that is not known. `stream`: standard error unless told
    otherwise; with `drawn` False nothing is written, and `text` is for others to show. `clock` in seconds."""

    def __init__(
        self,
        length_ms: int | None,
        stream: TextOutput | None = None,
        *,
        drawn: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._length_ms = length_ms
        self._clock = clock
        self._begun = self._last = clock()
        self._now_ms = 0
        self._shown = False
        stream = stream if stream is not None else sys.stderr
        output = Output(stream) if drawn and stream is not None else None
        self._output = output if output is not None and output.terminal else None

    def advance(self, now_ms: int) -> None:
        """The calls have been read up to `now_ms` of media time, all together."""
        self._now_ms = max(self._now_ms, now_ms)
        now = self._clock()
        if self._output is None or now - self._last < _EVERY_S or now - self._begun < _FIRST_S:
            return
        self._last = now
        self._draw(f"{_ERASE}{self.text()}")
        self._shown = True

    def text(self) -> str:
        """`43 % ████████▌             1850× the speed of the call, 1 s left`; empty in the first moments."""
        passed = self._clock() - self._begun
        if passed < _FIRST_S or not self._now_ms:
            return ""
        speed = self._now_ms / 1000 / passed
        pace = f"{speed:,.0f}× the speed of the call" if speed >= 10 else f"{speed:.1f}× the speed of the call"
        if not self._length_ms:
            return f"{self._now_ms / 60000:.1f} min, {pace}"
        share = min(1.0, self._now_ms / self._length_ms)
        left = max(0.0, self._length_ms - self._now_ms) / 1000 / speed
        return f"{share:4.0%} {meter(share, _CELLS)} {pace}, {left:.0f} s left"

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            self._shown = False
            self._draw(_ERASE)

    def _draw(self, text: str) -> None:
        if self._output is not None:
            with suppress(OSError):
                self._output.write(text)
