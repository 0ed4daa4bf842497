"""What a label can be. A time series lives for as long as the program does, so nothing that comes from outside may
make new ones without end: kinds, rules and causes are from closed sets, and of agents there is a bounded number. No
call is ever a label.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final, get_args

from monitor.core.encode import clean_text
from monitor.core.events import Cause, Scope, Severity
from monitor.core.rules import RULES as ALL_RULES

OTHER: Final = "other"
_LONGEST_ID: Final = 120

CAUSES: Final[tuple[str, ...]] = get_args(Cause)
SEVERITIES: Final[tuple[str, ...]] = get_args(Severity)
SCOPES: Final[tuple[str, ...]] = get_args(Scope)

RULES: Final[tuple[str, ...]] = tuple(rule.name for rule in ALL_RULES)

NOTICES: Final[frozenset[str]] = frozenset(
    (
        "analysis_error",
        "bad_header",
        "bad_payload",
        "channels",
        "clock_drift",
        "closed",
        "duplicate",
        "empty_audio",
        "enough_data",
        "failed",
        "feed_back",
        "gap",
        "ignored_option",
        "judge_cost",
        "judge_disabled",
        "judge_overload",
        "judge_rate_limit",
        "judge_requests",
        "judge_tokens",
        "judge_unavailable",
        "late_audio",
        "length",
        "line",
        "mono",
        "monitor_lost",
        "monitor_online",
        "no_metadata",
        "one_way_audio",
        "overload",
        "provider_error",
        "reconnected",
        "reordered",
        "source_failed",
        "stalled",
        "stream_lost",
        "tape_failed",
        "text_only",
        "too_little_data",
        "torn_tape",
        "transcriber_cost",
        "transcriber_disabled",
        "transcriber_failed",
        "transcriber_overload",
        "transcriber_requests",
        "transcriber_tokens",
        "transcriber_unavailable",
        "transcript",
        "unexpected_start",
        "unknown_event",
        "unknown_format",
        "unplaced_text",
        "untranscribed",
    )
)
"""Every kind of notice that we tell; a test looks for them in the code."""


def one_of(known: Container[str], value: str | None) -> str:
    """`value` if it is `known`, else `other`."""
    return value if value is not None and value in known else OTHER


class Agents:
    """The agents that have a label of their own: `named` ones, and others until there are `most`."""

    def __init__(self, named: Iterable[str], most: int) -> None:
        self._most = most
        self._known = {_label(agent) for agent in named}

    def label(self, agent: str | None) -> str:
        """The label of an agent; empty where it is not known which."""
        if not agent:
            return ""
        label = _label(agent)
        if label in self._known:
            return label
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(label)
        return label

    def __len__(self) -> int:
        return len(self._known)


def _label(agent: str) -> str:
    """As UTF-8 can hold it: half a character would break every scrape from then on."""
    return clean_text(agent[:_LONGEST_ID])
