"""The one file that knows the order of the rooms: a call's inputs in, its events out.

    monitor = CallMonitor(CoreSettings(), detector)
    for input in tape:
        for event in monitor.feed(input):
            ...

Pure: the same inputs give the same events, whatever the clock on the wall says.
"""

from __future__ import annotations

from connectors import inputs
from monitor.core import events
from monitor.core.call_state import CoreSettings as CoreSettings
from monitor.core.call_state import Status as Status
from monitor.core.clock import FRAME_MS
from monitor.core.closing import Closing
from monitor.core.conversation import Conversation
from monitor.core.delivered import Delivered
from monitor.core.ear import Ear
from monitor.core.feed_health import FeedHealth
from monitor.core.intake import believed
from monitor.core.questions import JudgeRequest
from monitor.core.speech import NewDetector, NewSecond
from monitor.core.telling import Teller
from monitor.core.timeline import Timeline

LOOK_EVERY_MS = 1000


class CallMonitor:
    """Watches one call. `detector` makes what hears a track of the given rate, `second` what is asked beside it."""

    def __init__(self, settings: CoreSettings, detector: NewDetector, second: NewSecond | None = None) -> None:
        self.settings = settings
        self._new_detector, self._new_second = detector, second
        self._timeline = Timeline(settings.timeline, settings.speech)
        self._conversation = Conversation(self._timeline, settings.words, settings.relevancy)
        self._teller = Teller(self._timeline, settings.turn_taking, settings.rules, self._conversation)
        self._health = FeedHealth()
        self.untranscribed = self._conversation.untranscribed
        """The turns that a transcriber is to be asked about, since the last call."""
        self._ear = Ear([], settings.speech, detector)
        self._playout: dict[inputs.Track, Delivered] = {}
        self._started: inputs.CallStarted | None = None
        self._clock = self._next_look = self._hold = 0
        self._closing: Closing | None = None
        self.ended = False

    def feed(self, given: inputs.Input) -> list[events.Event]:
        """The next input of the call. -> what can be said now that could not be said before, in order.

        Inputs before `CallStarted` and after `CallEnded` are ignored, and so is a second `CallStarted`. But where
        answers are still awaited at `CallEnded` (`status.closing`), the call goes on for those (`Verdicts`, `Text` of
        a turn) and notices, until none is awaited, their time is over by `Elapsed`, or `CallEnded` comes again."""
        if type(given) is inputs.Audio and given.track not in self._playout:
            lane = self._ear.lanes.get(given.track)
            if lane is not None and lane.keep(given.at, given.pcm, given.rate):
                return []
        if isinstance(given, inputs.CallStarted):
            if self._started is None:
                self._start(given)
        elif self._started is not None and not self.ended:
            self._take(believed(given, self._heard_ms))
        return self._teller.taken()

    def finish(self, cause: events.Cause = "stopped") -> list[events.Event]:
        """The call ends here, at the latest moment heard, unless it has ended already. No answer is awaited."""
        told: list[events.Event] = []
        while self._started is not None and not self.ended:
            told += self.feed(inputs.CallEnded(at=self._heard_ms, cause=cause))
        return told

    @property
    def _heard_ms(self) -> int:
        """The latest moment that anything has been heard of."""
        return max([self._clock, *(lane.framer.position for lane in self._ear.lanes.values())])

    def questions(self) -> list[JudgeRequest]:
        """What the judge is to be asked, since the last call. Without an answer the core settles it by itself."""
        return self._conversation.questions()

    @property
    def status(self) -> Status:
        """How the call stands at this moment."""
        return Status(
            call=self._started.call if self._started else "",
            now_ms=self._ear.reached * FRAME_MS,
            speaking=tuple(inputs.TRACKS[side.number] for side in self._timeline.sides if side.open is not None),
            ended=self.ended,
            **self._teller.status(self._ear.reached * FRAME_MS),
            **self._conversation.status(self._ear.now),
            closing=self._closing is not None and not self.ended,
        )

    def _start(self, given: inputs.CallStarted) -> None:
        self._started = given
        tracks = [track for track in inputs.TRACKS if track in given.tracks]
        self._ear = Ear(tracks, self.settings.speech, self._new_detector, self._new_second, self._conversation.audio)
        for track in tracks:
            if given.tracks[track].timing == "delivered":
                self._playout[track] = Delivered(given.playout)
        agent = self._playout.get("agent")
        self._conversation.begin(given.call, agent.queue if agent else None)
        self._teller.started(given, given.playout.name if self._playout else None)

    def _take(self, given: inputs.Input | None) -> None:
        if self._closing is not None:
            self.ended = given is not None and self._closing.take(given)
            return
        match given:
            case inputs.Audio():
                self._audio(given)
            case inputs.Elapsed(at=at):
                self._elapsed(at)
            case inputs.CallEnded():
                self._end(given)
            case None:
                self._health.impossible()
            case _:
                self._advance(everything=True)
                self._aside(given)
                self._wait()

    def _aside(self, given: inputs.Input) -> None:
        """Anything but audio and time: what was heard before it is settled first."""
        self._teller.known(self._ear.now)
        match given:
            case inputs.Cut(track=track, at=at, response=response):
                if track in self._playout:
                    self._cut(self._playout[track], at, response)
            case inputs.Stall(track=track, at=at, until=until):
                self._stall(track, at, until)
            case inputs.Text() | inputs.Verdicts():
                self._teller.tell(self._conversation.take(given, self._ear.now))
            case inputs.FleetView():
                self._teller.fleet(given)
            case inputs.Notice():
                self._teller.notice(given.kind, given.track, given.count, given.message, given.at)
        self._teller.look()

    def _audio(self, audio: inputs.Audio) -> None:
        ear, track = self._ear, audio.track
        if track not in ear.lanes or len(audio.pcm) % 2 or not ear.takes(track, audio.rate):
            self._health.bad(track)
            return
        playout = self._playout.get(track)
        if playout is not None:
            playout.queue.deliver(audio.at, audio.pcm, audio.response)
            self._conversation.delivered(track, audio.response, len(audio.pcm))
            return
        lane = ear.lanes[track]
        if self._health.resumed(track, audio.at):  # what the clock was a second behind with is unknown as well
            self._stall(track, lane.framer.position, audio.at)
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
        self._conversation.heard.played(until)
        for track, playout in self._playout.items():
            heard, unknown = playout.play(until, self._ear.lanes[track])
            for piece in heard:
                self._conversation.played(track, piece.response, len(piece.pcm))
            for span in unknown:
                self._teller.unknown(track, *span)

    def _cut(self, playout: Delivered, at: int, response: int | None) -> None:
        silent_from, unheard = playout.cut(at, response)
        if unheard:
            self._timeline.cut(silent_from)
            self._conversation.heard.cut(silent_from, unheard)

    def _stall(self, track: inputs.Track, at: int, until: int) -> None:
        if track in self._playout and until > at:
            self._playout[track].lose(at, until)
        elif track in self._ear.lanes and until > at and (lost := self._ear.lanes[track].lose(at, until)):
            self._teller.unknown(track, *lost)
        self._advance()

    def _advance(self, everything: bool = False) -> None:
        """Once something can follow from it, or for `everything`: release what every track has reached; tell of it."""
        ear, teller, reached = self._ear, self._teller, self._ear.reached
        if everything or (reached >= self._hold and not (ear.may_extend and reached < self._wait())):
            for now, edges in ear.moments():
                while (wake := teller.wake) is not None and wake < now:
                    teller.reach(wake, [])
                if edges or wake == now:
                    teller.reach(now, edges)
                if now in ear.changes:
                    teller.line(now, ear.changes.pop(now))
                if now >= self._next_look:
                    self._look_after(now)
            self._wait()
        for track, start, until in ear.lockstep.bound():
            teller.unknown(track, start, until)
            self._health.overrun(track)
            self._advance()

    def _wait(self) -> int:
        """Let audio wait from which nothing can follow. -> the frame up to which it does."""
        wake = self._teller.wake
        until = self._next_look if wake is None else min(wake, self._next_look)
        self._hold = self._ear.hold(0 if self._health.missing else until)
        return self._hold

    def _look_after(self, now: int) -> None:
        """Once a second of media time: what the measures count by time, and what is to be told of the feed."""
        self._teller.known(now)
        self._next_look = now - now % LOOK_EVERY_MS + LOOK_EVERY_MS
        self._teller.advance(now)
        for track, playout in self._playout.items():
            self._health.not_played(track, playout.queue)
        for trouble in self._health.due(now, self._ear.lanes):
            self._teller.notice(*trouble)

    def _end(self, given: inputs.CallEnded) -> None:
        ear, timeline, teller = self._ear, self._timeline, self._teller
        self._play(given.at)
        end = max(given.at, self._heard_ms)
        for lane in ear.lanes.values():
            lane.framer.finish()
            lane.framer.blank((end + FRAME_MS - 1) // FRAME_MS * FRAME_MS, unknown=False)
        self._advance(everything=True)
        timeline.mark_end()
        teller.step(*ear.finish())
        teller.say(timeline.finish(ear.now))
        if given.message and given.cause not in ("hangup", "end_of_file"):
            teller.notice("closed", None, 1, given.message, given.at)
        for track, playout in self._playout.items():
            self._health.not_played(track, playout.queue)
        for trouble in self._health.rest(ear.now, ear.lanes):
            teller.notice(*trouble)
        self._closing = Closing(teller, self._conversation, ear.now, end, given.cause)
        self.ended = self._closing.over
