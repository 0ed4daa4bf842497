"""How long a message takes from the relay to the client, from pings and their pongs as the relay sees them go by."""

from __future__ import annotations

MAX_DELAY_MS = 500
MAX_WAITING = 64


class RoundTrip:
    """One client's way there and back. The delay is half of the *smallest* round trip seen: a client whose event loop
    is busy, or one that waits `ping_ms` before it answers, makes a pong late but never early."""

    def __init__(self) -> None:
        self._waiting: dict[int | None, int] = {}
        self._smallest: int | None = None

    @property
    def delay_ms(self) -> int:
        """One way, at most `MAX_DELAY_MS`; 0 while nothing was measured."""
        return 0 if self._smallest is None else min(self._smallest // 2, MAX_DELAY_MS)

    def ping(self, number: int | None, now: int) -> None:
        """The ping with this id was passed on to the client at `now` (ms)."""
        self._waiting.pop(number, None)
        self._waiting[number] = now
        if len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]

    def pong(self, number: int | None, now: int) -> None:
        """The client's answer came by at `now`; one that nobody asked for says nothing."""
        sent = self._waiting.pop(number, None)
        if sent is not None:
            self.sample(now - sent)

    def sample(self, round_trip_ms: int) -> None:
        """A round trip measured in another way, such as the relay's own WebSocket pings."""
        if round_trip_ms >= 0 and (self._smallest is None or round_trip_ms < self._smallest):
            self._smallest = round_trip_ms
