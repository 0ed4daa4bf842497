"""One media stream of a call: where its time stamps lie on the call's clock, its formats, the order of its tracks."""

from __future__ import annotations

from connectors.inputs import Track
from connectors.pcm import PcmDecoder, UnknownFormat
from connectors.protocols.media_order import MediaOrder, Sequence
from connectors.protocols.twilio import MediaFormat, Start

_BYTES_A_SAMPLE = {"mulaw": 1, "alaw": 1}

PLAUSIBLE_MS = 60_000
"""A time stamp further ahead than this, of the clock and of the audio before it, is damaged; a stream that begins with
one counts from somewhere else (an epoch), and its first time stamp is its zero."""
BEHIND_MS = 1000


class MediaStream:
    """`opened`, `arrival`: when it started and when its last audio came, by the monotonic clock in ms. `base`: the
    call's time of the stream's zero; None before the first audio. `open`: neither stopped nor lost."""

    def __init__(self, start: Start, sequence: int | None, now_ms: int) -> None:
        """Raises `UnknownFormat` if the audio cannot be read."""
        self.format = start.media_format or MediaFormat()
        if self.format.channels != 1:
            raise UnknownFormat(f"a media stream with {self.format.channels} channels cannot be read, only one a track")
        self.carries = start.carries
        self.opened = self.arrival = now_ms
        self.base: int | None = None
        self.origin = 0
        self.open = True
        self.told_return = False
        self.sequence = Sequence()
        if sequence is not None:
            self.sequence.note(sequence)
        self.orders: dict[Track, MediaOrder] = {}
        self.decoders: dict[Track, PcmDecoder] = {}
        self.bytes_ms = _BYTES_A_SAMPLE.get(self.format.pcm_encoding, 2) * self.format.sample_rate / 1000
        self.behind_since: int | None = None
        self._behind_by = 0
        self._new_decoder()

    def _new_decoder(self) -> PcmDecoder:
        return PcmDecoder(self.format.pcm_encoding, self.format.sample_rate)

    def order(self, track: Track, chunk: int | None) -> MediaOrder:
        """The order of a track, begun with the number of its first piece if it is new."""
        order = self.orders.get(track)
        if order is None:
            order = self.orders[track] = MediaOrder(self.sequence)
            self.decoders[track] = self._new_decoder()
            others = [other for name, other in self.orders.items() if name != track]
            # Counters of their own both begin at 1; a common one goes on from the other track's.
            self.sequence.shared_chunks = chunk is not None and chunk > 1 and chunk - 1 in {o.chunk for o in others}
        return order

    def doubt_shared_chunks(self, track: Track, chunk: int) -> None:
        """A piece that is new on its track, but whose number the other track has passed: the counters are separate."""
        if self.sequence.shared_chunks and any(
            order.chunk >= chunk > self.orders[track].chunk for name, order in self.orders.items() if name != track
        ):
            self.sequence.shared_chunks = False

    def first_audio(self, timestamp: int, ms: float, now_ms: int) -> int:
        """Find the stream's zero from its first audio. -> when that was, by the monotonic clock.

        Delay on the way only ever makes things late, so of the two signs of it (the start message, and the audio minus
        its time stamp) the earlier is the better."""
        if timestamp > now_ms - self.opened + PLAUSIBLE_MS:
            self.origin = timestamp
            return now_ms - round(ms)
        return min(self.opened, now_ms - round(ms) - timestamp)

    def stays_behind(self, behind_ms: int, now_ms: int) -> bool:
        """A whole piece came too late, `behind_ms` after its time by the clock. -> whether that has been so for a
        second without getting better: then the sender's clock stood still, and waiting for it to catch up would lose
        the rest of the call."""
        if self.behind_since is None:
            self.behind_since, self._behind_by = now_ms, behind_ms
            return False
        waited = now_ms - self.behind_since
        if waited < BEHIND_MS:
            return False
        caught_up = self._behind_by - behind_ms
        self.behind_since = None
        return caught_up < 0.3 * waited
