"""`[rules]`: what is raised on a call. One group for each rule, by its name; so `rules.dead_air.warning_after_s`."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from monitor.core.setting_ranges import check_ranges


class BargeInSpikeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The caller barges in on the agent far more often than is usual: a Bernoulli CUSUM over the agent's turns.
    `baseline_share`: the share of its turns that is usual, in 0..1, until earlier calls have taught it. `warning_at`: a
    warning at this sum S. `critical_at`: critical at this sum; it is held there, since more evidence says nothing more.
    `clear_at`: cleared at this sum."""

    enabled: bool = True
    baseline_share: float = 0.10
    warning_at: float = 4.0
    critical_at: float = 5.0
    clear_at: float = 1.0
    cooldown_s: float = 120.0


class BargeInCountSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fixed rule, for whoever wants one; off, since it is false on four normal calls in ten. `barge_ins` within
    `window_s` of the agent's speech are a warning; `clear_barge_ins` or fewer clear it."""

    enabled: bool = False
    barge_ins: int = 3
    window_s: float = 60.0
    clear_barge_ins: int = 1
    cooldown_s: float = 120.0


class AgentTalksOverSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The agent comes in on the caller: `warning_overlaps` of its last `window_turns` turns began over the caller's by
    0.2 s or more; `clear_overlaps` or fewer clear it."""

    enabled: bool = True
    warning_overlaps: int = 2
    critical_overlaps: int = 4
    clear_overlaps: int = 0
    window_turns: int = 5
    cooldown_s: float = 120.0


class DeadAirSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Neither side has spoken for longer than this, in seconds. Told while it goes on, cleared when somebody speaks.
    `warning_at_start_s`: a warning after so long before the first word of the call, since telephones ring; critical
    comes later by as much there. The summary knows no such grace: its `dead_air.count` counts silences of more than 4 s
    at the start as well, so it can be higher than the number of alerts."""

    enabled: bool = True
    warning_after_s: float = 4.0
    warning_at_start_s: float = 10.0
    critical_after_s: float = 15.0
    cooldown_s: float = 60.0


class UnansweredSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The caller has been waiting for a reply for so long, in seconds of silence. Told while it goes on, cleared when
    the agent speaks. What the caller says meanwhile does not end the wait; of the silences between his turns those of
    2 s and more add up. The summary's `unanswered.count` is of single turns: those with 6 s of silence behind them."""

    enabled: bool = True
    warning_after_s: float = 6.0
    critical_after_s: float = 15.0
    cooldown_s: float = 60.0


class SlowResponseSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The 95th percentile of the agent's last `window_replies` replies, in seconds, once there are `min_replies`; under
    `clear_p95_s` it is cleared."""

    enabled: bool = True
    warning_p95_s: float = 4.0
    critical_p95_s: float = 8.0
    clear_p95_s: float = 3.0
    min_replies: int = 10
    window_replies: int = 50
    cooldown_s: float = 300.0


class SlowYieldSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The agent talks on when the caller barges in: the median of the last `window_barge_ins`, in seconds, once there
    are `min_barge_ins`; under `clear_p50_s` it is cleared."""

    enabled: bool = True
    warning_p50_s: float = 2.0
    critical_p50_s: float = 4.0
    clear_p50_s: float = 1.5
    min_barge_ins: int = 3
    window_barge_ins: int = 5
    cooldown_s: float = 300.0


class LowTurnTakingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The mean score of the last `window_transitions` final transitions is lower than this, in 0..1, once there are
    `min_transitions`; over `clear_score` it is cleared. 0.5 is what a call must reach to pass."""

    enabled: bool = True
    warning_score: float = 0.5
    critical_score: float = 0.3
    clear_score: float = 0.6
    min_transitions: int = 10
    window_transitions: int = 20
    cooldown_s: float = 300.0


class LowRelevancySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The share of relevant ones among the last `window_turns` judged turns is lower than this, in 0..1, once there are
    `min_turns`; over `clear_score` it is cleared. Of a judge of whole conversations it is the score. A turn without a
    verdict counts for nothing."""

    enabled: bool = True
    warning_score: float = 0.5
    critical_score: float = 0.25
    clear_score: float = 0.7
    min_turns: int = 6
    window_turns: int = 10
    cooldown_s: float = 300.0


class OneWayAudioSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One side has not been heard while the other talked for so long, in seconds: pauses included, up to 4 s each, and
    at least a third of it speech. Told while it goes on, cleared when the silent side is heard."""

    enabled: bool = True
    warning_after_s: float = 30.0
    critical_after_s: float = 60.0
    cooldown_s: float = 120.0


class FeedGapSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing has come of a track for so long, in seconds of the call. Told while it goes on, cleared when audio is
    back. Meanwhile, and from the first lost packet on, no other rule is raised: what it would see is unknown."""

    enabled: bool = True
    warning_after_s: float = 3.0
    critical_after_s: float = 10.0
    cooldown_s: float = 60.0


class RulesSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is raised on a call, a group for each rule. An alert is raised once, again only when it gets worse, held
    until the rule's own threshold for the end is passed, and cleared at the latest with the call. A rule that an alert
    across calls holds back is not raised and does not get worse; what is open already stays until it clears.

    The groups have many keys in common. `enabled`: whether the rule looks at calls at all. `cooldown_s`: after an alert
    was raised, none is raised anew for so long, in seconds of the call. `warning_after_s`: a warning after so long.
    `critical_after_s`: critical after so long. `warning_p95_s`, `warning_p50_s`: a warning above this.
    `critical_p95_s`, `critical_p50_s`: critical above this. `clear_p95_s`, `clear_p50_s`: cleared under this.
    `warning_score`: a warning under this score. `critical_score`: critical under this score. `clear_score`: cleared
    over this score. `warning_overlaps`: a warning with so many. `critical_overlaps`: critical with so many.
    `clear_overlaps`, `clear_barge_ins`: cleared with so many or fewer. `barge_ins`: a warning with so many. `window_s`:
    within so much of the agent's speech. `min_replies`, `min_barge_ins`, `min_transitions`, `min_turns`: nothing is
    raised before there are so many. `window_turns`, `window_replies`, `window_barge_ins`, `window_transitions`: only
    the last ones are looked at, so many.
    """

    barge_in_spike: BargeInSpikeSettings = BargeInSpikeSettings()
    barge_in_count: BargeInCountSettings = BargeInCountSettings()
    agent_talks_over: AgentTalksOverSettings = AgentTalksOverSettings()
    dead_air: DeadAirSettings = DeadAirSettings()
    unanswered: UnansweredSettings = UnansweredSettings()
    slow_response: SlowResponseSettings = SlowResponseSettings()
    slow_yield: SlowYieldSettings = SlowYieldSettings()
    low_turn_taking: LowTurnTakingSettings = LowTurnTakingSettings()
    low_relevancy: LowRelevancySettings = LowRelevancySettings()
    one_way_audio: OneWayAudioSettings = OneWayAudioSettings()
    feed_gap: FeedGapSettings = FeedGapSettings()

    def __post_init__(self) -> None:
        check_ranges("rules", self, {f"rules.{key}": limits for key, limits in RANGES.items()})
        for group, chains in RISING.items():
            settings = getattr(self, group)
            for lower, higher in (pair for names in chains for pair in pairwise(names)):
                low, high = getattr(settings, lower), getattr(settings, higher)
                apart = (group, lower) in APART
                if low > high or (apart and low == high):
                    order = "must be under" if apart else "must not be above"
                    raise ValueError(f"rules.{group}.{lower} {order} rules.{group}.{higher}; got {low!r} and {high!r}")


_LENGTH = (0.1, 3600)
_COUNT = (1, 1000)

RANGES: dict[str, tuple[float, float]] = {
    f"{group}.{name}": limits
    for groups, name, limits in (
        (RulesSettings.__struct_fields__, "cooldown_s", (0, 86_400)),
        (("barge_in_spike",), "baseline_share", (0.005, 0.9)),
        (("barge_in_spike",), "warning_at", (0.1, 100)),
        (("barge_in_spike",), "critical_at", (0.1, 100)),
        (("barge_in_spike",), "clear_at", (0, 100)),
        (("barge_in_count",), "barge_ins", _COUNT),
        (("barge_in_count",), "window_s", _LENGTH),
        (("barge_in_count",), "clear_barge_ins", (0, 1000)),
        (("agent_talks_over",), "warning_overlaps", _COUNT),
        (("agent_talks_over",), "critical_overlaps", _COUNT),
        (("agent_talks_over",), "clear_overlaps", (0, 1000)),
        (("agent_talks_over", "low_relevancy"), "window_turns", _COUNT),
        (("dead_air", "unanswered", "one_way_audio", "feed_gap"), "warning_after_s", _LENGTH),
        (("dead_air", "unanswered", "one_way_audio", "feed_gap"), "critical_after_s", _LENGTH),
        (("dead_air",), "warning_at_start_s", _LENGTH),
        (("slow_response",), "warning_p95_s", _LENGTH),
        (("slow_response",), "critical_p95_s", _LENGTH),
        (("slow_response",), "clear_p95_s", (0, 3600)),
        (("slow_response",), "min_replies", _COUNT),
        (("slow_response",), "window_replies", _COUNT),
        (("slow_yield",), "warning_p50_s", _LENGTH),
        (("slow_yield",), "critical_p50_s", _LENGTH),
        (("slow_yield",), "clear_p50_s", (0, 3600)),
        (("slow_yield",), "min_barge_ins", _COUNT),
        (("slow_yield",), "window_barge_ins", _COUNT),
        (("low_turn_taking", "low_relevancy"), "warning_score", (0, 1)),
        (("low_turn_taking", "low_relevancy"), "critical_score", (0, 1)),
        (("low_turn_taking", "low_relevancy"), "clear_score", (0, 1)),
        (("low_turn_taking",), "min_transitions", _COUNT),
        (("low_turn_taking",), "window_transitions", _COUNT),
        (("low_relevancy",), "min_turns", _COUNT),
    )
    for group in groups
}
"""`group.key` -> the least and the most."""

RISING: dict[str, tuple[tuple[str, ...], ...]] = {
    "barge_in_spike": (("clear_at", "warning_at", "critical_at"),),
    "barge_in_count": (("clear_barge_ins", "barge_ins"),),
    "agent_talks_over": (("clear_overlaps", "warning_overlaps", "critical_overlaps", "window_turns"),),
    "dead_air": (("warning_after_s", "warning_at_start_s"), ("warning_after_s", "critical_after_s")),
    "unanswered": (("warning_after_s", "critical_after_s"),),
    "slow_response": (("clear_p95_s", "warning_p95_s", "critical_p95_s"), ("min_replies", "window_replies")),
    "slow_yield": (("clear_p50_s", "warning_p50_s", "critical_p50_s"), ("min_barge_ins", "window_barge_ins")),
    "low_turn_taking": (("critical_score", "warning_score", "clear_score"), ("min_transitions", "window_transitions")),
    "low_relevancy": (("critical_score", "warning_score", "clear_score"), ("min_turns", "window_turns")),
    "one_way_audio": (("warning_after_s", "critical_after_s"),),
    "feed_gap": (("warning_after_s", "critical_after_s"),),
}
"""Settings of a group that must not fall in this order, so that a rule can be raised and can also end."""

APART = {("barge_in_count", "clear_barge_ins"), ("agent_talks_over", "clear_overlaps")}
"""Counts that must be under the next in the order: what is cleared with as many as it is raised with would be cleared
while it is so."""
