"""The events of one call -> what its spans say.

A turn's span is held back for a while after the turn has ended, since what is said of it comes later: the passing of
the floor, the words, the verdict. The call's own span comes last, when the call is over.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from monitor.core import events
from monitor.core.encode import clean_text
from monitor.core.events import Turn

HOLD_MS: Final = 40_000
"""A turn's span waits for so much media time: a verdict takes up to 15 s until it is asked for, and 20 s from then."""

MOST_HELD: Final = 256
MOST_ALERTS: Final = 100
MOST_LABELS: Final = 32
LONGEST: Final = 4000

Value = str | bool | int | float | tuple[int, ...]
Attributes = dict[str, Value]


class SpanEvent(NamedTuple):
    """Something that happened within a span, at `at_ns` of Unix time."""

    name: str
    at_ns: int
    attributes: Attributes


class SpanFacts(NamedTuple):
    """What a span is to say. Times are Unix time in ns. `parent_id`: None for the first of its trace. The ids are the
    same whenever the same call is told again."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    start_ns: int
    end_ns: int
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    failed: str | None = None


def identity(bits: int, *parts: object) -> int:
    """A number of so many bits, never 0, made of `parts`."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[: bits // 8]) or 1


class CallTrace:
    """A call that goes on. `begun_ns`: the Unix time of its media time 0. `include_text`: words are exported."""

    def __init__(self, call: str, begun_ns: int, started: events.CallStarted | None, include_text: bool) -> None:
        self.call, self.agent = call, started.agent_id if started else None
        self.begun_ns, self.include_text = begun_ns, include_text
        begun = started.started_at if started else None
        self._trace_id = identity(128, call, begun or begun_ns)
        self._span_id = identity(64, call, begun or begun_ns, "call")
        self._about: Attributes = {"turnwatch.call": _text(call)}
        if started is not None:
            labels = list(started.labels.items())[:MOST_LABELS]
            self._about |= {f"turnwatch.label.{_text(key)}": _text(value) for key, value in labels}
            self._about["turnwatch.source"] = _text(started.source)
        if self.agent:
            self._about["turnwatch.agent_id"] = _text(self.agent)
        self._held: dict[int, tuple[int, Turn]] = {}  # by index: known at, ms
        self._said: dict[int, Attributes] = {}  # of turns that may not have ended yet
        self._alerts: deque[SpanEvent] = deque(maxlen=MOST_ALERTS)

    def take(self, event: events.Event) -> Iterator[SpanFacts]:
        """The spans that are done with this event."""
        match event:
            case events.TurnEnded(turn=turn):
                self._held[turn.index] = (event.known_at_ms, turn)
                if turn.text:
                    self._word(turn.index, turn.text)
            case events.TurnText():
                self._word(event.turn.index, event.text)
            case events.TransitionScored(transition=passed) if passed.final:
                self._say(
                    passed.to_turn,
                    {
                        "turnwatch.transition.from_turn": passed.from_turn,
                        "turnwatch.transition.kind": passed.kind,
                        "turnwatch.transition.gap_seconds": passed.gap_seconds,
                        "turnwatch.transition.score": passed.score,
                    },
                )
            case events.RelevancyJudged():
                self._say(event.turn.index, {"turnwatch.relevancy.verdict": event.verdict})
                if self.include_text and event.reason:
                    self._say(event.turn.index, {"turnwatch.relevancy.reason": _text(event.reason)})
            case events.AlertRaised() | events.AlertCleared():
                self._alerts.append(SpanEvent(event.type, self._ns(event.at_ms), alert_attributes(event.alert)))
            case events.CallEnded():
                yield from self.rest()
                yield self._whole(event)
                return
        yield from self._due(event.known_at_ms)

    def rest(self) -> Iterator[SpanFacts]:
        """The turns that are still held back."""
        for index in list(self._held):
            yield self._turn(index)

    def _due(self, now_ms: int) -> Iterator[SpanFacts]:
        while self._held:
            index = next(iter(self._held))
            if now_ms - self._held[index][0] < HOLD_MS and len(self._held) <= MOST_HELD:
                return
            yield self._turn(index)

    def _turn(self, index: int) -> SpanFacts:
        _, turn = self._held.pop(index)
        about: Attributes = {
            "turnwatch.call": self._about["turnwatch.call"],
            "turnwatch.turn.index": turn.index,
            "turnwatch.turn.role": turn.role,
            "turnwatch.turn.duration_seconds": turn.duration or 0.0,
            "turnwatch.turn.backchannel": turn.backchannel,
            "turnwatch.turn.interrupted": turn.interrupted,
            "turnwatch.turn.ended_by": turn.ended_by or "",
            **self._said.pop(index, {}),
        }
        if self.agent:
            about["turnwatch.agent_id"] = self._about["turnwatch.agent_id"]
        start, end = self._ns(turn.start_ms), self._ns(turn.end_ms)
        own = identity(64, self._span_id, index)
        return SpanFacts(f"{turn.role} turn", self._trace_id, own, self._span_id, start, end, about)

    def _whole(self, ended: events.CallEnded) -> SpanFacts:
        about = {**self._about, **_figures(ended.summary), "turnwatch.cause": ended.cause}
        end = self._ns(max(ended.at_ms, 0))
        told = tuple(self._alerts)
        failed = "the call failed" if ended.cause == "failed" else None
        return SpanFacts("call", self._trace_id, self._span_id, None, self.begun_ns, end, about, told, failed)

    def _word(self, index: int, text: str) -> None:
        if self.include_text:
            self._say(index, {"turnwatch.turn.text": _text(text)})

    def _say(self, index: int, said: Attributes) -> None:
        """Of a turn whose span is not out yet; it may still go on."""
        self._said.setdefault(index, {}).update(said)
        while len(self._said) > 2 * MOST_HELD:
            del self._said[next(iter(self._said))]

    def _ns(self, ms: int) -> int:
        return self.begun_ns + ms * 1_000_000


def alert_attributes(alert: events.Alert) -> Attributes:
    """What an alert says, as attributes of an event of a span."""
    about: Attributes = {
        f"turnwatch.alert.{name}": _text(str(getattr(alert, name)))
        for name in ("id", "rule", "severity", "scope", "message")
    }
    for name in ("value", "threshold"):
        value = getattr(alert, name)
        if value is not None:
            about[f"turnwatch.alert.{name}"] = float(value)
    about["turnwatch.alert.because"] = tuple(alert.because[:MOST_ALERTS])
    return about


_FIGURES: Final = {
    "turn_taking": ("score", "score_all_turns", "transitions"),
    "relevancy": ("score", "relevant", "judged", "unscored"),
    "response_time": ("count", "p50", "p95", "max"),
    "barge_in": ("user", "agent", "backchannels", "yield_p50", "recovery_p50"),
    "turns": ("user", "assistant"),
}


def _figures(summary: Mapping[str, Any]) -> Attributes:
    """The numbers of a summary; one that nothing supports is left out."""
    found: Attributes = {}
    for part, names in _FIGURES.items():
        figures = summary.get(part)
        known: Mapping[str, Any] = figures if isinstance(figures, Mapping) else {}
        for name in names:
            value = known.get(name)
            if isinstance(value, int | float):
                found[f"turnwatch.{part}.{name}"] = value
    return found


def _text(text: str) -> str:
    return clean_text(text[:LONGEST])
