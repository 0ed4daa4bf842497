"""What comes out: the events of a call, in order. Names and meanings are the product's output contract.

Inside the program a time is a whole number of milliseconds of media time (`..._ms`). Each event and each of its parts
also has the contract's own names in seconds (`at`, `known_at`, `start_time`, `duration`, `gap_seconds`), and
`monitor.core.encode` writes those.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from monitor.core.clock import seconds

Role = Literal["user", "assistant"]
"""Who speaks a turn, in the words of chat APIs: the track `caller` speaks `user` turns, `agent` `assistant` turns."""

ROLE_OF_TRACK: dict[str, Role] = {"caller": "user", "agent": "assistant"}

EndedBy = Literal["silence", "interruption", "stall", "call_end"]
TransitionKind = Literal["gap", "user_barge_in", "agent_overlap"]
Cause = Literal["hangup", "disconnected", "end_of_file", "stopped", "failed"]
TextReason = Literal["transcript", "response", "correction"]
Verdict = Literal["yes", "no", "unscored"]
Severity = Literal["info", "warning", "critical"]
Scope = Literal["call", "fleet"]


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of talk by one party, as far as it is known.

    `index` counts the call's turns from 0 in order of start. `start_ms` is the first voiced frame. `duration_ms` runs
    to the last voiced frame (None in `turn.started`). The other fields are set when it has ended. `after_stall`: what
    lies between the previous turn and this one is unknown for a second or more: no transition is scored there.
    `sure`: of turns heard like this one, the share that a labeller has too (`monitor.core.sure`).
    """

    index: int
    role: Role
    start_ms: int
    duration_ms: int | None = None
    ended_by: EndedBy | None = None
    backchannel: bool = False
    interrupted: bool = False
    text: str | None = None
    after_stall: bool = False
    sure: float | None = None

    @property
    def start_time(self) -> float:
        """Seconds from the start of the call."""
        return seconds(self.start_ms)

    @property
    def duration(self) -> float | None:
        """Seconds, or None while it is not told."""
        return None if self.duration_ms is None else seconds(self.duration_ms)

    @property
    def end_ms(self) -> int:
        """The last voiced frame's end in ms; the start where no duration is told."""
        return self.start_ms + (self.duration_ms or 0)


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """The passing of the floor between two neighbouring turns of different roles. `gap_ms` is negative in an overlap;
    `sure`: as the less sure of the two turns by then."""

    from_turn: int
    to_turn: int
    kind: TransitionKind
    gap_ms: int
    score: float
    final: bool
    sure: float | None = None

    @property
    def gap_seconds(self) -> float:
        """The gap in seconds; negative in an overlap."""
        return seconds(self.gap_ms)


class TurnTaking(msgspec.Struct, frozen=True):
    """The running score over `transitions` transitions, provisional ones included; None while there is none."""

    score: float | None
    transitions: int


class Relevancy(msgspec.Struct, frozen=True):
    """The running score of turn relevancy, relevant ÷ judged; None while nothing is judged. `assistant_turns`: all of
    the call so far, without backchannels. `relevant` is None where a judge of whole conversations gives the score."""

    score: float | None
    relevant: int | None
    judged: int
    unscored: int
    assistant_turns: int


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """Something that somebody should look at. `id` is `<call>/<rule>/<n>`, for ever the same. `value` is what was
    measured, `threshold` what it is held against, in the rule's own unit. `because`: indexes of the turns that it rests
    on. `since_ms`: when it became true; `until_ms`: when it was over, None while it is not. `suppressed`: how often the
    rule would have been raised anew while it was cooling down before."""

    id: str
    rule: str
    severity: Severity
    scope: Scope
    message: str
    value: float | None
    threshold: float | None
    because: tuple[int, ...]
    since_ms: int
    until_ms: int | None = None
    suppressed: int = 0


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope. `at_ms`: when the thing was true; `known_at_ms`: the first media time at which it could be said.
    (`call`, `seq`) identifies an event for ever."""

    type: ClassVar[str] = ""

    call: str
    seq: int
    at_ms: int
    known_at_ms: int

    @property
    def at(self) -> float:
        """When the thing was true, in seconds of the call."""
        return seconds(self.at_ms)

    @property
    def known_at(self) -> float:
        """The first media time, in seconds, at which it could be said."""
        return seconds(self.known_at_ms)

    def as_dict(self) -> dict[str, Any]:
        """The event as the contract's JSON object (times in seconds)."""
        from monitor.core.encode import event_to_dict

        return event_to_dict(self)


class CallStarted(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "call.started"
    source: str
    started_at: str | None
    agent_id: str | None
    labels: dict[str, str]
    tracks: dict[str, Any]
    playout: str | None = None


class TurnStarted(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "turn.started"
    turn: Turn


class TurnUpdated(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "turn.updated"
    turn: Turn


class TurnEnded(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "turn.ended"
    turn: Turn


class TurnText(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "turn.text"
    turn: Turn
    text: str
    reason: TextReason


class TransitionScored(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "transition.scored"
    transition: Transition
    turn_taking: TurnTaking


class TransitionWithdrawn(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "transition.withdrawn"
    from_turn: int
    to_turn: int
    reason: str
    turn_taking: TurnTaking


class RelevancyJudged(Event, frozen=True, kw_only=True):
    """An assistant turn has its verdict. `window`: the indexes of the turns that the judge was shown, the judged one
    the last. `batch`: the number of the request, from 0; one that is sent again, whole or in part, keeps its number
    (`requests` in the summary counts what was sent). `batch`, `judge`: None where nobody was asked."""

    type: ClassVar[str] = "relevancy.judged"
    turn: Turn
    verdict: Verdict
    reason: str | None
    window: tuple[int, ...]
    batch: int | None
    judge: str | None
    relevancy: Relevancy


class RelevancyScored(Event, frozen=True, kw_only=True):
    """A judge of whole conversations has given its score, or (`score` None) has not. `turns`: the assistant turns that
    it was asked for anew."""

    type: ClassVar[str] = "relevancy.scored"
    turns: tuple[int, ...]
    score: float | None
    confidence: float | None
    reason: str | None
    batch: int
    judge: str | None
    relevancy: Relevancy


class AlertRaised(Event, frozen=True, kw_only=True):
    """An alert is open. A rise of its severity is told by this event again, under the same id."""

    type: ClassVar[str] = "alert.raised"
    alert: Alert


class AlertCleared(Event, frozen=True, kw_only=True):
    """The alert is over; it is repeated as it was last raised, with its end."""

    type: ClassVar[str] = "alert.cleared"
    alert: Alert


class Notice(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "notice"
    kind: str
    track: str | None
    count: int
    message: str


class CallEnded(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "call.ended"
    cause: Cause
    summary: dict[str, Any]
