"""The tracks of a call, on one clock, filled from its streams: the middle of `connectors.protocols.twilio_call`."""

from __future__ import annotations

from connectors.inputs import TRACKS, Input, Track, TrackFormat
from connectors.protocols.media_following import follow
from connectors.protocols.media_order import MediaOrder, Piece
from connectors.protocols.media_stream import PLAUSIBLE_MS, MediaStream
from connectors.protocols.media_track import PER_MS, MediaTrack
from connectors.protocols.tally import Tally
from connectors.protocols.twilio import TRACK_NAMES, Media

TAKE_OVER_MS = 1000
"""A track's stream that has been silent for so long gives way to another one that carries the track."""


class MediaPlacing:
    """`arrival`: when the last audio came, by the monotonic clock in ms. `tally`: what was damaged."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.arrival = 0
        self.begun = False
        self._start = 0
        self._zero: int | None = None
        self._tracks = {name: MediaTrack(name) for name in TRACKS}
        self._other: dict[Track, MediaTrack] = {}
        self._owners: dict[Track, MediaStream] = {}
        self._declared: tuple[Track, ...] | None = None

    def begin(self, now_ms: int) -> None:
        """A stream has started while there was none: the first one, or one that comes back."""
        if not self.begun:
            self.begun = True
            self._start = now_ms
        self.arrival = now_ms

    def declare(self, tracks: list[Track]) -> None:
        """The tracks of the call are settled: they wait for each other from now on."""
        self._declared = tuple(tracks)
        if len(tracks) == len(TRACKS):
            self._other = {"caller": self._tracks["agent"], "agent": self._tracks["caller"]}

    @property
    def furthest_ms(self) -> int:
        """How far the call has come."""
        return max(self._tracks[name].position_ms for name in self._declared or TRACKS)

    def heard_formats(self) -> dict[Track, TrackFormat]:
        """The formats of the tracks that have been heard."""
        return {track: owner.format.track_format for track, owner in self._owners.items()}

    def media(self, stream: MediaStream, media: Media, number: int | None, now_ms: int, out: list[Input]) -> bool:
        """One media message. -> whether it was audio of this call."""
        name = TRACK_NAMES.get(media.track or "inbound")
        payload, chunk, timestamp = media.payload, media.chunk, media.timestamp
        if name is None or not payload:
            what = "without audio" if name else f"of an unknown track {media.track!a:.40}"
            self.tally.count("bad_payload", name, f"a media message {what}")
            return False
        order = stream.orders.get(name) or stream.order(name, chunk)
        track = self._tracks[name]
        ms = len(payload) / stream.bytes_ms
        base = stream.base
        if (
            base is not None
            and timestamp is not None
            and order.begun
            and chunk == order.chunk + 1
            and not order.held
            and self._owners.get(name) is stream
            and track.continues(at := base + timestamp - stream.origin)
        ):
            # Nearly every piece: in order, and where its track is.
            order.accept(timestamp - stream.origin, ms, chunk, number)
            pcm = stream.decoders[name].decode(payload)[0]
            if pcm:
                track.append(pcm, out)
            stream.behind_since = None
            stream.arrival = self.arrival = now_ms
        else:
            placed = self._out_of_the_ordinary(stream, track, order, media, number, now_ms, out)
            if placed is None:
                return False
            at = placed
            stream.arrival = self.arrival = now_ms
        other = self._other.get(name)
        if other is not None and at - other.position // PER_MS > other.patience_ms:
            owner = self._owners.get(other.name)
            follow(other, at, stream, owner, now_ms - (owner.arrival if owner else self._start), self.tally, out)
        return True

    def _out_of_the_ordinary(
        self,
        stream: MediaStream,
        track: MediaTrack,
        order: MediaOrder,
        media: Media,
        number: int | None,
        now_ms: int,
        out: list[Input],
    ) -> int | None:
        """A piece that is the first, or out of order, or before or after a hole, or damaged. -> its time, or None."""
        assert media.payload is not None
        ms = len(media.payload) / stream.bytes_ms
        timestamp = media.timestamp
        if timestamp is not None and timestamp < 0:
            timestamp = None
        if timestamp is None:
            self.tally.count(
                "bad_payload", track.name, "a media message without a time stamp was put after the last one"
            )
            timestamp = round(order.end) + stream.origin
        if stream.base is None:
            zero = stream.first_audio(timestamp, ms, now_ms)
            if self._zero is None:
                self._zero = zero
            stream.base = zero - self._zero
        place = timestamp - stream.origin
        at = stream.base + place
        if at > PLAUSIBLE_MS + max(self.furthest_ms, now_ms - (self._zero or 0)):
            self.tally.count(
                "bad_payload", track.name, f"a time stamp of {timestamp} ms lies too far ahead: passed over"
            )
            return None
        if not self._may_place(track, stream, at, now_ms):
            return None
        if media.chunk is not None:
            stream.doubt_shared_chunks(track.name, media.chunk)
        for piece in order.offer(Piece(place, ms, media.chunk, number, media.payload, now_ms), now_ms):
            self._put(stream, track, piece, now_ms, out)
        order.tell(self.tally, track.name)
        return at

    def _may_place(self, track: MediaTrack, stream: MediaStream, at: int, now_ms: int) -> bool:
        """Whether this stream is the one that the track is heard on; it becomes so if the one before it is gone."""
        name = track.name
        if self._declared is not None and name not in self._declared:
            self.tally.count("bad_payload", name, f"audio of the {name}, which the call was not announced to have")
            return False
        owner = self._owners.get(name)
        if owner is stream:
            return True
        if owner is not None:
            if owner.open and now_ms - owner.arrival <= TAKE_OVER_MS:
                self.tally.count("duplicate", name, f"a second stream carries the {name} too: passed over")
                return False
            track.interrupt()
            if not stream.told_return:
                stream.told_return = True
                away = max(0, at - track.position_ms) / 1000
                self.tally.count("reconnected", None, f"the stream came back; {away:.1f} s were missed and are unknown")
        self._owners[name] = stream
        return True

    def _put(self, stream: MediaStream, track: MediaTrack, piece: Piece, now_ms: int, out: list[Input]) -> None:
        """A piece whose turn it is."""
        at = (stream.base or 0) + piece.at
        decoder = stream.decoders[track.name]
        if piece.missing or not track.continues(at):
            tail = decoder.finish()[0]
            if tail and at >= track.position_ms:
                track.append(tail, out)
            track.open_hole(at, piece.missing, piece.ms, out)
        if track.lost:
            message = f"pieces of the {track.name}'s audio were lost on the way; their time counts as unknown"
            self.tally.count("gap", track.name, message, track.lost)
            track.lost = 0
        pcm = decoder.decode(piece.payload)[0]
        covered = track.covered(at)
        if covered:
            late_ms = covered // (2 * PER_MS)
            self.tally.count("late_audio", track.name, f"audio of the {track.name} came {late_ms} ms late: dropped")
            pcm = pcm[covered:]
            if not pcm:
                self._watch_clock(stream, late_ms, now_ms - (self._zero or 0) - at - round(piece.ms), now_ms)
        if pcm:
            stream.behind_since = None
            track.append(pcm, out)

    def _watch_clock(self, stream: MediaStream, late_ms: int, behind_ms: int, now_ms: int) -> None:
        """Set a stream forward whose clock stood still. What it did not send meanwhile is unknown."""
        if stream.stays_behind(behind_ms, now_ms):
            forward = max(late_ms, behind_ms)
            stream.base = (stream.base or 0) + forward
            for owned, owner in self._owners.items():
                if owner is stream:
                    self._tracks[owned].interrupt()
            message = f"the stream's clock stood still for {forward / 1000:.1f} s: set forward"
            self.tally.count("clock_drift", None, message)

    def release(self, stream: MediaStream, now_ms: int, out: list[Input]) -> None:
        """What has waited long enough for lost pieces goes on without them."""
        for name, order in stream.orders.items():
            if order.held:
                for piece in order.due(now_ms):
                    self._put(stream, self._tracks[name], piece, now_ms, out)

    def close(self, stream: MediaStream, now_ms: int, out: list[Input]) -> None:
        """A stream is over: what it still held is heard."""
        stream.open = False
        for name, order in stream.orders.items():
            track = self._tracks[name]
            if self._owners.get(name) is not stream:
                continue
            for piece in order.flush():
                self._put(stream, track, piece, now_ms, out)
            tail = stream.decoders[name].finish()[0]
            if tail:
                track.append(tail, out)

    def stall(self, until_ms: int, out: list[Input]) -> None:
        """Nothing is known of any track up to `until_ms`, nor up to the audio that comes next."""
        for name in self._declared or TRACKS:
            track = self._tracks[name]
            track.interrupt()
            track.stall(until_ms, out)
