"""When an assistant turn can be judged: it has ended, its words are known, and so are the caller's before it.

Words are waited for, but not for ever: a turn whose caller's words do not come is due all the same after `wait_ms`, and
one that the provider cut is due after `CORRECTION_MS` without a correction. A turn that never gets words is never due.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, NamedTuple

from monitor.core.relevancy_windows import interactions
from monitor.core.transcript import Entry, Transcript

CORRECTION_MS: Final = 1500
"""So long after the end of a cut answer is told, what was heard of it is waited for."""


Skipped = Literal["no_words", "interaction", "too_many"]
"""Why an assistant turn is not asked about: its words are not known; it is not the one by which its interaction is
judged, or part of none; or more turns waited for their words than are remembered."""


class Ready(NamedTuple):
    """A turn that can be judged, since this media time (ms)."""

    since: int
    entry: Entry


def judged_turns(transcript: Transcript) -> list[Entry]:
    """The turns that count for a judge, in order: those that have ended, without backchannels, and without assistant
    turns that have no words (the words of an answer may all stand at its first turn)."""
    return [
        entry
        for entry in transcript
        if entry.told_ms is not None and not entry.turn.backchannel and (entry.turn.role == "user" or entry.worded)
    ]


class Due:
    """The assistant turns that wait to be asked about. `wake`: the next media time at which one may become due."""

    def __init__(self, transcript: Transcript, wait_ms: int, by_interaction: bool) -> None:
        self._transcript = transcript
        self._wait_ms = wait_ms
        self._by_interaction = by_interaction
        self._open: dict[int, Entry] = {}
        self._since: dict[int, int] = {}
        self._skipped: Counter[Skipped] = Counter()
        self.wake: int | None = None

    @property
    def skipped(self) -> dict[Skipped, int]:
        """How many turns are not asked about, and why, if nothing more comes."""
        left = Counter[Skipped]("interaction" if entry.worded else "no_words" for entry in self._open.values())
        return {why: count for why, count in (self._skipped + left).items() if count}

    def add(self, entry: Entry) -> None:
        """An assistant turn has ended."""
        self._open[entry.turn.index] = entry
        if len(self._open) > self._transcript.keep:
            self._skip(next(iter(self._open)), "too_many")

    def remove(self, index: int) -> None:
        """The turn does not wait any more."""
        self._open.pop(index, None)
        self._since.pop(index, None)

    def _skip(self, index: int, why: Skipped) -> None:
        if index in self._open:
            self._skipped[why] += 1
        self.remove(index)

    def ready(self, now: int, everything: bool) -> list[Ready]:
        """The turns that can be judged at `now`, the one that has waited longest first. `everything`: nothing more is
        going to be known."""
        wakes = []
        closed = self._interactions_over(everything) if self._by_interaction else self._open.keys()
        for index, entry in self._open.items():
            if index in self._since or index not in closed or not entry.worded:
                continue
            ready_at = self._ready_at(entry)
            if everything or ready_at <= now:
                self._since[index] = now
            else:
                wakes.append(ready_at)
        self.wake = min(wakes, default=None)
        ready = (Ready(since, self._open[index]) for index, since in self._since.items())
        return sorted(ready, key=lambda one: (one.since, one.entry.turn.index))

    def _ready_at(self, entry: Entry) -> int:
        turn, ended = entry.turn, entry.told_ms or 0
        ready_at = ended
        if turn.ended_by == "interruption" and all(piece.reason == "response" for piece in entry.pieces):
            ready_at = ended + CORRECTION_MS
        before = next((e for e in self._transcript.newest("user") if e.turn.index < turn.index and _counts(e)), None)
        if before is not None and not before.worded and not before.transcribed:
            ready_at = max(ready_at, ended + self._wait_ms)
        return ready_at

    def _interactions_over(self, everything: bool) -> set[int]:
        """The turn that each interaction which is over is judged by. The others in it are not judged."""
        turns = judged_turns(self._transcript)
        while self._transcript.forgotten and turns and turns[0].turn.role == "assistant":
            del turns[0]
        judged = set()
        for unit in interactions([entry.turn.role for entry in turns]):
            *others, last = (turns[place] for place in unit)
            if not everything and last is turns[-1]:
                continue
            if not any(entry.asked for entry in others):
                judged.add(last.turn.index)
            for entry in others:
                self._skip(entry.turn.index, "interaction")
        return judged


def _counts(entry: Entry) -> bool:
    return not (entry.told_ms is not None and entry.turn.backchannel)
