"""Calls with words, and a judge that listens along: what the tests of words and relevancy are spoken in.

talk = exchange(3)                                        # caller and agent by turns, three times
heard = listen(tape_of(talk), judging(), lenient)         # -> the events, the requests, the tape with its verdicts
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from connectors import inputs
from connectors.inputs import Text, Track, Verdict, Verdicts
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.encode import encode
from monitor.core.events import Event
from monitor.core.questions import JudgeRequest
from monitor.core.relevancy_settings import RelevancySettings
from monitor.detectors import new_detector
from tests.builders import Speech, call, of, speech

Answer = Callable[[JudgeRequest], Verdicts | None]


class Said(NamedTuple):
    """`track` speaks in [`start`, `end`) ms, and the words come at `told` (None: never)."""

    track: Track
    start: int
    end: int
    text: str
    told: int | None


class Heard(NamedTuple):
    """What a call with a judge gave. `tape`: every input, verdicts too."""

    events: list[Event]
    requests: list[JudgeRequest]
    tape: list[inputs.Input]
    monitor: CallMonitor

    def verdicts(self) -> dict[int, str]:
        """The verdict of each turn that has one."""
        return {e.turn.index: e.verdict for e in of(self.events, "relevancy.judged")}

    def texts(self) -> dict[int, str | None]:
        """What is known of the words of each turn when the call is over."""
        known = {e.turn.index: e.turn.text for e in of(self.events, "turn.ended")}
        return known | {e.turn.index: e.text for e in of(self.events, "turn.text")}

    def shown(self) -> dict[int, str]:
        """The words of each turn as a judge was shown them last."""
        return {line.index: line.text for request in self.requests for line in request.lines}

    @property
    def summary(self) -> Any:
        """The part `relevancy` of the summary."""
        return of(self.events, "call.ended")[0].summary["relevancy"]

    def lines(self) -> list[bytes]:
        """The events as they are written."""
        return [encode(event) for event in self.events]


def exchange(times: int, *, spoken: int = 600, gap: int = 400, first: int = 500) -> list[Said]:
    """Caller and agent by turns, each `spoken` ms long and `gap` ms apart, with words that come when they usually do:
    the caller's after they were spoken, the agent's with the first sound."""
    out = []
    for n in range(times):
        at = first + n * 2 * (spoken + gap)
        out.append(Said("caller", at, at + spoken, f"question {n}", at + spoken + 300))
        at += spoken + gap
        out.append(Said("agent", at, at + spoken, f"answer {n}", at + 20))
    return out


def words(said: Said) -> Text:
    """The words of a turn as they come from a source that knows neither ids nor times."""
    return Text(said.track, said.told or 0, said.text, "transcript" if said.track == "caller" else "response")


def tape_of(said: Iterable[Said], texts: Iterable[Text] | None = None, length: int | None = None) -> list[inputs.Input]:
    """The tape of a call; `texts` stand in the place of the words of `said`."""
    said = list(said)
    told = [words(one) for one in said if one.told is not None] if texts is None else list(texts)
    return placed(call(*(speech(one.track, one.start, one.end) for one in said), length=length), told)


def placed(tape: Sequence[inputs.Input], extra: Iterable[inputs.Input]) -> list[inputs.Input]:
    """The tape with more inputs, each where the call has come to its `at`."""
    rest = sorted(extra, key=lambda one: getattr(one, "at", 0))
    out: list[inputs.Input] = []
    for given in tape:
        while rest and not isinstance(given, inputs.CallStarted) and _at(rest[0]) <= _at(given):
            out.append(rest.pop(0))
        out.append(given)
    return [*out[:-1], *rest, out[-1]]


def _at(given: inputs.Input) -> int:
    return getattr(given, "at", 0)


def judging(**settings: Any) -> CoreSettings:
    """The core's settings with a judge."""
    return CoreSettings(relevancy=RelevancySettings(**settings))


def lenient(request: JudgeRequest) -> Verdicts:
    """A judge that finds every turn relevant."""
    return says(request, "yes")


def says(request: JudgeRequest, verdict: Any, **more: Any) -> Verdicts:
    """The same verdict on all that was asked."""
    return Verdicts(0, request.batch, "judge-1", tuple(Verdict(a.index, verdict) for a in request.asked), **more)


def silent(_: JudgeRequest) -> None:
    """A judge that never answers."""


def listen(tape: Iterable[inputs.Input], settings: CoreSettings, judge: Answer = lenient, delay_ms: int = 200) -> Heard:
    """Feed a call, and the judge's answers `delay_ms` after they were asked for. A judge that does not answer after the
    end of the call is given up when its time is over."""
    monitor = CallMonitor(settings, new_detector("energy"))
    heard = Heard([], [], [], monitor)
    coming: list[Verdicts] = []

    def feed(given: inputs.Input) -> None:
        heard.tape.append(given)
        heard.events.extend(monitor.feed(given))
        for request in monitor.questions():
            heard.requests.append(request)
            answer = judge(request)
            if answer is not None:
                coming.append(msgspec.structs.replace(answer, at=request.at_ms + delay_ms))

    for given in tape:
        while coming and coming[0].at <= _at(given) and not isinstance(given, inputs.CallEnded):
            feed(coming.pop(0))
        feed(given)
    while monitor.status.closing and coming:
        feed(coming.pop(0))
    if monitor.status.closing:
        feed(inputs.Elapsed(max(request.due_ms for request in heard.requests)))
    return heard


def replay(tape: Iterable[inputs.Input], settings: CoreSettings) -> list[bytes]:
    """The lines of a tape that is heard again, with nobody to ask."""
    monitor = CallMonitor(settings, new_detector("energy"))
    return [encode(event) for given in tape for event in monitor.feed(given)]


__all__ = [
    "Heard",
    "Said",
    "Speech",
    "exchange",
    "judging",
    "lenient",
    "listen",
    "placed",
    "replay",
    "says",
    "silent",
    "tape_of",
    "words",
]
