"""Rooms 2 to 5 joined: audio of both tracks -> edges of speech, moment by moment.

The detector hears each track by itself, before the tracks are brought into step: what waits for the other track is then
a byte and a number a frame, not audio that still has to be judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectors.inputs import Track
from monitor.core.clock import FRAME_MS
from monitor.core.framing import Framer
from monitor.core.lockstep import Lane, Lockstep
from monitor.core.segments import Edge, Segmenter
from monitor.core.speech import ECHO_FRAMES, VOICED, EchoGate, NewDetector, SpeechSettings, TrackFrames
from monitor.core.tones import ToneFrame, tone_frame

MAX_RELEASE = 500
"""Frames released in one go."""

Moment = tuple[int, list[tuple[int, Edge]]]
"""A media time, and the edges known at it as (side, edge); the caller's come first."""


class Ear:
    """Hears the tracks of one call. `tracks`: the ones that exist, the caller first; a side is 0 for the caller, 1 for
    the agent."""

    def __init__(self, tracks: list[Track], settings: SpeechSettings, detector: NewDetector) -> None:
        self._settings = settings
        self._new_detector = detector
        self._sides = {track: 0 if track == "caller" else 1 for track in tracks}
        self.lanes: dict[Track, Lane] = {}
        self._segmenters: dict[Track, Segmenter] = {}
        for track in tracks:
            self._lay(track, 8000)
        self.lockstep = Lockstep(self.lanes, settings.stall_after_ms)
        self._gate = EchoGate(settings.echo_gate_db, settings.floor_dbfs, 8000)
        self.frame = 0
        """The first frame that has not been released."""

    @property
    def now(self) -> int:
        """Media time: everything before it has been released."""
        return self.frame * FRAME_MS

    def _lay(self, track: Track, rate: int) -> None:
        frames = TrackFrames(rate, self._settings, self._new_detector(rate))
        self.lanes[track] = Lane(Framer(rate), frames)

        def look(k: int, energy: int) -> ToneFrame:
            return tone_frame(frames.audio(k - 1), frames.audio(k), energy)

        self._segmenters[track] = Segmenter(self._settings, look)

    def takes(self, track: Track, rate: int) -> bool:
        """Is audio of this rate in order for the track? Its first piece settles the rate."""
        framer = self.lanes[track].framer
        if framer.rate == rate:
            return True
        if framer.position or rate not in (8000, 16000):
            return False
        self._lay(track, rate)
        return True

    @property
    def reached(self) -> int:
        """The first frame that some track has not brought yet."""
        return min((lane.framer.next for lane in self.lanes.values()), default=0)

    def hold(self, until: int, settled: bool) -> int:
        """Let audio wait from which nothing can follow. `until`: the media time (ms) at which something may have to be
        said anyway; `settled`: only where a stretch opens or closes can anything follow, not from a pause in one.
        -> the frame up to which tracks may wait."""
        frame = until // FRAME_MS
        for track, lane in self.lanes.items():
            lane.hear()
            frames, segmenter = lane.frames, self._segmenters[track]
            if segmenter.idle and VOICED not in frames.kinds:
                soonest = frames.horizon + (segmenter.soonest if settled else 2)
            elif settled:
                soonest = self.frame + segmenter.soonest
            else:
                soonest = self.frame + 1 + segmenter.going_on
            frame = min(frame, soonest)
        for lane in self.lanes.values():
            lane.hold = frame
        return frame

    def moments(self) -> Iterator[Moment]:
        """Release what every track has reached: the moments at which edges became known, in order, and after each
        stretch of frames the moment at its end."""
        for lane in self.lanes.values():
            lane.hear()
        lanes = [(self._sides[track], lane.frames, self._segmenters[track]) for track, lane in self.lanes.items()]
        while count := min([len(frames.kinds) for _, frames, _ in lanes], default=0):
            count = min(count, MAX_RELEASE)
            known: dict[int, list[tuple[int, Edge]]] = {}
            speech = [self._speech(side, frames, count) for side, frames, _ in lanes]
            for (side, frames, segmenter), kinds in zip(lanes, speech, strict=True):
                if segmenter.idle and VOICED not in kinds:
                    continue
                for edge in segmenter.feed(self.frame, kinds, frames.energy, ECHO_FRAMES):
                    known.setdefault(edge.known, []).append((side, edge))
            for _, frames, _ in lanes:
                frames.drop(count)
            self.frame += count
            for moment in sorted(known):
                yield moment, known[moment]
            if self.now not in known:
                yield self.now, []

    def _speech(self, side: int, frames: TrackFrames, count: int) -> bytes:
        other = self.lanes.get("caller" if side else "agent")
        return self._gate.speech(frames, other.frames if other else None, count)

    def finish(self) -> Moment:
        """The last edges, when everything has been released."""
        edges = []
        for track, segmenter in self._segmenters.items():
            edges += [(self._sides[track], edge) for edge in segmenter.finish(self.now)]
        return self.now, edges
