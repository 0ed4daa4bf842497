"""From inputs to events, and what tests ask of them. Every stream that is heard here keeps the contract."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from connectors.base import ConnectorError
from connectors.inputs import Input
from monitor.config import Config
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import CallEnded, Event, Turn
from monitor.detectors import new_detector
from monitor.runtime.watch import watch
from tests.builders import of
from tests.pipeline.contract import check_stream


def heard(inputs: Iterable[Input], settings: CoreSettings | None = None, detector: str = "energy") -> list[Event]:
    """What the monitor says of the inputs of one call."""
    monitor = CallMonitor(settings or CoreSettings(), new_detector(detector))
    events = [event for given in inputs for event in monitor.feed(given)] + monitor.finish()
    check_stream(events)
    return events


async def watched(source: object, *, config: Config | None = None, detector: str = "webrtc") -> list[Event]:
    """The events of a source word (or a connector), opened, read and heard as the program does it."""

    def new_core(settings: CoreSettings) -> CallMonitor:
        return CallMonitor(settings, new_detector(detector))

    word: Any = source if isinstance(source, str) or hasattr(source, "inputs") else str(source)
    events = [event async for event in watch(word, config=config, speed=None, new_core=new_core)]
    check_stream(events)
    return events


def live(events: Sequence[Event]) -> CallEnded:
    """The end of the call."""
    ended = events[-1]
    assert isinstance(ended, CallEnded)
    return ended


def notices(events: Iterable[Event], track: str | None = None) -> dict[str, int]:
    """How many of each kind were told, of one track or of all."""
    counts: dict[str, int] = {}
    for event in of(events, "notice"):
        if track is None or event.track == track:
            counts[event.kind] = counts.get(event.kind, 0) + event.count
    return counts


def ended_turns(events: Iterable[Event], role: str | None = None) -> list[Turn]:
    """The turns as they ended, in order of index."""
    turns = [event.turn for event in of(events, "turn.ended")]
    return sorted((turn for turn in turns if role in (None, turn.role)), key=lambda turn: turn.index)


def about(value: Any, within: float) -> Any:
    """Equal to whatever is within `within` of it."""
    return pytest.approx(value, abs=within)


def assert_one_line(refusal: ConnectorError) -> None:
    """A refusal that can be shown as it stands."""
    assert str(refusal).isprintable()
    assert len(str(refusal)) > 10


def near(turn: Turn, start: int, end: int, within: int = 120) -> bool:
    """Whether a turn lies where it should, to `within` ms at both ends."""
    return abs(turn.start_ms - start) <= within and abs(turn.end_ms - end) <= within


def said(events: Iterable[Event]) -> list[tuple[str, int, int]]:
    """(role, start, end) in ms of each turn that is no backchannel, in order."""
    return [(turn.role, turn.start_ms, turn.end_ms) for turn in ended_turns(events) if not turn.backchannel]
