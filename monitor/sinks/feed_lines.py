"""Events -> the lines of the feed, for people.

| what happens | lines |
|---|---|
| a turn starts or goes on | none: the status line shows who speaks |
| a turn ends | who spoke for how long, and the words |
| the floor passes | at once; again when it is final, if that says something new (how long an overlap was) |
| an overlap that was none | that it is taken back |
| a verdict of relevancy | one; a "no" with its reason and the words |
| an alert is raised, also to a higher severity | what it is, and what to look at; one when it is over |
| a notice, the call's start | one |
| the call's end | its summary |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from monitor.core import events
from monitor.core.fleet.alerts import SOURCE as FLEET
from monitor.sinks.alert_lines import MOST_OPEN, cleared_lines, raised_lines
from monitor.sinks.call_summary import summary_lines
from monitor.sinks.literal import literal
from monitor.sinks.screen_line import Bit, Line, Style
from monitor.sinks.verdict_lines import conversation_lines, verdict_lines

WHO: dict[str, Style] = {"user": "caller", "assistant": "agent"}
_OTHER = {"caller": "agent", "agent": "caller"}
_SAME_GAP_MS = 50
"""A final gap that differs by less from what was told is not told again."""
_WORDS_KEPT = 400
_NOT = {"gap": "no answer", "user_barge_in": "no barge-in", "agent_overlap": "not talking over"}


class _Told(NamedTuple):
    kind: str
    gap_ms: int


class CallView:
    """What the screen remembers of a call that goes on. `number` counts the calls seen; `speaking`: open turns;
    `alerts`: those that are open, by id; `name`: what marks its lines among others."""

    def __init__(self, call: str, number: int) -> None:
        self.call = call
        self.number = number
        self.speaking: dict[int, events.Turn] = {}
        self.name = call
        self.alerts: dict[str, events.Alert] = {}
        self._across = False
        self._told: dict[tuple[int, int], _Told] = {}
        self._roles: dict[int, str] = {}
        self._words: dict[int, str] = {}
        self._taken_back: int | None = None

    def lines(self, event: events.Event) -> list[Line]:
        """The lines that `event` gives rise to; often none."""
        writer = _WRITERS.get(event.type)
        return writer(self, event) if writer else _unknown(event)

    def started(self, event: events.CallStarted) -> list[Line]:
        """`call.started`."""
        if event.source == FLEET:
            # It stands for the alerts across an agent's calls: there is nothing to say before the first of them.
            self._across, self.name = True, f"fleet {event.agent_id}"
            return []
        about = [event.source, *([f"agent {event.agent_id}"] if event.agent_id else [])]
        about += [f"{key}={value}" for key, value in list(event.labels.items())[:8]]
        for track in ("caller", "agent"):
            form: Any = event.tracks.get(track)
            about.append(f"{track} {_format(form)}" if form else f"no {track}")
        bits = (
            Bit(literal(self.call, 60), "strong"),
            *(b for a in about for b in (Bit(" · ", "dim"), Bit(literal(a, 60)))),
        )
        return [Line(event.at_ms, "call", "call", bits)]

    def turn_started(self, event: events.TurnStarted) -> list[Line]:
        """`turn.started`."""
        turn = event.turn
        self.speaking[turn.index] = turn
        self._roles[turn.index] = turn.role
        _drop_oldest(self._roles)
        _drop_oldest(self.speaking)
        return []

    def turn_ended(self, event: events.TurnEnded) -> list[Line]:
        """`turn.ended`."""
        turn = event.turn
        self.speaking.pop(turn.index, None)
        self._remember(turn.index, turn.text)
        bits = [Bit(f"{(turn.duration_ms or 0) / 1000:.1f} s")]
        if turn.backchannel:
            told = next((told for key, told in self._told.items() if key[1] == turn.index), None)
            self._taken_back = turn.index if told else None
            bits.append(Bit(f" backchannel{f', {_NOT[told.kind]}' if told else ''}", "dim"))
        else:
            # A turn that was cut off was interrupted as well: once is enough.
            ends = {"interruption": "cut off", "stall": "audio stalled", "call_end": "until the call ended"}
            if end := ends.get(turn.ended_by or "") or ("interrupted" if turn.interrupted else ""):
                bits.append(Bit(f", {end}", "fair"))
        sign = "small" if turn.backchannel else "turn"
        return [Line(event.at_ms, WHO[turn.role], sign, tuple(bits), bar_ms=turn.duration_ms, words=turn.text)]

    def turn_text(self, event: events.TurnText) -> list[Line]:
        """`turn.text`: words that came after the turn had ended."""
        self._remember(event.turn.index, event.text)
        said: dict[str, str] = {"transcript": "said", "response": "was to say", "correction": "was heard to say"}
        bits = (Bit(said.get(event.reason, event.reason), "dim"),)
        return [Line(event.at_ms, WHO[event.turn.role], "", bits, words=event.text)]

    def scored(self, event: events.TransitionScored) -> list[Line]:
        """`transition.scored`."""
        transition = event.transition
        key = (transition.from_turn, transition.to_turn)
        before = self._told.pop(key, None)
        if not transition.final:
            self._told[key] = _Told(transition.kind, transition.gap_ms)
            _drop_oldest(self._told)
        if before is not None and before.kind == transition.kind:
            news = transition.kind != "gap" or abs(before.gap_ms - transition.gap_ms) >= _SAME_GAP_MS
            if not (news and transition.final):
                return []
        role = self._roles.get(transition.to_turn)
        who: Style = WHO[role] if role else "caller" if transition.kind == "user_barge_in" else "agent"
        sign, text = _passing(transition, who)
        style: Style = "" if transition.kind == "gap" else "fair"
        if transition.kind != "gap" and not transition.final:
            return [Line(event.at_ms, who, sign, (Bit(text, style),))]  # how it scores only its length will say
        bits = (Bit(text, style),)
        return [Line(event.at_ms, who, sign, bits, score=transition.score, running=event.turn_taking.score)]

    def withdrawn(self, event: events.TransitionWithdrawn) -> list[Line]:
        """`transition.withdrawn`."""
        told = self._told.pop((event.from_turn, event.to_turn), None)
        if self._taken_back == event.to_turn:
            return []  # the line of the backchannel itself has said so
        name = _NOT[told.kind] if told else "no change of speaker"
        why = "only a backchannel" if event.reason == "backchannel" else literal(event.reason, 80)
        role = self._roles.get(event.to_turn)
        bits = (Bit(f"{name}: {why}", "dim"),)
        return [Line(event.at_ms, WHO[role] if role else "", "small", bits)]

    def judged(self, event: events.RelevancyJudged) -> list[Line]:
        """`relevancy.judged`."""
        return verdict_lines(event, self._words.get(event.turn.index))

    def conversation(self, event: events.RelevancyScored) -> list[Line]:
        """`relevancy.scored`."""
        return conversation_lines(event)

    def raised(self, event: events.AlertRaised) -> list[Line]:
        """`alert.raised`."""
        before = self.alerts.get(event.alert.id)
        self.alerts[event.alert.id] = event.alert
        _drop_oldest(self.alerts, MOST_OPEN)
        return raised_lines(event.at_ms, event.alert, before)

    def cleared(self, event: events.AlertCleared) -> list[Line]:
        """`alert.cleared`."""
        self.alerts.pop(event.alert.id, None)
        return cleared_lines(event.at_ms, event.alert)

    def notice(self, event: events.Notice) -> list[Line]:
        """`notice`."""
        many = f" ({event.count}×)" if event.count > 1 else ""
        bits = (Bit(f"{literal(event.kind, 40)}{many}: {literal(event.message)}", "notice"),)
        who: Style = "caller" if event.track == "caller" else "agent" if event.track == "agent" else ""
        return [Line(event.at_ms, who, "notice", bits)]

    def ended(self, event: events.CallEnded) -> list[Line]:
        """`call.ended`."""
        if self._across:
            return []
        bits = (Bit(literal(self.call, 60), "strong"), Bit(f" ended: {event.cause.replace('_', ' ')}"))
        return [Line(event.at_ms, "call", "end", bits), *summary_lines(event.summary)]

    def _remember(self, index: int, words: str | None) -> None:
        if words:
            self._words[index] = words[:_WORDS_KEPT]
            _drop_oldest(self._words)


def _drop_oldest(remembered: dict[Any, Any], most: int = 64) -> None:
    """Neighbouring turns are all that matters: an unending call must not be remembered whole."""
    while len(remembered) > most:
        del remembered[next(iter(remembered))]


def _passing(transition: events.Transition, who: str) -> tuple[str, str]:
    gap = abs(transition.gap_ms) / 1000
    other = _OTHER.get(who, "other")
    if transition.kind == "gap":
        return "gap", f"{'answers' if who == 'agent' else 'speaks'} {gap:.2f} s after the {other}"
    if transition.kind == "user_barge_in":
        return "barge_in", f"barged in: both spoke for {gap:.2f} s" if transition.final else "barges in on the agent"
    return "overlap", f"talked over the caller for {gap:.2f} s" if transition.final else "talks over the caller"


def _format(form: Any) -> str:
    """`{"encoding", "sample_rate"}` in words."""
    encoding = form.get("encoding") or "audio"
    rate = form.get("sample_rate")
    return f"{encoding} {rate / 1000:g} kHz" if rate else str(encoding)


def _unknown(event: events.Event) -> list[Line]:
    """An event of a kind that has no line of its own yet is named, not swallowed."""
    if isinstance(event, events.TurnUpdated):
        return []
    message = getattr(event, "message", None) or getattr(event, "reason", None) or ""
    return [Line(event.at_ms, "", "small", (Bit(f"{event.type} {literal(str(message))}".rstrip()),))]


_WRITERS: dict[str, Callable[[CallView, Any], list[Line]]] = {
    "call.started": CallView.started,
    "turn.started": CallView.turn_started,
    "turn.ended": CallView.turn_ended,
    "turn.text": CallView.turn_text,
    "transition.scored": CallView.scored,
    "transition.withdrawn": CallView.withdrawn,
    "relevancy.judged": CallView.judged,
    "relevancy.scored": CallView.conversation,
    "alert.raised": CallView.raised,
    "alert.cleared": CallView.cleared,
    "notice": CallView.notice,
    "call.ended": CallView.ended,
}
