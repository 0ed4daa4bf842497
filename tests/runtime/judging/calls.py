"""The demo call for tests of the judge in the runtime: as a recording, and as something that happens now."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from connectors.inputs import Input
from connectors.simulator.rehearsal import rehearse
from connectors.simulator.scenario_demo import DEMO
from monitor.config import Config, load
from monitor.core import events
from monitor.core.events import Event, RelevancyJudged
from monitor.runtime.watch import Watching

ASSISTANT_TURNS = [0, 2, 4, 7, 9, 11, 13, 15]
REFUND = 13
"""The turn that answers a question for a refund with opening hours."""


@cache
def demo_call() -> Sequence[Input]:
    return rehearse(DEMO).inputs


class Live:
    """The demo call, live: nobody can make it wait."""

    live = True
    length_ms = None

    def __init__(self, given: Sequence[Input] | None = None) -> None:
        self._given = demo_call() if given is None else given

    async def inputs(self) -> AsyncIterator[Input]:
        for one in self._given:
            yield one
            await asyncio.sleep(0)


def judged_by(address: str, *more: str) -> Config:
    """Settings for a server at `address` that speaks OpenAI's API."""
    return load(assignments=["relevancy.eval_mode=llm", f"relevancy.base_url={address}", *more])


def script(folder: Path, **more: object) -> Path:
    """A file of verdicts in which the answer beside the point is a no."""
    file = folder / "verdicts.json"
    no = {"text": "open from eight", "verdict": "no", "reason": "a refund was asked for"}
    file.write_text(json.dumps({"verdicts": [no], "otherwise": "yes", **more}))
    return file


async def heard(call: Watching) -> list[Event]:
    return [event async for event in call]


def verdicts(told: Iterable[Event]) -> dict[int, str]:
    """Each turn's verdict; no turn has two."""
    judged = [event for event in told if isinstance(event, RelevancyJudged)]
    assert len({event.turn.index for event in judged}) == len(judged)
    return {event.turn.index: event.verdict for event in judged}


def timeline(told: Iterable[Event]) -> list[Event]:
    """What the judge has no part in; without numbers, since verdicts come in between."""
    mine = events.TurnStarted | events.TurnEnded | events.TransitionScored | events.TransitionWithdrawn
    return [_unnumbered(event) for event in told if isinstance(event, mine)]


def _unnumbered(event: Event) -> Event:
    return msgspec.structs.replace(event, seq=0)


def summary(told: Sequence[Event]) -> dict[str, object]:
    """The part `relevancy` of the summary."""
    last = told[-1]
    assert isinstance(last, events.CallEnded)
    found = last.summary["relevancy"]
    assert isinstance(found, dict)
    return found
