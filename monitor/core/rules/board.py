"""All rules of one call behind the hooks of one, and what becomes of what they see."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from connectors.inputs import FleetView, Track
from monitor.core.alerts import Standing, Told
from monitor.core.clock import FRAME_MS, Span
from monitor.core.events import Alert, RelevancyJudged, RelevancyScored, Transition, Turn
from monitor.core.measures.panel import Panel, listening
from monitor.core.rules import RULES, Rule
from monitor.core.rules.agent_turns import AgentTurns
from monitor.core.rules.gaps import Gaps
from monitor.core.rules.moment import Moment
from monitor.core.rules.settings import RulesSettings
from monitor.core.waking import grid_end


class RuleBoard:
    """The rules that are switched on for a call with these `tracks`, whose measures are on `panel`. Its hooks are those
    of `Rule`, to be called behind those of the panel; after any of them, and when `wake` has come, `look` says what is
    to be told."""

    __slots__ = (
        "_agent_turn",
        "_agent_turns",
        "_fleet",
        "_gaps",
        "_inhibited",
        "_judged",
        "_look",
        "_now",
        "_rules",
        "_stalled",
        "_stretch",
        "_transition",
        "_turn_ended",
        "_turn_started",
        "_turn_updated",
        "wake",
    )

    def __init__(
        self,
        settings: RulesSettings,
        call: str,
        tracks: Collection[str],
        panel: Panel,
        rows: Iterable[type[Rule]] = RULES,
    ) -> None:
        both = len(tracks) == 2
        self._rules: list[tuple[Rule, Standing]] = []
        for row in rows:
            group = getattr(settings, row.name)
            if group.enabled and (both or not row.needs_both):
                rule = row(group, tracks)
                rule.attach(panel)
                self._rules.append((rule, Standing(call, row.name, round(group.cooldown_s * 1000))))
        self._gaps = Gaps()
        self._inhibited: frozenset[str] = frozenset()
        self._now = 0
        self.wake: int | None = None
        """The next media time (ms, on the grid of frames) at which something may follow although nothing comes."""
        rules = [rule for rule, _ in self._rules]
        self._agent_turn = listening(rules, Rule, "agent_turn")
        self._agent_turns = AgentTurns(self._decided)
        self._turn_started = listening(rules, Rule, "turn_started")
        self._turn_updated = listening(rules, Rule, "turn_updated")
        self._turn_ended = listening(rules, Rule, "turn_ended")
        self._transition = listening(rules, Rule, "transition")
        self._stretch = listening(rules, Rule, "stretch")
        self._stalled = listening(rules, Rule, "stalled")
        self._judged = listening(rules, Rule, "judged")
        self._fleet = listening(rules, Rule, "fleet")
        self._look = listening(rules, Rule, "look")

    @property
    def open(self) -> tuple[Alert, ...]:
        """The alerts that are open now."""
        return tuple(standing.alert for _, standing in self._rules if standing.alert is not None)

    @property
    def counts(self) -> dict[str, int]:
        """How many alerts each rule has raised."""
        return {rule.name: standing.raised for rule, standing in self._rules if standing.raised}

    def turn_started(self, turn: Turn) -> None:
        """See `Rule`, here and below."""
        for rule in self._turn_started:
            rule.turn_started(turn)
        self._agent_turns.turn_started(turn)

    def turn_updated(self, turn: Turn) -> None:
        """A turn goes on."""
        for rule in self._turn_updated:
            rule.turn_updated(turn)
        self._agent_turns.turn_updated(turn)

    def turn_ended(self, turn: Turn) -> None:
        """A turn has its final times."""
        for rule in self._turn_ended:
            rule.turn_ended(turn)
        self._agent_turns.turn_ended(turn)

    def transition(self, transition: Transition, from_turn: Turn, to_turn: Turn) -> None:
        """A transition is final."""
        for rule in self._transition:
            rule.transition(transition, from_turn, to_turn)
        self._agent_turns.transition(transition, from_turn, to_turn)

    def _decided(self, turn: Turn, barge_in: Turn | None) -> None:
        for rule in self._agent_turn:
            rule.agent_turn(turn, barge_in)

    def stretch(self, track: Track, span: Span) -> None:
        """A stretch of voiced sound has closed."""
        for rule in self._stretch:
            rule.stretch(track, span)

    def stalled(self, track: Track, span: Span) -> None:
        """A stretch of a track is unknown. It may lie ahead of the media time that `look` has come to."""
        self._gaps.add(track, span)
        self._agent_turns.stalled(track, span)
        for rule in self._stalled:
            rule.stalled(track, span)
        self._plan()

    def judged(self, event: RelevancyJudged | RelevancyScored) -> None:
        """The judge has answered, or has not."""
        for rule in self._judged:
            rule.judged(event)

    def fleet(self, view: FleetView) -> None:
        """What is known across calls. A rule that is inhibited is not raised and does not get worse."""
        self._inhibited = frozenset(view.inhibited)
        for rule in self._fleet:
            rule.fleet(view)

    def close(self) -> None:
        """Every turn has ended; what rests on turns that may still come can be decided."""
        self._agent_turns.close()

    def look(self, moment: Moment) -> list[Told]:
        """What is to be told now, in the order of the rows."""
        self._now = now = moment.now
        for rule in self._look:
            rule.look(moment)
        gap = bool(self._gaps.on(now))
        told: list[Told] = []
        for rule, standing in self._rules:
            if rule.found is not None or standing.alert is not None or standing.counted:
                held_back = (gap and not rule.through_gaps) or rule.name in self._inhibited
                told += standing.judge(rule, now, held_back)
        self._plan()
        return told

    def end(self, at: int) -> list[Told]:
        """The call is over: so is what is open."""
        return [told for _, standing in self._rules for told in standing.clear(at)]

    def _plan(self) -> None:
        """When to look again although nothing comes."""
        now, wakes = self._now, []
        for rule, standing in self._rules:
            if rule.wake is not None:
                wakes.append(rule.wake)
            if rule.found is not None and standing.alert is None and standing.cooled_ms > now:
                wakes.append(standing.cooled_ms)
        if (turns := self._gaps.turns_at(now)) is not None:
            wakes.append(turns)
        self.wake = max(now + FRAME_MS, grid_end(min(wakes))) if wakes else None
