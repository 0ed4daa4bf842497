"""What the log is told of a file that the disk refuses: when that begins, and when it has been over for a while. A disk
at its limit takes one line and refuses the next, many times a minute: that is one trouble, not many."""

from __future__ import annotations

import time
from collections.abc import Callable
from logging import Logger
from typing import Final

STEADY_S: Final = 5.0
"""It is over once the disk has taken everything for so long."""
REMIND_S: Final = 600.0
"""Trouble that comes again is told again after so long at the earliest."""


class DiskTrouble:
    """One file's. `refused`: the disk did not take what it was given last. `clock`: seconds that never go back."""

    def __init__(self, log: Logger, clock: Callable[[], float] | None = None) -> None:
        self.refused = False
        self._log, self._clock = log, clock or (lambda: time.monotonic())
        self._spell = self._told = False
        self._told_at = float("-inf")
        self._untold = 0
        self._well_since: float | None = None

    @property
    def lasts(self) -> bool:
        """It is not over, or not for long enough."""
        return self._spell

    def fails(self, words: str) -> None:
        """The disk refuses. `words`: what is told of it, if anything is."""
        self.refused, self._well_since = True, None
        now = self._clock()
        if not self._spell:
            self._spell, self._told = True, False
            self._untold += 1
        if not self._told and now - self._told_at >= REMIND_S:
            more = self._untold - 1
            self._log.error("%s%s", words, f" (it was so {more} times more since that was told last)" if more else "")
            self._told, self._told_at, self._untold = True, now, 0

    def works(self, words: Callable[[], str], *, dear: bool = False, last: bool = False) -> bool:
        """The disk takes what it gets; to be said now and then. `words`: what is told once that has been so for a
        while; `dear`: it is told even if the trouble was not. `last`: there is no later. -> the trouble is over."""
        self.refused = False
        if not self._spell:
            return False
        now = self._clock()
        if self._well_since is None:
            self._well_since = now
        if not last and now - self._well_since < STEADY_S:
            return False
        self._spell, self._well_since = False, None
        if self._told or dear:
            self._log.warning("%s", words())
        return True
