"""The line at the bottom of a terminal: who speaks, who waits, and how each call that goes on is doing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from monitor.core.events import Alert, Relevancy, Turn
from monitor.sinks.alert_lines import open_bits, rank
from monitor.sinks.drawing import tag_of
from monitor.sinks.feed_lines import CallView
from monitor.sinks.screen_line import Bit, Style, score_style
from monitor.sinks.verdict_lines import standing_bits

_SHORT_MS, _LONG_MS = 1500, 4000
"""Waiting is told in passing, then as a warning from 1.5 s, in red from 4 s (dead air) on."""
_QUIET_MS = 300
_NOW_CELLS = len("caller speaks 100.0 s")


class Standing(Protocol):
    """How a call stands at this moment, as `CallMonitor.status` says it. `waiting_ms`: how long the caller waits."""

    @property
    def call(self) -> str: ...
    @property
    def now_ms(self) -> int: ...
    @property
    def speaking(self) -> tuple[str, ...]: ...
    @property
    def waiting_ms(self) -> int | None: ...
    @property
    def score(self) -> float | None: ...
    @property
    def transitions(self) -> int: ...
    @property
    def ended(self) -> bool: ...
    @property
    def relevancy(self) -> Relevancy | None: ...
    @property
    def waiting_for_verdicts(self) -> int: ...
    @property
    def waiting_for_words(self) -> int: ...
    @property
    def closing(self) -> bool: ...


class _Now(NamedTuple):
    """What happens in a call at this moment."""

    who: str
    does: str
    style: Style
    for_ms: int | None


def status_bits(states: Sequence[Standing], views: Mapping[str, CallView]) -> list[Bit]:
    """The line for the calls that go on; empty if there are none. The most pressing call comes first where there are
    several (one with an alert, then one that waits), since what does not fit is left away at the end."""
    going = [state for state in states if not state.ended and state.call]
    if not going:
        return []
    if len(going) == 1:
        (state,) = going
        minutes, seconds = divmod(state.now_ms // 1000, 60)
        view = views.get(state.call)
        bits = [Bit(f" {minutes:02d}:{seconds:02d}  ", "dim"), *_now_bits(_now(state, view))]
        # The score keeps its place while the words before it change.
        bits.append(Bit(" " * max(0, _NOW_CELLS - sum(len(bit.text) for bit in bits[1:]))))
        if state.score is not None:
            transitions = f"{state.transitions} transition{'s' if state.transitions != 1 else ''}"
            bits += [Bit("  call ", "dim"), _score(state.score, meter=True), Bit(f" {transitions}", "dim")]
        # Alerts across calls are among the views as well, under a name of their own.
        bits += open_bits([alert for each in views.values() for alert in _alerts(each)], short=False)
        return [*bits, *standing_bits(state.relevancy, state.waiting_for_verdicts, state.closing)]
    bits = [Bit(f" {len(going)} calls ", "strong")]
    if many := sum(len(view.alerts) for view in views.values()):
        bits.append(Bit(f"{many} alert{'s' if many != 1 else ''} ", "poor"))
    for state in sorted(going, key=lambda each: (-rank(_alerts(views.get(each.call))), -(each.waiting_ms or 0))):
        view = views.get(state.call)
        name = tag_of(state.call, view.number if view else 0).text
        bits += [Bit(" │ ", "dim"), Bit(f"{name} "), *_now_bits(_now(state, view))]
        if state.score is not None:
            bits += [Bit(" "), _score(state.score, meter=False)]
        if state.relevancy is not None and state.relevancy.score is not None:
            bits += [Bit(" rel ", "dim"), _score(state.relevancy.score, meter=False)]
        bits += open_bits(_alerts(view), short=True)
    return bits


def _alerts(view: CallView | None) -> list[Alert]:
    """The alerts of a call that are open."""
    return list(view.alerts.values()) if view else []


def _score(score: float, meter: bool) -> Bit:
    return Bit(f"{score:.2f}", score_style(score), score if meter else None)


def _now(state: Standing, view: CallView | None) -> _Now:
    if state.closing:
        return _Now("", "over", "dim", None)
    if len(state.speaking) > 1:
        return _Now("both", "speak", "fair", None)
    if state.speaking:
        who = state.speaking[0]
        return _Now(who, "speaks", "", _spoken_ms(state, view, who))
    if state.waiting_ms is not None and state.waiting_ms >= _QUIET_MS:
        style: Style = "poor" if state.waiting_ms >= _LONG_MS else "fair" if state.waiting_ms >= _SHORT_MS else ""
        return _Now("caller", "waits", style, state.waiting_ms)
    return _Now("", "quiet", "dim", None)


def _spoken_ms(state: Standing, view: CallView | None, who: str) -> int | None:
    role = "user" if who == "caller" else "assistant"
    turns: list[Turn] = [turn for turn in view.speaking.values() if turn.role == role] if view else []
    return max(0, state.now_ms - turns[-1].start_ms) if turns else None


def _now_bits(now: _Now) -> list[Bit]:
    who: Style = "caller" if now.who == "caller" else "agent" if now.who == "agent" else now.style
    length = "" if now.for_ms is None else f" {now.for_ms / 1000:.1f} s"
    return [Bit(f"{now.who} ", who), Bit(f"{now.does}{length}", now.style)] if now.who else [Bit(now.does, now.style)]
