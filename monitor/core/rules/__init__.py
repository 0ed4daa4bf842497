"""What somebody should look at in a call. One small class a file, one row in `RULES`, one group of settings.

A rule listens to the hooks that it needs and says what it sees: `raise_at` while its condition is met, `steady` between
its two thresholds, `release` when its own threshold for the end is passed. `monitor.core.alerts` makes alerts of that:
raised once, held, cleared, cooled down. To add one, write a file, a row and a group of the same name:

    class LongTurn(Rule):
        name = "long_turn"

        def turn_updated(self, turn: Turn) -> None:
            if turn.role == "assistant" and turn.end_ms - turn.start_ms > 60_000:
                self.raise_at(turn.end_ms, "warning", "the agent has talked for a minute", because=(turn.index,))

        def turn_ended(self, turn: Turn) -> None:
            self.release(turn.end_ms)

A rule that must speak although nothing happens sets `wake` to a media time and answers in `look`. What is silent in a
hole of the feed is unknown; the board raises nothing while such a hole goes on, whatever the rules say.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, NamedTuple

from connectors.inputs import FleetView, Track
from monitor.core.clock import Span
from monitor.core.events import RelevancyJudged, RelevancyScored, Severity, Transition, Turn
from monitor.core.measures.panel import Panel
from monitor.core.rules.moment import Moment

RANK: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}


class Finding(NamedTuple):
    """That a rule's condition is met. `at_ms`: since when. `because`: indexes of the turns that it rests on."""

    at_ms: int
    severity: Severity
    message: str
    value: float | None
    threshold: float | None
    because: tuple[int, ...]


class Rule:
    """One thing to be raised on a call. `name`: in alerts and in the settings. `settings`: its own group. `tracks`:
    those that the call can ever have; a rule that `needs_both` is not asked where one is missing. `through_gaps`: it
    may be raised while the feed has a gap."""

    name: ClassVar[str] = ""
    needs_both: ClassVar[bool] = True
    through_gaps: ClassVar[bool] = False

    def __init__(self, settings: Any, tracks: Collection[str]) -> None:
        self.settings = settings
        self.found: Finding | None = None
        """What is so now, None while the condition is not met."""
        self.over_ms: int | None = 0
        """Since when the threshold for the end is passed; None while it is not."""
        self.wake: int | None = None
        """The next media time at which `look` may find something new although nothing comes, or None."""

    def raise_at(
        self,
        at_ms: int,
        severity: Severity,
        message: str,
        value: float | None = None,
        threshold: float | None = None,
        because: tuple[int, ...] = (),
    ) -> None:
        """The condition is met, since `at_ms`; since before, where that had been said and it has not become worse."""
        if self.found is not None and RANK[severity] <= RANK[self.found.severity]:
            at_ms = self.found.at_ms
        self.found, self.over_ms = Finding(at_ms, severity, message, value, threshold, because), None

    def steady(self) -> None:
        """The condition is not met, but it is not over either: what is raised stays."""
        self.found = self.over_ms = None

    def unknown(self) -> None:
        """What was found rests on what turns out to be unknown: if it is not raised yet, it is not to be."""
        if self.found is not None:
            self.steady()

    def release(self, at_ms: int) -> None:
        """It is over, since `at_ms`."""
        if self.over_ms is None:
            self.found, self.over_ms = None, at_ms

    def attach(self, panel: Panel) -> None:
        """Before anything else: the measures of the call, for a rule that goes by one. They hear each hook first."""

    def turn_started(self, turn: Turn) -> None:
        """A turn has begun; its duration is not known yet."""

    def turn_updated(self, turn: Turn) -> None:
        """A turn goes on; its duration so far."""

    def turn_ended(self, turn: Turn) -> None:
        """A turn has its final times, and it is known whether it is a backchannel and whether it was interrupted."""

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        """A transition is final. `to_turn` may still be going on."""

    def agent_turn(self, turn: Turn, barge_in: Turn | None) -> None:
        """It is known of an agent's turn whether the caller barged in, and with which turn: once for each, in order."""

    def stretch(self, track: Track, span: Span) -> None:
        """A stretch of voiced sound has closed: in order on its track, in any order across tracks."""

    def stalled(self, track: Track, span: Span) -> None:
        """What was on `track` in `span` is unknown; long ones may come in pieces that touch."""

    def judged(self, event: RelevancyJudged | RelevancyScored) -> None:
        """The judge has answered, or has not."""

    def fleet(self, view: FleetView) -> None:
        """What is known across calls."""

    def look(self, moment: Moment) -> None:
        """Something has happened, or `wake` has come."""


from monitor.core.rules.agent_talks_over import AgentTalksOver  # noqa: E402  the rows need Rule: they come after it
from monitor.core.rules.barge_in_count import BargeInCount  # noqa: E402
from monitor.core.rules.barge_in_spike import BargeInSpike  # noqa: E402
from monitor.core.rules.dead_air import DeadAirGoesOn  # noqa: E402
from monitor.core.rules.feed_gap import FeedGap  # noqa: E402
from monitor.core.rules.low_relevancy import LowRelevancy  # noqa: E402
from monitor.core.rules.low_turn_taking import LowTurnTaking  # noqa: E402
from monitor.core.rules.one_way_audio import OneWayGoesOn  # noqa: E402
from monitor.core.rules.slow_response import SlowResponse  # noqa: E402
from monitor.core.rules.slow_yield import SlowYield  # noqa: E402
from monitor.core.rules.unanswered import UnansweredSoFar  # noqa: E402

RULES: tuple[type[Rule], ...] = (
    BargeInSpike,
    BargeInCount,
    AgentTalksOver,
    DeadAirGoesOn,
    UnansweredSoFar,
    SlowResponse,
    SlowYield,
    LowTurnTaking,
    LowRelevancy,
    OneWayGoesOn,
    FeedGap,
)
"""Every rule, in the order in which alerts of the same moment are told."""
