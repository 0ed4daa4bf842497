"""What judging may take: tokens and money of each call, requests a minute over all calls.

A request reserves what it will take, as far as can be known, before it is sent, so that requests on their way at once
cannot overdraw together. What it really took replaces the reservation. Where a server does not say, or was not waited
for, the reservation stays spent: it may well be on the bill.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, Literal

from monitor.core.relevancy_settings import RelevancySettings
from monitor.judges import JudgeAnswer
from monitor.judges.estimates import Estimate

MAX_CALLS: Final = 10_000
"""Calls whose spending is kept, should nobody say that they have ended; the one unused for longest goes first."""

MINUTE_S: Final = 60.0

Limit = Literal["judge_tokens", "judge_cost", "judge_requests"]


class Spent(Exception):
    """The budget does not allow the request. `limit`: which limit; the message is for people."""

    def __init__(self, limit: Limit, message: str) -> None:
        super().__init__(message)
        self.limit: Limit = limit


class Spending:
    """What a call has taken so far, reservations included; and what it was told about, so that it is told once."""

    __slots__ = ("tokens", "told", "usd")

    def __init__(self) -> None:
        self.tokens = 0
        self.usd = 0.0
        self.told: set[str] = set()


class Reservation:
    """What one request may take, until it is known."""

    def __init__(self, spending: Spending, estimate: Estimate, sent: list[float]) -> None:
        self._spending, self._estimate, self._sent = spending, estimate, sent

    def settle(self, took: JudgeAnswer, billed: bool = True) -> None:
        """Replace the reservation by what the request took. `billed`: it stays where no tokens are told of."""
        self._sent[1] = took.requests
        tokens, usd = took.input_tokens + took.output_tokens, took.cost_usd
        if billed and took.requests and not tokens:
            tokens = self._estimate.tokens
        if usd is None:
            usd = self._estimate.usd if tokens else 0.0
        self._spending.tokens += tokens - self._estimate.tokens
        self._spending.usd += usd - self._estimate.usd


class Budget:
    """The budget of all calls. `now`: seconds on a clock that never goes back."""

    def __init__(self, settings: RelevancySettings, now: Callable[[], float]) -> None:
        self._max_tokens = settings.max_tokens_per_call
        self._max_usd = settings.max_cost_per_call
        self._max_requests = settings.max_requests_per_minute
        self._now = now
        self._calls: OrderedDict[str, Spending] = OrderedDict()
        self._sent: deque[list[float]] = deque()  # when, how many

    def reserve(self, call: str, estimate: Estimate) -> Reservation:
        """Set aside what one request of `call` may take. Raises Spent."""
        spending = self.of(call)
        if self._max_tokens is not None and spending.tokens + estimate.tokens > self._max_tokens:
            raise Spent("judge_tokens", _full(f"{self._max_tokens} tokens", spending.tokens, estimate.tokens))
        if self._max_usd is not None and spending.usd + estimate.usd > self._max_usd:
            raise Spent("judge_cost", _full(f"${self._max_usd:g}", f"${spending.usd:.4g}", f"${estimate.usd:.4g}"))
        sent = [self._now(), float(estimate.requests)]
        if self._max_requests is not None:
            if self.requests_last_minute() + estimate.requests > self._max_requests:
                often = "once" if self._max_requests == 1 else f"{self._max_requests} times"
                raise Spent("judge_requests", f"the judge may be asked {often} a minute, no more")
            self._sent.append(sent)
        spending.tokens += estimate.tokens
        spending.usd += estimate.usd
        return Reservation(spending, estimate, sent)

    def requests_last_minute(self) -> int:
        """How many requests were sent, or set aside, within the last minute. 0 where there is no limit to them."""
        while self._sent and self._sent[0][0] <= self._now() - MINUTE_S:
            self._sent.popleft()
        return int(sum(count for _, count in self._sent))

    def of(self, call: str) -> Spending:
        """What `call` has taken so far."""
        spending = self._calls.setdefault(call, Spending())
        self._calls.move_to_end(call)
        if len(self._calls) > MAX_CALLS:
            self._calls.popitem(last=False)
        return spending

    def forget(self, call: str) -> None:
        """The call has ended."""
        self._calls.pop(call, None)


def _full(limit: str, taken: object, more: object) -> str:
    now = f"{taken} taken so far, about {more} more for it"
    return f"the next request does not fit into this call's budget of {limit} for the judge: {now}"
