"""The counters and histograms at `/metrics`, each with its name, its help and its labels.

Names end in their unit, in base units (seconds, not milliseconds). A histogram of durations or scores is by agent; what
could multiply (kinds, causes, rules) is from closed sets, see `labels`.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from monitor.sinks.prometheus.settings import PrometheusSettings


class Instruments:
    """All of them, in a registry of their own: nothing of this is global."""

    def __init__(self, settings: PrometheusSettings) -> None:
        self.registry = registry = CollectorRegistry(auto_describe=False)

        def counter(name: str, told: str, *labels: str) -> Counter:
            return Counter(f"turnwatch_{name}", told, labels, registry=registry)

        def histogram(name: str, told: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"turnwatch_{name}", told, labels, registry=registry, buckets=bounds)

        delays, scores = settings.delay_buckets_s, settings.score_buckets
        self.events = counter("events", "Events told, by type.", "type")
        self.started = counter("calls_started", "Calls that have begun.", "agent")
        self.ended = counter("calls_ended", "Calls that are over, by how they ended.", "agent", "cause")
        self.turns = counter("turns", "Turns that have ended, backchannels included, by who spoke.", "agent", "role")
        self.backchannels = counter(
            "backchannels", "Turns that were a listener's noise and did not take the floor.", "agent", "role"
        )
        self.transitions = counter("transitions", "Final passings of the floor, by kind.", "agent", "kind")
        self.barge_ins = counter(
            "barge_ins",
            "Final overlaps of 0.2 s or more, by who came in: the user on the agent, or the agent on the user.",
            "agent",
            "by",
        )
        self.transition_score = histogram(
            "transition_score", "Naturalness of each passing of the floor, 0 to 1.", scores, "agent"
        )
        self.response = histogram(
            "response_time_seconds", "From the end of a user's turn to the agent's answer.", delays, "agent"
        )
        self.yielding = histogram(
            "yield_time_seconds", "From a user's barge-in to the end of the agent's turn.", delays, "agent"
        )
        self.turn_taking = histogram(
            "call_turn_taking_score", "Turn-taking score of calls that are over, 0 to 1.", scores, "agent"
        )
        self.relevancy = histogram(
            "call_relevancy_score", "Relevancy score of calls that are over, 0 to 1.", scores, "agent"
        )
        self.verdicts = counter("verdicts", "Verdicts on the agent's turns; unscored is no answer.", "agent", "verdict")
        self.judge_requests = counter(
            "call_judge_requests", "Requests to the judge that calls took, counted when they are over.", "agent"
        )
        self.judge_tokens = counter(
            "call_judge_tokens", "Tokens that the judge took, counted when calls are over.", "agent", "direction"
        )
        self.judge_cost = counter(
            "call_judge_cost_dollars", "US dollars that the judge took, where the price is known.", "agent"
        )
        self.raised = counter(
            "alerts_raised",
            "Alerts raised; a rise to a higher severity counts under that severity as well.",
            "agent",
            "rule",
            "severity",
            "scope",
        )
        self.cleared = counter(
            "alerts_cleared",
            "Alerts that were over, by the severity they had last.",
            "agent",
            "rule",
            "severity",
            "scope",
        )
        self.notices = counter("notices", "What was told about feeds, by kind, with how many there were.", "kind")
