"""What makes a barge-in spike across calls."""

from __future__ import annotations

import msgspec

_AT_LEAST_ONE = (
    "baseline_weight_turns",
    "hour_weight_turns",
    "needed_turns",
    "remembered_turns",
    "short_steps",
    "min_calls",
    "min_barge_ins",
    "max_agents",
    "max_calls",
)
_SHARES = ("baseline_until_learnt", "dense_smoothing", "dense_clear_share", "long_p", "short_p", "clear_p")


class FleetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Barge-in spikes across all calls of an agent, and what is learnt from finished calls.

    `enabled`: false does not look across calls. `step_s`: counts are made in steps of so many seconds; all figures
    below are meant for 60.

    What is usual for an agent is (20 times the mean of all agents + its barge-ins) / (20 + its turns).
    `baseline_weight_turns`: the 20. `baseline_until_learnt`: the mean, in 0..1, before enough is known.
    `needed_turns`: the agent's turns in finished calls that are enough; before that there is too little data for
    an alert on it. `remembered_turns`: what is usual rests on about the last so many turns. `hour_weight_turns`: each
    hour of the week has a baseline of its own, which its turns move away from the agent's as if that were so many.

    Where many barge-ins are expected, each step gives z = 2(sqrt(X+3/8) - sqrt(m+3/8))/sqrt(dispersion), where m were
    expected and X came, and y = max(0, 0.8 y + 0.2 z). `dense_from_per_step`: so many expected in a step are many.
    `dense_smoothing`: the 0.2. `dense_raise_score`: y above this is a spike. `dense_clear_share`: under this share of
    that, it is over. `dispersion`: the variance of such counts divided by their mean; null for 2, and learnt.

    Where few are expected, it counts how unlikely so many or more are. `long_steps`: over so many steps. `long_p`: over
    these they must be less likely than this. `short_steps`: over the last few steps, so many. `short_p`: over these
    they must be less likely than this. `clear_p`: it is over once they are no less likely than this over the last few.

    What there must be in any case, in the steps that are looked at. `min_ratio`: so many times as many as expected,
    also without the one call that has the most. `min_barge_ins`: so many barge-ins. `min_calls`: so many calls that
    have them. `critical_ratio`: so many times as many as expected are critical.
    `cooldown_s`: after an alert, none is raised anew for so long. `freeze_max_h`: what is usual is not learnt while an
    alert is open, but no longer than this.

    `group`: `turnwatch fleet` processes of one group share what they show and keep, by a shared subscription of MQTT 5;
    null if each is to have everything. `max_agents`, `max_calls`: so many are remembered; the oldest are let go.
    """

    enabled: bool = True
    step_s: float = 60.0
    baseline_until_learnt: float = 0.10
    baseline_weight_turns: int = 20
    hour_weight_turns: int = 200
    needed_turns: int = 200
    remembered_turns: int = 20_000
    dense_from_per_step: float = 5.0
    dense_smoothing: float = 0.2
    dense_raise_score: float = 4 / 3
    dense_clear_share: float = 0.4
    dispersion: float | None = None
    long_steps: int = 30
    long_p: float = 1e-4
    short_steps: int = 5
    short_p: float = 1e-2
    clear_p: float = 0.1
    min_ratio: float = 1.5
    critical_ratio: float = 3.0
    min_calls: int = 3
    min_barge_ins: int = 10
    cooldown_s: float = 600.0
    freeze_max_h: float = 24.0
    group: str | None = None
    max_agents: int = 1000
    max_calls: int = 20_000

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if not 1 <= getattr(self, name) <= 10_000_000:
                raise ValueError(f"fleet.{name} must be a number from 1 to 10,000,000; got {getattr(self, name)!r}")
        for name in _SHARES:
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"fleet.{name} must be between 0 and 1; got {getattr(self, name)!r}")
        if not 0.05 <= self.step_s <= 3600:
            raise ValueError(f"fleet.step_s must be a number from 0.05 to 3,600; got {self.step_s!r}")
        if not self.short_steps <= self.long_steps <= 1440:
            raise ValueError(f"fleet.long_steps must be from fleet.short_steps to 1,440; got {self.long_steps!r}")
        if self.dispersion is not None and not 1 <= self.dispersion <= 100:
            raise ValueError(f"fleet.dispersion must be a number from 1 to 100; got {self.dispersion!r}")
        for name in ("dense_from_per_step", "dense_raise_score", "min_ratio", "critical_ratio", "freeze_max_h"):
            if not 0 < getattr(self, name) <= 1e6:
                raise ValueError(f"fleet.{name} must be a number above 0; got {getattr(self, name)!r}")
        if not 0 <= self.cooldown_s <= 1e6:
            raise ValueError(f"fleet.cooldown_s must be a number from 0 to 1,000,000; got {self.cooldown_s!r}")
        if self.group is not None and (not self.group or set(self.group) & set("/+#")):
            raise ValueError(f"fleet.group is one word without /, + and #; got {self.group!r}")
