"""One agent across its calls: is what happens now ordinary, far too much, or too little to tell?"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import Literal

from monitor.core.fleet.baselines import Baselines, hour_of_week
from monitor.core.fleet.dense import DenseScore
from monitor.core.fleet.settings import FleetSettings
from monitor.core.fleet.standing import Kind, Learnt, Standing, State
from monitor.core.fleet.tail import tail
from monitor.core.fleet.window import Step, Sum, Window

Change = Literal["raised", "worse", "cleared"]
_MOST_STEPS_AT_ONCE = 120
"""After so many steps without anything, a smoothed score has long come to rest."""


class AgentWatch:
    """Steps are numbers that never go back. What finished calls and steps teach waits for a long window, and is
    forgotten if an alert is raised meanwhile: what is under suspicion must not make itself usual."""

    def __init__(self, agent: str, settings: FleetSettings, baselines: Baselines, step: int = 0) -> None:
        self.agent = agent
        self._set = settings
        self._baselines = baselines
        self._window = Window(settings.long_steps, settings.min_calls)
        self._dense = DenseScore(settings)
        self._waiting: deque[Learnt] = deque(maxlen=settings.max_calls)
        self._steps: deque[Step] = deque(maxlen=settings.long_steps + 1)
        self._now = step
        self._raised: Kind | None = None
        self._critical = False
        self._since: int | None = None
        self._cool_until: int | None = None
        self._rising = False
        self._adopted: int | None = None
        self._suppressed = 0
        self._calm_steps = 0
        self.learnt: deque[Learnt] = deque(maxlen=settings.max_calls)
        """What was taught since this was last emptied: for whoever keeps it on disk."""

    @property
    def raised(self) -> bool:
        """An alert is open."""
        return self._raised is not None

    @property
    def critical(self) -> bool:
        """It is far more than far too much."""
        return self._critical

    @property
    def idle(self) -> bool:
        """Nothing would be lost but counts of the last half hour if it were let go."""
        return self._raised is None and not self._waiting

    def turn(self, call: str, hour: int | None = None) -> None:
        """An agent turn ended, now."""
        self._window.turn(self._now, call, self._baselines.share(self.agent, hour))

    def barge_in(self, call: str) -> Change | None:
        """A barge-in was confirmed, now. Few ones are looked at at once."""
        self._window.barge_in(self._now, call)
        return None if self._is_dense(self._now - 1) else self._look(self._now, step_over=False)

    def adopt(self, *, critical: bool) -> None:
        """An alert that another process has raised goes on here. It is held, whatever little was heard here so far."""
        if self._raised is None:
            self._raised, self._since, self._cool_until, self._calm_steps = "sparse", self._now, None, 0
            self._adopted = self._now
            self._waiting.clear()
            self._steps.clear()
        self._critical = self._critical or critical

    def finished(self, call: str, turns: int, barge_ins: int, ended_s: float | None = None) -> None:
        """A call is over that had so many."""
        if turns > 0 and not self._frozen:
            self._waiting.append(Learnt(self.agent, call, turns, barge_ins, ended_s, self._now))

    def reach(self, step: int) -> list[Change]:
        """Time goes on to `step`: every step before it is over."""
        self._now = max(self._now, step - _MOST_STEPS_AT_ONCE)
        changes = []
        while self._now < step:
            over = self._window.step(self._now)
            self._dense.step(over.barge_ins, over.expected)
            change = self._look(self._now, step_over=True)
            if change:
                changes.append(change)
            if over.expected >= self._set.dense_from_per_step:
                self._steps.append(over)
            if not self._frozen:
                self._learn(self._now - self._set.long_steps)
            self._now += 1
        return changes

    def close(self) -> None:
        """No more will come: what waits is learnt, unless there is an alert."""
        if not self._frozen:
            self._learn(self._now)

    def standing(self) -> Standing:
        """How it stands."""
        whole = self._window.sum(self._now, self._set.long_steps)
        learnt = self._baselines.turns(self.agent)
        missing = self._missing(whole, learnt)
        cooling = self._cool_until is not None and self._now < self._cool_until
        state: State = "raised" if self._raised else "too_little_data" if missing else "ordinary"
        return Standing(
            self.agent,
            "cooling" if state == "ordinary" and cooling else state,
            missing,
            whole.turns,
            whole.barge_ins,
            whole.calls,
            whole.barged,
            whole.expected,
            self._baselines.share(self.agent),
            learnt,
            self._since,
            self._raised,
            self._critical,
            self._suppressed,
        )

    def _missing(self, whole: Sum, learnt: int) -> str | None:
        wanted = self._set
        if learnt < wanted.needed_turns:
            return f"what is usual rests on {learnt} agent turns of finished calls, {wanted.needed_turns} are needed"
        if whole.calls < wanted.min_calls:
            return f"{whole.calls} calls of late, {wanted.min_calls} are needed"
        if whole.turns < wanted.min_barge_ins:
            return f"{whole.turns} agent turns of late, {wanted.min_barge_ins} are needed"
        return None

    def _look(self, step: int, *, step_over: bool) -> Change | None:
        short, whole = (self._window.sum(step, length) for length in (self._set.short_steps, self._set.long_steps))
        kind = self._found(short, whole, step_over)
        newly = kind is not None and not self._rising
        self._rising = kind is not None or (self._rising and not step_over)
        if self._raised is not None:
            return self._hold(short, whole, step_over)
        if kind is None:
            return None
        if self._cool_until is not None and step < self._cool_until:
            self._suppressed += newly
            return None
        self._raised, self._since, self._cool_until, self._calm_steps = kind, step, None, 0
        self._critical = self._is_critical(short if kind == "dense" else whole)
        self._waiting.clear()
        self._steps.clear()
        return "raised"

    def _found(self, short: Sum, whole: Sum, step_over: bool) -> Kind | None:
        """By which reading there are far too many now."""
        if self._baselines.turns(self.agent) < self._set.needed_turns:
            return None
        if short.expected / self._set.short_steps >= self._set.dense_from_per_step:
            high = step_over and self._dense.score > self._set.dense_raise_score
            return "dense" if high and self._enough(short) else None
        spread = self._dense.dispersion
        if (
            self._enough(whole)
            and tail(whole.barge_ins, whole.expected, spread) < self._set.long_p
            and tail(short.barge_ins, short.expected, spread) < self._set.short_p
        ):
            return "sparse"
        return None

    def _hold(self, short: Sum, whole: Sum, step_over: bool) -> Change | None:
        if self._adopted is not None and not self._can_tell(whole, self._now - self._adopted):
            return None
        if not self._critical and self._is_critical(short if self._raised == "dense" else whole):
            self._critical = True
            return "worse"
        if not step_over:
            return None
        if self._raised == "dense":
            over = self._dense.score < self._set.dense_clear_share * self._set.dense_raise_score
        else:
            calm = tail(short.barge_ins, short.expected, self._dense.dispersion) >= self._set.clear_p
            self._calm_steps = self._calm_steps + 1 if calm else 0
            over = self._calm_steps >= self._set.short_steps
        if not over:
            return None
        self._raised, self._since, self._critical, self._suppressed, self._adopted = None, None, False, 0, None
        self._cool_until = self._now + 1 + ceil(self._set.cooldown_s / self._set.step_s)
        return "cleared"

    def _can_tell(self, whole: Sum, heard_steps: int) -> bool:
        """Was enough heard here to say whether an alert of another process still holds?"""
        if self._baselines.turns(self.agent) >= self._set.needed_turns:
            return heard_steps >= self._set.short_steps
        # What is usual is not known: it is over once no alert could be raised at all.
        return heard_steps >= self._set.long_steps and whole.barge_ins < self._set.min_barge_ins

    def _enough(self, some: Sum) -> bool:
        wanted = self._set
        return (
            some.ratio_without_one >= wanted.min_ratio  # one wild call is that call's own alert
            and some.barge_ins >= wanted.min_barge_ins
            and some.barged >= wanted.min_calls
        )

    def _is_critical(self, some: Sum) -> bool:
        return self._enough(some) and some.ratio >= self._set.critical_ratio

    def _is_dense(self, step: int) -> bool:
        expected = self._window.sum(step, self._set.short_steps).expected
        return expected / self._set.short_steps >= self._set.dense_from_per_step

    @property
    def _frozen(self) -> bool:
        if self._raised is None or self._since is None:
            return self._rising
        return (self._now - self._since) * self._set.step_s < self._set.freeze_max_h * 3600

    def _learn(self, until: int) -> None:
        while self._steps and self._steps[0].number <= until:
            step = self._steps.popleft()
            self._dense.learn(step.barge_ins, step.expected)
        while self._waiting and self._waiting[0].step <= until:
            taught = self._waiting.popleft()
            hour = None if taught.ended_s is None else hour_of_week(taught.ended_s)
            self._baselines.learn(self.agent, taught.turns, taught.barge_ins, hour)
            self.learnt.append(taught)
