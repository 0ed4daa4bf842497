"""What is told of a line: its kind, once it has been the same for three seconds, and what follows from it."""

from __future__ import annotations

from math import log10
from typing import NamedTuple

from monitor.core.line.steps import energy_of
from monitor.core.line.track import Line

STABLE_FRAMES = 150

QUIET, STEADY, COMFORT, UNSTEADY, MUSIC = "quiet", "steady noise", "comfort noise", "unsteady noise", "music"

DOUBTED_KINDS = (UNSTEADY, MUSIC)

WORDS = {
    QUIET: "is quiet between words",
    STEADY: "has a steady noise of {level} dBFS",
    COMFORT: "has a noise of {level} dBFS that is switched on between words",
    UNSTEADY: "is never quiet and its noise is not steady, as in a crowd or traffic",
    MUSIC: "carries a sound without pauses, as of hold music",
}
ASKED = ": Silero is asked as well"
UNASKED = ": WebRTC alone cannot be believed on it, and its turns are less sure; with turnwatch[silero] Silero is asked"

COMFORT_SHARE, COMFORT_LEAST = 0.05, 0.02
"""Noise that leaves so much of the time under the floor is switched on and off; once told, less will do."""

CROWD_SHARE = 0.1
"""A line that is under the floor for more of the time is not noisy: what never pauses on it now is music."""


def kind_of(line: Line, told: str = QUIET) -> str:
    """What sort of line it is by now, after it was `told` to be of another."""
    if line.doubtful:
        if line.unquiet and line.quiet_share < CROWD_SHARE:
            return UNSTEADY
        if line.undipped or told == MUSIC:
            return MUSIC
    if not line.noise.steady:
        return QUIET
    return COMFORT if line.quiet_share > (COMFORT_LEAST if told == COMFORT else COMFORT_SHARE) else STEADY


class Change(NamedTuple):
    """At `frame` the line was found to be of this kind. `words`: what it does."""

    frame: int
    kind: str
    words: str


class LineLog:
    """Keeps the changes of one line's kind until they are told. `asked`: is there a second detector?"""

    def __init__(self, full: float, *, asked: bool) -> None:
        self._full = full
        self._asked = asked
        self._seen, self._since = QUIET, 0
        self._told = QUIET
        self._changes: list[Change] = []

    def note(self, frame: int, line: Line) -> None:
        """The line has been looked at, before this frame."""
        kind = kind_of(line, self._told)
        if kind != self._seen:
            self._seen, self._since = kind, frame
        elif kind != self._told and frame - self._since >= STABLE_FRAMES:
            self._told = kind
            level = round(10 * log10(energy_of(line.noise.level) / self._full)) if line.noise.level else 0
            words = WORDS[kind].format(level=level)
            if kind in DOUBTED_KINDS:
                words += ASKED if self._asked else UNASKED
            self._changes.append(Change(frame, kind, words))

    @property
    def soonest(self) -> int | None:
        """The frame at which something may have to be told, if the line goes on as it is; a change of it takes longer
        than audio ever waits."""
        if self._changes:
            return self._changes[0].frame
        return None if self._seen == self._told else self._since + STABLE_FRAMES

    def due(self, frame: int) -> list[Change]:
        """The changes up to this frame that have not been taken yet."""
        due = [change for change in self._changes if change.frame <= frame]
        if due:
            self._changes = self._changes[len(due) :]
        return due
