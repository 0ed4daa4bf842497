"""Room 4: releases a frame when every track has reached it, or is known to be stalled.

The echo gate, and who holds the floor, can only be said of a moment that both tracks have reached. A track that stops
coming would hold the other up for ever: when the connector's clock is a second ahead of it, its missing frames count as
unknown. Whoever feeds a track far ahead of the other (a file read one channel at a time) is bounded by the same means.
"""

from __future__ import annotations

from connectors.inputs import Track
from monitor.core.clock import FRAME_MS, Span
from monitor.core.framing import Framer
from monitor.core.track_frames import TrackFrames
from monitor.core.turn_audio import TrackAudio

MAX_LEAD_FRAMES = 10 * 60 * 1000 // FRAME_MS
"""How far one track may run ahead of the other before the other counts as stalled."""

MAX_UNHEARD_FRAMES = 50
"""How much audio may wait for the detector while nothing can follow from it."""


class Lane:
    """One track on its way through the first rooms: its framer and its waiting frames. `kept`: where its sound is kept
    for a transcriber, if there is one.

    `hold`: the frame up to which nothing follows from what the tracks bring, whatever it is: their audio may wait.
    `other`: the lane of the other track, if there is one. `offered`: the frame up to which the second detector has been
    given the audio, or will have been by then.
    """

    __slots__ = ("framer", "frames", "hold", "kept", "offered", "other")

    def __init__(self, framer: Framer, frames: TrackFrames, kept: TrackAudio | None = None) -> None:
        self.framer = framer
        self.frames = frames
        self.kept = kept
        self.hold = 0
        self.offered = 0
        self.other: Lane | None = None

    def keep(self, at: int, pcm: bytes, rate: int) -> bool:
        """The short way for a live packet: one frame, in order, from which nothing can follow yet. -> whether it is
        one and has been taken; if not, nothing has been done."""
        framer, hold = self.framer, self.hold
        if framer.next + 1 >= hold:
            other = self.other
            if other is None or other.framer.next >= hold or framer.next >= hold + MAX_UNHEARD_FRAMES:
                return False
        if rate != framer.rate or not framer.follows(at, pcm):
            return False
        second = self.frames.belief.second
        if second is not None and self.offered == framer.next - 1:
            second.offer(pcm)
            self.offered = framer.next
        return True

    def audio(self, at: int, pcm: bytes) -> None:
        """A piece of the track: s16le samples from `at` ms on."""
        framer = self.framer
        if not framer.follows(at, pcm):
            framer.audio(at, pcm)
        if framer.next - self.frames.horizon > MAX_UNHEARD_FRAMES:
            self.hear()

    def lose(self, at: int, until: int) -> Span | None:
        """What the track held from `at` to `until` is unknown. -> the part of that which is still to come."""
        self.framer.blank(at, unknown=False)
        start = self.framer.position
        if until <= start:
            return None
        self.framer.blank(until, unknown=True)
        return Span(start, until)

    def hear(self) -> None:
        """Let the detector hear every frame that has been completed."""
        if self.framer.next > self.frames.horizon:
            self.offered = self.framer.next
            for block in self.framer.take():
                self.frames.hear(block)
                if self.kept is not None:
                    self.kept.hear(block, self.frames.base)


class Lockstep:
    """Declares tracks stalled, so that the other one is not held up."""

    def __init__(self, lanes: dict[Track, Lane], stall_after_ms: int) -> None:
        self._lanes = lanes
        self._stall_after = stall_after_ms

    def watch(self, clock_ms: int) -> list[tuple[Track, int, int]]:
        """The connector's clock says `clock_ms`: tracks that are a second behind it are unknown up to a second behind
        it. -> the stretches declared so: (track, from ms, until ms)."""
        return self._declare((clock_ms - self._stall_after) // FRAME_MS * FRAME_MS)

    def bound(self) -> list[tuple[Track, int, int]]:
        """Holds the lead of one track over the other under its limit. -> what was declared unknown."""
        reached = [lane.framer.next for lane in self._lanes.values()]
        if not reached or max(reached) - min(reached) <= MAX_LEAD_FRAMES:
            return []
        return self._declare((max(reached) - MAX_LEAD_FRAMES) * FRAME_MS)

    def _declare(self, until: int) -> list[tuple[Track, int, int]]:
        declared = []
        for track, lane in self._lanes.items():
            start = lane.framer.position
            if start < until:
                lane.framer.blank(until, unknown=True)
                declared.append((track, start, until))
        return declared
