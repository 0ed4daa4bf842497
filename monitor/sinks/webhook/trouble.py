"""What the log is told of a target: when trouble begins, what kind it is, and when it is over; not every try."""

from __future__ import annotations

import logging
from collections.abc import Callable

from monitor.sinks.webhook.answers import Answer

log = logging.getLogger("turnwatch.webhook")

REMIND_S = 600.0
"""The same trouble, come again, is told again after so long at the earliest."""
_MAX_REASONS = 20


class Trouble:
    """One target's. `clock`: seconds that never go back."""

    def __init__(self, who: str, clock: Callable[[], float]) -> None:
        self._who, self._clock = who, clock
        self._told_at: dict[str, float] = {}
        self._in_spell: set[str] = set()
        self._since: float | None = None
        self._told = False
        self._given_up = 0

    def failing(self, answer: Answer, waiting: int) -> None:
        """A try failed, and there will be others."""
        if self._since is None:
            self._since = self._clock()
        if self._is_new(answer.reason):
            words = _words(answer)
            log.warning("webhook %s: %d waiting, sent again until it takes them: %s", self._who, waiting, words)

    def refused(self, answer: Answer, waiting: int, keep_h: float) -> None:
        """A try was refused, and there will be others, now and then, since people may put it right."""
        if self._since is None:
            self._since = self._clock()
        if self._is_new(answer.reason):
            kept = f"{waiting} waiting, kept for {keep_h:g} hours (webhook.keep_h) and tried now and then"
            log.error("webhook %s: %s, since it refuses: %s", self._who, kept, _words(answer))

    def left_alone(self) -> None:
        """It counts as away now."""
        if self._told and self._is_new("left alone"):
            log.warning("webhook %s counts as away: it is tried now and then", self._who)

    def given_up(self, answer: Answer, kind: str) -> None:
        """An event will never be delivered. `kind`: its type."""
        self._given_up += 1
        if self._is_new(answer.reason):
            log.error("webhook %s: this %s is given up, as others like it will be: %s", self._who, kind, _words(answer))

    def over(self, waiting: int) -> None:
        """It has taken one."""
        if self._told:
            lost = f", {self._given_up} were given up" if self._given_up else ""
            after = "" if self._since is None else f" after {self._clock() - self._since:.0f} s"
            log.warning("webhook %s takes events again%s: %d waiting%s", self._who, after, waiting, lost)
        self._since, self._told, self._given_up = None, False, 0
        self._in_spell.clear()

    def _is_new(self, reason: str) -> bool:
        if reason in self._in_spell:  # told since it last took one
            return False
        now = self._clock()
        if now - self._told_at.get(reason, -REMIND_S) < REMIND_S:
            return False
        if len(self._told_at) >= _MAX_REASONS:
            self._told_at.clear()
            self._in_spell.clear()
        self._in_spell.add(reason)
        self._told_at[reason] = now
        self._told = True
        return True


def _words(answer: Answer) -> str:
    return f"{answer.reason} ({answer.detail})" if answer.detail else answer.reason
