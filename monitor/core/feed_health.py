"""What goes wrong with the feed itself, gathered until it is told: a notice for each thing, not for each piece of
audio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from connectors.inputs import Track
from monitor.core.lockstep import Lane
from monitor.core.playout import Playout

FAR = 1 << 60
"""For a moment that is only known to be past: the event's own time bounds it."""

TELL_EVERY_MS = 5000
"""A kind of damage is told at once, and then at most this often, with how many there were."""


class Trouble(NamedTuple):
    """A notice to be told: its kind, the track or None, how many, in words, and when it was true (ms)."""

    kind: str
    track: str | None
    many: int
    message: str
    at: int


class FeedHealth:
    """Counts damage of one call's feed and says when it is due."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """How many of each kind of notice were told."""
        self._bad: dict[Track, int] = {}
        self._overruns: dict[Track, int] = {}
        self._impossible = 0
        self.missing: dict[str, tuple[int, int]] = {}
        """The outages that go on: track -> (from, until) in ms."""
        self._not_played: dict[Track, tuple[int, int]] = {}  # what was told of each: pieces, ms
        self._ready: list[Trouble] = []
        self._last: dict[tuple[str, str], int] = {}

    def counted(self, kind: str, count: int) -> None:
        """A notice of this kind has been told."""
        self.counts[kind] = self.counts.get(kind, 0) + count

    def bad(self, track: Track) -> None:
        """Audio that cannot be used: of a track that this call does not have, of another rate, or half a sample."""
        self._bad[track] = self._bad.get(track, 0) + 1

    def impossible(self) -> None:
        """An input whose time cannot be."""
        self._impossible += 1

    def overrun(self, track: Track) -> None:
        """The other track ran too far ahead of this one."""
        self._overruns[track] = self._overruns.get(track, 0) + 1

    def stalled(self, track: str, start: int, until: int) -> None:
        """Nothing came of this track from `start` to `until`; an outage that went on to `start` goes on."""
        before = self.missing.get(track)
        if before is None:
            message = f"no {track} audio has been coming since {start / 1000:.3f} s: what is missing counts as unknown"
            self._ready.append(Trouble("gap", track, 1, message, start))
            self.missing[track] = (start, until)
        else:
            self.missing[track] = (before[0], until)

    def resumed(self, track: str, at: int) -> bool:
        """Audio of this track has come, for the time from `at` on. -> whether it was missing before."""
        if not self.missing:
            return False
        missing = self.missing.pop(track, None)
        if missing is not None:
            start, until = missing[0], max(missing[1], at)
            message = (
                f"{track} audio is back; it was missing for {(until - start) / 1000:.3f} s from {start / 1000:.3f} s"
            )
            self._ready.append(Trouble("feed_back", track, 1, message, until))
        return missing is not None

    def not_played(self, track: Track, queue: Playout) -> None:
        """How many pieces the client has dropped so far since they came after a cut, and how much was delivered further
        ahead than is believed."""
        late, overflow_ms = queue.late_dropped, queue.overflow_ms
        told_late, told_overflow = self._not_played.get(track, (0, 0))
        self._not_played[track] = (late, overflow_ms)
        if late > told_late:
            n = late - told_late
            message = f"{n} pieces of {track} audio came after they had been cut off: the caller does not hear them"
            self._ready.append(Trouble("late_audio", track, n, message, FAR))
        if overflow_ms > told_overflow:
            ms = overflow_ms - told_overflow
            message = f"{ms} ms of {track} audio were delivered more than ten minutes ahead and are not followed"
            self._ready.append(Trouble("overload", track, ms, message, FAR))

    def due(self, now: int, lanes: Mapping[Track, Lane], every: int = TELL_EVERY_MS) -> list[Trouble]:
        """What is to be told at media time `now`."""
        out, self._ready = self._ready, []
        for track, lane in lanes.items():
            framer = lane.framer
            if framer.late_ms and self._may("late_audio", track, now, every):
                ms, framer.late_ms = framer.late_ms, 0
                out.append(
                    Trouble("late_audio", track, ms, f"{ms} ms of {track} audio came too late and were dropped", now)
                )
            if framer.jumps and self._may("bad_payload", track, now, every):
                n, framer.jumps = framer.jumps, 0
                out.append(Trouble("bad_payload", track, n, f"{n} pieces of {track} audio had an impossible time", now))
        for track in list(self._bad):
            if self._may("bad_payload", track + "!", now, every):
                n = self._bad.pop(track)
                message = f"{n} pieces of {track} audio could not be used: wrong track, rate or length"
                out.append(Trouble("bad_payload", track, n, message, now))
        if self._impossible and self._may("bad_payload", "", now, every):
            n, self._impossible = self._impossible, 0
            message = f"{n} inputs had an impossible time, more than ten minutes ahead of the call"
            out.append(Trouble("bad_payload", None, n, message, now))
        for track in list(self._overruns):
            if self._may("overload", track, now, every):
                n = self._overruns.pop(track)
                message = f"{track} audio is ten minutes behind the other track: what is missing counts as unknown"
                out.append(Trouble("overload", track, n, message, now))
        return out

    def rest(self, now: int, lanes: Mapping[Track, Lane]) -> list[Trouble]:
        """Everything that was not told yet, at the end of the call."""
        return self.due(now, lanes, every=0)

    def _may(self, kind: str, track: str, now: int, every: int) -> bool:
        last = self._last.get((kind, track))
        if last is not None and now - last < every:
            return False
        self._last[kind, track] = now
        return True
