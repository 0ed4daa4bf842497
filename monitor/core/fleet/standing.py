"""How an agent stands across its calls.

| state | when |
|---|---|
| `too_little_data` | its baseline rests on too few turns, or too few calls or turns were heard of late |
| `ordinary` | nothing out of the way |
| `raised` | an alert is open; the baseline stands still |
| `cooling` | an alert was open a moment ago, and none is raised anew yet |
"""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["too_little_data", "ordinary", "raised", "cooling"]
Kind = Literal["dense", "sparse"]


class Standing(msgspec.Struct, frozen=True):
    """How an agent stands. `missing`: what there is too little of, in words. Counts are of the last long window:
    `calls` are counted up to what matters, `barged` are those with barge-ins. `baseline`: the share of its turns that
    is usual, resting on `learnt_turns` turns. `since_step`: when it was raised. `suppressed`: how often it would have
    been raised anew while it cooled down."""

    agent: str
    state: State
    missing: str | None
    turns: int
    barge_ins: int
    calls: int
    barged: int
    expected: float
    baseline: float
    learnt_turns: int
    since_step: int | None = None
    kind: Kind | None = None
    critical: bool = False
    suppressed: int = 0

    @property
    def ratio(self) -> float:
        """How many times as many barge-ins as expected."""
        return self.barge_ins / self.expected if self.expected > 0 else 0.0


class Learnt(msgspec.Struct, frozen=True):
    """A finished call of `agent` has taught its baseline so much. `ended_s`: when it ended, in seconds of the epoch."""

    agent: str
    call: str
    turns: int
    barge_ins: int
    ended_s: float | None
    step: int
