"""A conversation whose frames a test sends at its own times, straight to the listener."""

from __future__ import annotations

from typing import Any

from connectors.elevenlabs.beginning import Opened
from connectors.elevenlabs.ending import Ending
from connectors.elevenlabs.listening import Listener
from connectors.inputs import Audio, CallEnded, Input, Notice

INITIATION = "conversation_initiation_client_data"
START = 1_000_000
"""The relay's clock at media time zero."""


class Line:
    """A conversation whose frames a test sends at its own times (ms of media time)."""

    def __init__(self, **opened: Any) -> None:
        self.listener = Listener(Opened(START, "own-1", **opened))
        self.inputs: list[Input] = []

    def server(self, at: int, *frames: str | bytes) -> None:
        for frame in frames:
            self.inputs += self.listener.receive("server", frame, START + at)

    def client(self, at: int, *frames: str | bytes) -> None:
        for frame in frames:
            self.inputs += self.listener.receive("client", frame, START + at)

    def sweep(self, at: int) -> None:
        self.inputs += self.listener.elapsed(START + at)

    def close(self, at: int, who: Any = "server", code: int | None = 1000, reason: str = "") -> CallEnded:
        self.inputs += self.listener.closed(START + at, Ending(who, code, reason))
        ended = self.inputs[-1]
        assert isinstance(ended, CallEnded)
        return ended

    def of(self, kind: type[Any]) -> list[Any]:
        return [given for given in self.inputs if isinstance(given, kind)]

    def notices(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for notice in self.of(Notice):
            counts[notice.kind] = counts.get(notice.kind, 0) + notice.count
        return counts

    def audio_ms(self, track: str) -> float:
        return sum(len(audio.pcm) for audio in self.of(Audio) if audio.track == track) / 16
