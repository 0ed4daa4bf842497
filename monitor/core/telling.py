"""Rooms 8 and on, told: turns and what passes between them -> events, figures and the summary of the call."""

from __future__ import annotations

from typing import Any

import msgspec

from connectors import inputs
from monitor.core import events
from monitor.core.clock import Span
from monitor.core.conversation import Conversation
from monitor.core.edges import Edge
from monitor.core.measures.panel import Panel
from monitor.core.measures.turn_taking import turn_taking_summary
from monitor.core.relevancy import Happening
from monitor.core.rules.board import RuleBoard
from monitor.core.rules.moment import Moment, moment_of
from monitor.core.rules.settings import RulesSettings
from monitor.core.sure import SureScore
from monitor.core.timeline import Timeline, Told
from monitor.core.transitions import Passing, Transitions, Withdrawn
from monitor.core.turn_taking import PlainScore, RunningScore, TurnTakingSettings

RECENT_TURNS = 64
"""A transition's turns are looked up among so many; neighbours are never further apart."""


class Teller:
    """Turns one call's happenings into its events, numbered and in order. `taken` hands them over."""

    def __init__(
        self, timeline: Timeline, settings: TurnTakingSettings, rules: RulesSettings, conversation: Conversation
    ) -> None:
        self._timeline = timeline
        self._settings = settings
        self._transitions = Transitions(timeline, settings.count_backchannels)
        self.score = RunningScore()
        self._sure = SureScore()
        self._plain = PlainScore()
        self._panel = Panel(())
        self._rules_settings = rules
        self._rules = RuleBoard(rules, "", (), self._panel)
        self._last: Moment | None = None
        self._conversation = conversation
        self._call = ""
        self._known = 0
        self._seq = 0
        self._turns: dict[int, events.Turn] = {}
        self._counts = {"user": 0, "assistant": 0}
        self.notices: dict[str, int] = {}
        self._out: list[events.Event] = []

    def taken(self) -> list[events.Event]:
        """The events since the last call."""
        out, self._out = self._out, []
        return out

    def started(self, given: inputs.CallStarted, playout: str | None) -> None:
        """The call has begun."""
        self._call = given.call
        tracks = tuple(track for track in inputs.TRACKS if track in given.tracks)
        self._panel = Panel(tracks)
        self._rules = RuleBoard(self._rules_settings, given.call, tracks, self._panel)
        forms = {track: given.tracks.get(track) for track in inputs.TRACKS}
        shown = {t: form and {"encoding": form.encoding, "sample_rate": form.sample_rate} for t, form in forms.items()}
        self._emit(
            events.CallStarted,
            0,
            source=given.source,
            started_at=given.started_at,
            agent_id=given.agent_id,
            labels=dict(given.labels),
            tracks=shown,
            playout=playout,
        )
        self.look()

    def known(self, now: int) -> None:
        """Media time has come to `now`: what is told from here on could not be told before."""
        self._known = max(self._known, now)

    @property
    def wake(self) -> int | None:
        """The next media time at which something may have to be said although nothing comes, or None."""
        soonest = self._timeline.wake
        for wake in (self._conversation.wake, self._rules.wake):
            if wake is not None and (soonest is None or wake < soonest):
                soonest = wake
        return soonest

    def reach(self, now: int, edges: list[tuple[int, Edge]]) -> None:
        """Media time has come to `now`, with these edges, or because of `wake`."""
        if edges or self._timeline.wake == now:
            self.step(now, edges)
        if (wake := self._conversation.wake) is not None and wake <= now:
            self.known(now)
            self.tell(self._conversation.look(now))
        if self._rules.wake == now:
            self.known(now)
        self.look()

    def look(self) -> None:
        """What the rules make of all that has happened by now. Behind the end of the call their time stands still."""
        for kind, at, alert in self._rules.look(self._last or moment_of(self._timeline, self._known)):
            self._emit(kind, at, alert=alert)

    def fleet(self, view: inputs.FleetView) -> None:
        """What is known across calls."""
        self._rules.fleet(view)

    def step(self, now: int, edges: list[tuple[int, Edge]]) -> None:
        """Media time has come to `now`, with these edges (side, edge) known at it."""
        self.known(now)
        told = self._timeline.step(now, edges)
        if told or self._timeline.changed:
            self.say(told)
        for stretch in self._timeline.closed:
            track, span = inputs.TRACKS[stretch.side], Span(stretch.start, stretch.end)
            self._panel.stretch(track, span)
            self._rules.stretch(track, span)

    def say(self, told: list[Told]) -> None:
        """Tell what the timeline says, then what it means for the words, then for the transitions."""
        for what, turn in told:
            if what == "started":
                self._turns[turn.index] = turn
                self._emit(events.TurnStarted, turn.start_ms, turn=turn)
                self._panel.turn_started(turn)
                self._rules.turn_started(turn)
                self.tell(self._conversation.started(turn, self._known))
            elif what == "updated":
                self._emit(events.TurnUpdated, turn.end_ms, turn=turn)
                self._rules.turn_updated(turn)
            else:
                worded, more = self._conversation.ended(turn, self._known)
                self._turn_ended(worded)
                self.tell(more)
        if self._timeline.changed:
            for change in self._transitions.update():
                self._passing(change)

    def _turn_ended(self, turn: events.Turn) -> None:
        self._turns[turn.index] = turn
        while len(self._turns) > RECENT_TURNS:
            del self._turns[next(iter(self._turns))]
        self._emit(events.TurnEnded, turn.end_ms, turn=turn)
        self._plain.ended(turn)
        self._counts[turn.role] += not turn.backchannel
        self._panel.turn_ended(turn)
        self._rules.turn_ended(turn)

    def _passing(self, change: Passing | Withdrawn) -> None:
        if isinstance(change, Withdrawn):
            self.score.withdraw(change.from_turn, change.to_turn)
            self._emit(
                events.TransitionWithdrawn,
                change.at,
                from_turn=change.from_turn,
                to_turn=change.to_turn,
                reason=change.reason,
                turn_taking=self.score.turn_taking,
            )
            return
        before, after = self._turns[change.from_turn], self._turns[change.to_turn]
        found = self.score.set(before.index, after.index, change.kind, change.gap_ms, change.final, to_role=after.role)
        transition = msgspec.structs.replace(found, sure=change.sure)
        self._emit(events.TransitionScored, change.at, transition=transition, turn_taking=self.score.turn_taking)
        if change.final:
            self._sure.add(transition.score, change.sure)
            self._panel.transition(transition, before, after)
            self._rules.transition(transition, before, after)

    def tell(self, happenings: list[Happening]) -> None:
        """What follows from words and verdicts."""
        for kind, at, fields in happenings:
            event = self._emit(kind, at, **fields)
            if isinstance(event, events.RelevancyJudged | events.RelevancyScored):
                self._rules.judged(event)

    def close(self, now: int) -> None:
        """The call is over and every turn has ended: the last that is to be said of its words."""
        self._rules.close()
        self.tell(self._conversation.close(now))
        self._last = moment_of(self._timeline, self._known)
        self.look()
        for kind, count, words in self._conversation.troubles:
            self.notice(kind, None, count, words, now)

    def notice(self, kind: str, track: str | None, count: int, message: str, at: int) -> None:
        """Something about the feed itself."""
        self.notices[kind] = self.notices.get(kind, 0) + count
        self._emit(events.Notice, at, kind=kind, track=track, count=count, message=message)

    def line(self, now: int, changes: list[tuple[inputs.Track, str]]) -> None:
        """What has become known of the tracks' lines."""
        self.known(now)
        for track, words in changes:
            self.notice("line", track, 1, f"the {track}'s line {words}", now)

    def unknown(self, track: inputs.Track, start: int, until: int) -> None:
        """What `track` held in [`start`, `until`) is not known."""
        span = Span(start, until)
        self._timeline.stalled(span)
        self._panel.stalled(track, span)
        self._rules.stalled(track, span)

    def status(self, now: int) -> dict[str, Any]:
        """What a screen shows of it: see `Status`."""
        return {
            "waiting_ms": self._panel.waiting_ms(now),
            "score": self.score.score,
            "transitions": self.score.transitions,
            "alerts": self._rules.open,
        }

    def advance(self, now: int) -> None:
        """Media time has come to `now`."""
        self._panel.advance(now)

    def ended(self, end: int, cause: events.Cause) -> None:
        """The call is over, `end` ms long."""
        self._plain.close()
        for kind, at, alert in self._rules.end(end):
            self._emit(kind, at, alert=alert)
        found = self._panel.summary(end)
        summary: dict[str, Any] = {
            "duration": end / 1000,
            "turns": dict(self._counts),
            "talk": found.pop("talk"),
            "turn_taking": turn_taking_summary(self.score, self._plain, self._settings) | {"sure": self._sure.summary},
            **found,
            "relevancy": self._conversation.summary,
            "transcription": self._conversation.transcription,
            "alerts": self._rules.counts,
            "notices": dict(self.notices),
        }
        self._emit(events.CallEnded, end, cause=cause, summary=summary)

    def _emit(self, event_type: type[events.Event], at: int, **fields: Any) -> events.Event:
        known = self._known
        event = event_type(call=self._call, seq=self._seq, at_ms=min(at, known), known_at_ms=known, **fields)
        self._seq += 1
        self._out.append(event)
        return event
