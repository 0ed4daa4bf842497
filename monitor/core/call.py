"""The one file that knows the order of the rooms: a call's inputs in, its events out.

    monitor = CallMonitor(CoreSettings(), detector)
    for input in tape:
        for event in monitor.feed(input):
            ...

Pure: the same inputs give the same events, whatever the clock on the wall says.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from connectors import inputs
from monitor.core import events
from monitor.core.clock import FRAME_MS
from monitor.core.ear import Ear
from monitor.core.feed_health import FeedHealth
from monitor.core.playout import Playout
from monitor.core.speech import NewDetector, SpeechSettings
from monitor.core.telling import Teller
from monitor.core.timeline import Timeline, TimelineSettings
from monitor.core.turn_taking import TurnTakingSettings

LOOK_EVERY_MS = 1000


class CoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the core judges by; it stands on every tape."""

    speech: SpeechSettings = SpeechSettings()
    timeline: TimelineSettings = TimelineSettings()
    turn_taking: TurnTakingSettings = TurnTakingSettings()


class Status(NamedTuple):
    """How a call stands at this moment, for screens. `waiting_ms`: how long the caller has been waiting for an
    answer."""

    call: str
    now_ms: int
    speaking: tuple[str, ...]
    waiting_ms: int | None
    score: float | None
    transitions: int
    ended: bool


class CallMonitor:
    """Watches one call. `detector` makes a voice-activity detector for a track of the given rate."""

    def __init__(self, settings: CoreSettings, detector: NewDetector) -> None:
        self.settings = settings
        self._new_detector = detector
        self._timeline = Timeline(settings.timeline, settings.speech)
        self._teller = Teller(self._timeline, settings.turn_taking)
        self._health = FeedHealth()
        self._ear = Ear([], settings.speech, detector)
        self._playout: dict[inputs.Track, Playout] = {}
        self._started: inputs.CallStarted | None = None
        self._clock = 0
        self._next_look = 0
        self._hold = 0
        self.ended = False

    def feed(self, given: inputs.Input) -> list[events.Event]:
        """The next input of the call. -> what can be said now that could not be said before, in order.

        Inputs before `CallStarted` and after `CallEnded` are ignored, and so is a second `CallStarted`."""
        if type(given) is inputs.Audio:
            lane = self._ear.lanes.get(given.track)
            if lane is not None and lane.keep(given.at, given.pcm, given.rate):
                return []
        if isinstance(given, inputs.CallStarted):
            if self._started is None:
                self._start(given)
        elif self._started is not None and not self.ended:
            self._take(given)
        return self._teller.taken()

    def finish(self, cause: events.Cause = "stopped") -> list[events.Event]:
        """The call ends here, at the latest moment heard, unless it has ended already."""
        if self._started is None or self.ended:
            return []
        heard = max([self._clock, *(lane.framer.position for lane in self._ear.lanes.values())])
        return self.feed(inputs.CallEnded(at=heard, cause=cause))

    @property
    def status(self) -> Status:
        """How the call stands at this moment."""
        score = self._teller.score
        return Status(
            call=self._started.call if self._started else "",
            now_ms=self._ear.reached * FRAME_MS,
            speaking=tuple(inputs.TRACKS[side.number] for side in self._timeline.sides if side.open is not None),
            waiting_ms=self._teller.waiting_ms(self._ear.reached * FRAME_MS),
            score=score.score,
            transitions=score.transitions,
            ended=self.ended,
        )

    def _start(self, given: inputs.CallStarted) -> None:
        self._started = given
        tracks = [track for track in inputs.TRACKS if track in given.tracks]
        self._ear = Ear(tracks, self.settings.speech, self._new_detector)
        for track in tracks:
            if given.tracks[track].timing == "delivered":
                self._playout[track] = Playout(given.playout, 8000)
        self._teller.started(given, given.playout.name if self._playout else None)

    def _take(self, given: inputs.Input) -> None:
        match given:
            case inputs.Audio():
                self._audio(given)
            case inputs.Elapsed(at=at):
                self._elapsed(at)
            case inputs.CallEnded():
                self._end(given)
            case _:
                self._advance(everything=True)
                self._aside(given)

    def _aside(self, given: inputs.Input) -> None:
        """Anything but audio and time: what was heard before it is settled first."""
        self._teller.known(self._ear.now)
        match given:
            case inputs.Cut(track=track, at=at, response=response):
                if track in self._playout:
                    self._cut(self._playout[track], at, response)
            case inputs.Stall(track=track, at=at, until=until):
                self._stall(track, at, until)
            case inputs.Text():
                self._teller.words(given, self._playout.get(given.track))
            case inputs.Notice():
                self._teller.notice(given.kind, given.track, given.count, given.message, given.at)

    def _audio(self, audio: inputs.Audio) -> None:
        ear, track = self._ear, audio.track
        if track not in ear.lanes or len(audio.pcm) % 2 or not ear.takes(track, audio.rate):
            self._health.bad(track)
            return
        playout = self._playout.get(track)
        if playout is not None:
            playout.deliver(audio.at, audio.pcm, audio.response)
            return
        lane = ear.lanes[track]
        if self._health.missing:
            self._health.resumed(track, audio.at)
        lane.audio(audio.at, audio.pcm)
        self._advance()

    def _elapsed(self, at: int) -> None:
        if at <= self._clock:
            return
        self._clock = at
        self._play(at)
        for track, start, until in self._ear.lockstep.watch(at):
            self._teller.unknown(track, start, until)
            self._health.stalled(track, start, until)
        self._advance(everything=bool(self._health.missing))

    def _play(self, until: int) -> None:
        """Let the delivered tracks play up to `until`; between two responses they are silent."""
        for track, playout in self._playout.items():
            lane = self._ear.lanes[track]
            for heard in playout.release(until):
                lane.audio(heard.at_ms, heard.pcm)
            lane.framer.blank(until, unknown=False)

    def _cut(self, playout: Playout, at: int, response: int | None) -> None:
        unheard = playout.unheard_ms
        silent_from = playout.cut(at, response)
        if playout.unheard_ms > unheard:
            self._timeline.cut(silent_from)

    def _stall(self, track: inputs.Track, at: int, until: int) -> None:
        lane = self._ear.lanes.get(track)
        if lane is None or track in self._playout or until <= at:
            return
        lane.framer.blank(at, unknown=False)
        start = lane.framer.position
        if until > start:
            lane.framer.blank(until, unknown=True)
            self._teller.unknown(track, start, until)
        self._advance()

    def _advance(self, everything: bool = False) -> None:
        """Once something can follow from it, or `everything` is wanted: release what every track has reached, and say
        what follows."""
        ear, timeline, teller = self._ear, self._timeline, self._teller
        if everything or (ear.reached >= self._hold and ear.reached >= self._wait()):
            agent = self._playout.get("agent")
            for now, edges in ear.moments():
                while (wake := timeline.wake) is not None and wake < now:
                    teller.step(wake, [], agent)
                if edges or timeline.wake == now:
                    teller.step(now, edges, agent)
                if now >= self._next_look:
                    self._look_after(now)
            self._wait()
        for track, start, until in ear.lockstep.bound():
            teller.unknown(track, start, until)
            self._health.overrun(track)
            self._advance()

    def _wait(self) -> int:
        """Let audio wait from which nothing can follow. -> the frame up to which it does."""
        wake = self._timeline.wake
        until = self._next_look if wake is None else min(wake, self._next_look)
        self._hold = self._ear.hold(0 if self._health.missing else until, self._timeline.settled)
        return self._hold

    def _look_after(self, now: int) -> None:
        """Once a second of media time: what the measures count by time, and what is to be told of the feed."""
        self._teller.known(now)
        self._next_look = now - now % LOOK_EVERY_MS + LOOK_EVERY_MS
        self._teller.advance(now)
        for track, playout in self._playout.items():
            self._health.not_played(track, playout.late_dropped, playout.overflow_ms)
        for trouble in self._health.due(now, self._ear.lanes):
            self._teller.notice(*trouble)

    def _end(self, given: inputs.CallEnded) -> None:
        ear, timeline, teller = self._ear, self._timeline, self._teller
        self._play(given.at)
        for lane in ear.lanes.values():
            lane.framer.finish()
        end = max([given.at, *(lane.framer.position for lane in ear.lanes.values())])
        for lane in ear.lanes.values():
            lane.framer.blank((end + FRAME_MS - 1) // FRAME_MS * FRAME_MS, unknown=False)
        self._advance(everything=True)
        agent = self._playout.get("agent")
        timeline.mark_end()
        teller.step(*ear.finish(), agent)
        teller.say(timeline.finish(ear.now), agent)
        if given.message:
            teller.notice("closed", None, 1, given.message, given.at)
        for track, playout in self._playout.items():
            self._health.not_played(track, playout.late_dropped, playout.overflow_ms)
        for trouble in self._health.rest(ear.now, ear.lanes):
            teller.notice(*trouble)
        self.ended = True
        teller.ended(given.at or end, given.cause)
