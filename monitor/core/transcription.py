"""What the transcriber of a call did, and what it took: the part `transcription` of the summary."""

from __future__ import annotations

from typing import Any

from connectors.inputs import Text


class Transcription:
    """Counts turns asked about and the answers to them."""

    def __init__(self) -> None:
        self.turns = self._worded = self._requests = 0
        self._seconds = 0.0
        self._usd: float | None = 0.0

    def add(self, given: Text) -> None:
        """An answer has come, be it an empty one."""
        self._worded += bool(given.text.strip())
        if (took := given.took) is not None:
            self._requests += took.requests
            self._seconds += took.seconds
            self._usd = None if took.cost_usd is None or self._usd is None else self._usd + took.cost_usd

    def summary(self, lost: int) -> dict[str, Any]:
        """`turns` asked about, those `worded` and those `lost` (not asked about, for want of their sound), `requests`
        sent, `seconds` of sound sent, `cost_usd`: None where nothing was sent or a price is not known."""
        return {
            "turns": self.turns,
            "worded": self._worded,
            "lost": lost,
            "requests": self._requests,
            "seconds": round(self._seconds, 3),
            "cost_usd": self._usd if self._requests else None,
        }
