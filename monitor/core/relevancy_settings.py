"""`[relevancy]`: how turn relevancy is judged, by whom, and what it may cost."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import msgspec

from monitor.core.turn_taking import check_threshold

WindowUnit = Literal["turns", "interactions"]
EvalMode = Literal["llm", "hybrid", "system_one", "local", "scripted", "off"]


class RelevancySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the core asks, and how the shell gets it answered. Raises `ValueError` where a value makes no sense.

    What is asked. `window_size`: how many turns (or interactions, by `window_unit`) a turn is judged in, itself among
    them. `window_unit`: `turns`, or `interactions` of a user's turns and the answers to them. `batch_size`: how many
    assistant turns wait for one request; `max_wait_s`: how long the oldest waits at most, in seconds of the call.
    `deadline_s`: a verdict is due so long after it was asked for.

    How the score is judged. `threshold`: the score that a call must reach, in 0..1; None means the score alone.
    `strict_mode`: the threshold is 1 and any score below 1 counts as 0. `include_reason`: ask for the reason of a "no".
    `verbose_mode`: print the breakdown. `flaky`: the result is told, and decides nothing.

    Who judges; keys stand in the environment alone: OPENAI_API_KEY and TYPESAFE_API_KEY. `eval_mode`: `llm` (any
    OpenAI-compatible server), `hybrid` (Jev decides, the LLM gives the reasons), `system_one` (Jev alone, over the
    whole conversation), `local` (a small model on this machine), `scripted` (verdicts from a file) or `off`; where
    nothing says so, `local` if it is installed, else `off`. `model`: the LLM's name. `base_url`: the LLM's server; None
    is OpenAI's own. `system_one_model`: the name of Jev's model. `system_one_base_url`: Jev's server; None is its own.
    `script`: the file of verdicts.

    What it may take; None sets no limit. `max_tokens_per_call`: tokens for one call, in and out. `max_cost_per_call`:
    US dollars for one call. `max_requests_per_minute`: requests, over all calls. `max_in_flight`: requests on their way
    at once, over all calls. `max_waiting`: requests that wait for their turn, over all calls. `async_mode`: false is
    the same as `max_in_flight = 1`.

    The prices make the cost known; without them it is told as unknown. `usd_per_million_input_tokens`,
    `usd_per_million_output_tokens`: the LLM's, in US dollars for a million tokens.
    `system_one_usd_per_million_input_tokens`, `system_one_usd_per_million_output_tokens`: Jev's, in the same way.
    """

    window_size: int = 10
    window_unit: WindowUnit = "turns"
    batch_size: int = 6
    max_wait_s: float = 15.0
    deadline_s: float = 20.0

    threshold: float | None = 0.5
    strict_mode: bool = False
    include_reason: bool = True
    verbose_mode: bool = False
    flaky: bool = False

    eval_mode: EvalMode = "llm"
    model: str = "gpt-5.4"
    base_url: str | None = None
    system_one_model: str = "jev-latest"
    system_one_base_url: str | None = None
    script: str | None = None

    async_mode: bool = True
    max_in_flight: int = 4
    max_waiting: int = 1000
    max_tokens_per_call: int | None = None
    max_cost_per_call: float | None = None
    max_requests_per_minute: int | None = None
    usd_per_million_input_tokens: float | None = None
    usd_per_million_output_tokens: float | None = None
    system_one_usd_per_million_input_tokens: float | None = None
    system_one_usd_per_million_output_tokens: float | None = None

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        for name in ("window_size", "batch_size", "max_in_flight", "max_waiting"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)!r}")
        if not 0 <= self.max_wait_s < float("inf"):
            raise ValueError(f"max_wait_s must be a number of seconds, 0 or more; got {self.max_wait_s!r}")
        if not 0 < self.deadline_s < float("inf"):
            raise ValueError(f"deadline_s must be a number of seconds above 0; got {self.deadline_s!r}")
        self._check_limits()
        for name in ("base_url", "system_one_base_url"):
            check_base_url(name, getattr(self, name))
        if self.eval_mode == "scripted" and not self.script:
            raise ValueError("eval_mode scripted takes its verdicts from a file: set relevancy.script to its path")

    @property
    def in_flight(self) -> int:
        """How many requests may be on their way at once."""
        return self.max_in_flight if self.async_mode else 1

    def _check_limits(self) -> None:
        for name in ("max_tokens_per_call", "max_cost_per_call", "max_requests_per_minute"):
            limit = getattr(self, name)
            if limit is not None and not limit >= 0:
                raise ValueError(f"{name} must be 0 or more, or left out for no limit; got {limit!r}")
        for name in self.__struct_fields__:
            price = getattr(self, name)
            if "usd_per_million" in name and price is not None and not 0 <= price < float("inf"):
                raise ValueError(f"{name} must be a price of 0 or more; got {price!r}")
        if self.max_cost_per_call is not None and (missing := self._missing_prices()):
            raise ValueError(
                f"max_cost_per_call cannot be kept while the price is unknown: set {' and '.join(missing)}"
            )

    def _missing_prices(self) -> list[str]:
        """The prices that the judges of this mode need for a cost to be known, and that are not set."""
        names = []
        if self.eval_mode in ("llm", "hybrid"):
            names += ["usd_per_million_input_tokens", "usd_per_million_output_tokens"]
        if self.eval_mode in ("hybrid", "system_one"):
            names += ["system_one_usd_per_million_input_tokens", "system_one_usd_per_million_output_tokens"]
        return [name for name in names if getattr(self, name) is None]


def check_base_url(name: str, url: str | None) -> None:
    """Raises `ValueError` unless `url` is None or http(s) without a secret in it: settings stand on tapes."""
    if url is None:
        return
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        secret = "@" in parts.netloc or bool(parts.query)
    except ValueError:
        good, secret = False, "@" in url
    if secret:
        raise ValueError(f"{name} holds a password or a query: give the key in the environment, the address without it")
    if not good:
        raise ValueError(f"{name} must be an address such as http://127.0.0.1:8000/v1; got {url!r}")
