"""Rooms 2 to 5 joined: audio of both tracks -> edges of speech, moment by moment.

The detector hears each track by itself, before the tracks are brought into step: what waits for the other track is then
a byte and a number a frame, not audio that still has to be judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectors.inputs import Track
from monitor.core.belief import Belief
from monitor.core.clock import FRAME_MS
from monitor.core.echo_gate import EchoGate
from monitor.core.edges import CLOSE, OPEN, Edge
from monitor.core.framing import Framer
from monitor.core.lockstep import Lane, Lockstep
from monitor.core.segments import Segmenter
from monitor.core.speech import DOUBTED, ECHO_FRAMES, VOICED, NewDetector, NewSecond, SpeechSettings
from monitor.core.sure import ASKED, ENDED, PLAIN, surety
from monitor.core.tones import ToneFrame, tone_frames
from monitor.core.track_frames import TrackFrames
from monitor.core.turn_audio import TurnAudio

MAX_RELEASE = 500
"""Frames released in one go."""

PATIENCE = 4
"""Where a second detector is asked, so many frames wait for each other at least: many tracks are judged together. An
event may come so much audio after it was known."""

BEFORE_MS = 200
"""An end is told no further than this behind the last voice (`tail_max_ms`): what was believed by then counts."""

Moment = tuple[int, list[tuple[int, Edge]]]
"""A media time, and the edges known at it as (side, edge); the caller's come first."""


def has_voice(kinds: bytes | bytearray) -> bool:
    """Is there a frame that may belong to a stretch of speech?"""
    return VOICED in kinds or DOUBTED in kinds


def sure_edge(edge: Edge, belief: Belief) -> Edge:
    """The edge with how sure it is, where it opens or closes a stretch."""
    if edge.kind not in (OPEN, CLOSE):
        return edge
    begun, known = belief.state_at((edge.at - BEFORE_MS) // FRAME_MS), belief.state_at(edge.known // FRAME_MS)
    if begun == PLAIN:
        begun = ENDED if known == ASKED and edge.doubted else known
    return edge._replace(sure=surety(begun, edge.noise_db))


class Ear:
    """Hears the tracks of one call. `tracks`: the ones that exist, the caller first; a side is 0 for the caller, 1 for
    the agent. `second`: makes what is asked where `detector` cannot be believed. `kept`: keeps the sound of turns,
    where there is a transcriber."""

    def __init__(
        self,
        tracks: list[Track],
        settings: SpeechSettings,
        detector: NewDetector,
        second: NewSecond | None = None,
        kept: TurnAudio | None = None,
    ) -> None:
        self._settings = settings
        self._kept = kept
        self._new_detector = detector
        self._new_second = second
        self._sides = {track: 0 if track == "caller" else 1 for track in tracks}
        self.lanes: dict[Track, Lane] = {}
        self._segmenters: dict[Track, Segmenter] = {}
        self._rows: list[tuple[int, Lane, Segmenter]] = []
        for track in tracks:
            self._lay(track, 8000)
        self.lockstep = Lockstep(self.lanes, settings.stall_after_ms)
        self._gate = EchoGate(settings.echo_gate_db, settings.floor_dbfs, 8000)
        self.frame = 0
        """The first frame that has not been released."""
        self.changes: dict[int, list[tuple[Track, str]]] = {}
        """What became known of a track's line, in words, by the moment at which it did; taken by whoever tells it."""
        self.may_extend = False
        """The hold ends where a quiet track has not been listened to: it may be longer when it has been."""

    @property
    def now(self) -> int:
        """Media time: everything before it has been released."""
        return self.frame * FRAME_MS

    def _lay(self, track: Track, rate: int) -> None:
        frames = TrackFrames(rate, self._settings, self._new_detector(rate), self._new_second)

        def look(first: int, energies: list[int]) -> list[ToneFrame]:
            return tone_frames([frames.audio(k) for k in range(first - 1, first + len(energies))], energies)

        self._segmenters[track] = Segmenter(self._settings, look)
        kept = None if self._kept is None else self._kept.lay(track, rate)
        self.lanes[track] = Lane(Framer(rate), frames, kept)
        if len(self.lanes) == 2:
            caller, agent = self.lanes.values()
            caller.other, agent.other = agent, caller
        self._rows = [(self._sides[track], lane, self._segmenters[track]) for track, lane in self.lanes.items()]

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
        return min([lane.framer.next for _, lane, _ in self._rows], default=0)

    def hold(self, until: int) -> int:
        """Let audio wait from which nothing can follow: nothing does before a stretch opens or closes, or the media
        time comes to `until` (ms). -> the frame up to which tracks may wait."""
        frame, self.may_extend = until // FRAME_MS, False
        for _, lane, segmenter in self._rows:
            listened = self.frame
            if idle := segmenter.idle:
                lane.hear()
                if not has_voice(lane.frames.kinds):
                    listened = lane.frames.horizon
            if listened + segmenter.soonest < frame:
                frame, self.may_extend = listened + segmenter.soonest, idle
            soonest = lane.frames.belief.log.soonest
            if soonest is not None and soonest < frame:
                frame, self.may_extend = max(soonest, self.frame + 1), False
        if any(lane.frames.belief.second is not None for _, lane, _ in self._rows):
            frame = max(frame, self.frame + PATIENCE)
        for lane in self.lanes.values():
            lane.hold = frame
        return frame

    def moments(self) -> Iterator[Moment]:
        """Release what every track has reached: the moments at which edges became known, in order, and after each
        stretch of frames the moment at its end."""
        rows = self._rows
        for _, lane, _ in rows:
            lane.hear()
        while count := min([len(lane.frames.kinds) for _, lane, _ in rows], default=0):
            count = min(count, MAX_RELEASE)
            known: dict[int, list[tuple[int, Edge]]] = {}
            for track, lane in self.lanes.items():
                for frame, _, words in lane.frames.belief.log.due(self.frame + count):
                    known.setdefault(frame * FRAME_MS, [])
                    self.changes.setdefault(frame * FRAME_MS, []).append((track, words))
            for side, lane, segmenter in rows:
                frames = lane.frames
                if segmenter.idle and not has_voice(frames.kinds[:count]):
                    continue
                kinds = self._gate.speech(frames, lane.other.frames if lane.other else None, count)
                for edge in segmenter.feed(self.frame, kinds, frames.energy, ECHO_FRAMES):
                    known.setdefault(edge.known, []).append((side, sure_edge(edge, frames.belief)))
            for _, lane, segmenter in rows:
                lane.frames.drop(count, segmenter.looks_back_to)
            self.frame += count
            for moment in sorted(known):
                yield moment, known[moment]
            if self.now not in known:
                yield self.now, []

    def finish(self) -> Moment:
        """The last edges, when everything has been released."""
        return self.now, [
            (side, sure_edge(edge, lane.frames.belief))
            for side, lane, segmenter in self._rows
            for edge in segmenter.finish(self.now)
        ]
