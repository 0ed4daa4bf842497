"""`[transcriber]`: who writes down what is said where the source brings no words, and what that may take."""

from __future__ import annotations

from typing import Final

import msgspec

from monitor.core.relevancy_settings import RelevancySettings, check_base_url

SCRIPTED: Final = "scripted:"


class TranscriberSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Off unless `kind` is set. Raises `ValueError` where a value makes no sense.

    The key stands in the environment alone: OPENAI_API_KEY. `kind`: `off`, `openai` (OpenAI's audio endpoint or a
    server that speaks the same), `whisper` (a model on this machine) or `scripted:FILE`. `model`: its name, for
    `whisper` also the folder of a model; None is each one's own default. `base_url`: the server's address; None is
    OpenAI's own. `language`: what is spoken, as in `en`; None: it is found out.

    `max_in_flight`: turns on their way at once; `max_waiting`: turns that wait for theirs; both over all calls.
    `deadline_s`: so long after a turn's end its words may take. `usd_per_minute`: the price of a minute of sound, so
    that it counts in `relevancy.max_cost_per_call`.
    """

    kind: str = "off"
    model: str | None = None
    base_url: str | None = None
    language: str | None = None
    max_in_flight: int = 2
    max_waiting: int = 200
    deadline_s: float = 10.0
    usd_per_minute: float | None = None

    def __post_init__(self) -> None:
        if self.kind.strip() == SCRIPTED:
            raise ValueError("kind scripted: names no file of words; it is used as in scripted:words.json")
        if self.kind not in ("off", "openai", "whisper") and not self.script:
            raise ValueError(f"kind must be off, openai, whisper or scripted:FILE; got {self.kind!r}")
        for name in ("max_in_flight", "max_waiting"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)!r}")
        if not 0 < self.deadline_s < float("inf"):
            raise ValueError(f"deadline_s must be a number of seconds above 0; got {self.deadline_s!r}")
        if self.usd_per_minute is not None and not 0 <= self.usd_per_minute < float("inf"):
            raise ValueError(f"usd_per_minute must be a price of 0 or more; got {self.usd_per_minute!r}")
        check_base_url("base_url", self.base_url)

    @property
    def enabled(self) -> bool:
        """Whether there is a transcriber."""
        return self.kind != "off"

    @property
    def script(self) -> str:
        """The file of a scripted one; empty for others."""
        return self.kind.removeprefix(SCRIPTED) if self.kind.startswith(SCRIPTED) else ""


def check_budget(transcriber: TranscriberSettings, relevancy: RelevancySettings) -> None:
    """Raises `ValueError` where a limit to the cost of a call could not be kept."""
    unknown = transcriber.kind == "openai" and transcriber.usd_per_minute is None
    if unknown and relevancy.max_cost_per_call is not None:
        raise ValueError(
            "relevancy.max_cost_per_call cannot be kept while the transcriber's price is unknown: "
            "set transcriber.usd_per_minute"
        )
