"""Raw audio: `pcm:-` from standard input, `pcm:FILE` from a file or a named pipe.

What the bytes are, the options say: `encoding` (s16le), `rate` (8000 Hz), `channels` (caller,agent: interleaved, left
the caller; `caller` alone: one channel).

Time is counted in bytes. From a pipe the audio comes at its own pace (`live`), as fast as it is given: a pipe that
pauses holds back what it has and delivers it afterwards, so a pause is no time of the call and no `Elapsed` is made of
it; a `stalled` notice tells it once. Two channels that hold the same signal (a mono call through `ffmpeg -ac 2`) are
one speaker: to find that out, the beginning is held back until the channels differ, which in a call of two is a moment
after the first word.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import numpy as np

from connectors.base import Connector, ConnectorError, SourceError
from connectors.byte_source import ByteSource
from connectors.inputs import TRACKS, Audio, CallEnded, CallStarted, Input, Notice, Track, TrackFormat
from connectors.pcm import PcmDecoder, UnknownFormat
from connectors.pieces import RATE, Pieces
from connectors.same_signal import SameSignal
from connectors.source import Source, SourceOptions, shown

_HELD_MS = 30_000
"""So much of the beginning is held back at most, where nobody speaks."""
_SAME_MS = 5_000
"""So much of the same sound on both channels makes them one."""
_STALL_S = 5.0
_HEADERS = {
    b"RIFF": "a WAV file",
    b"fLaC": "a FLAC file",
    b"OggS": "an Ogg file",
    b"ID3\x03": "an MP3",
    b"ID3\x04": "an MP3",
}


def open_pcm(source: Source) -> Connector:
    """Raises `SourceError` for options that make no sense, `ConnectorError` for what cannot be opened."""
    source.refuse_extra()
    if source.path == "-":
        try:
            descriptor = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError):
            raise ConnectorError("there is no standard input to read from: pipe the audio into the command") from None
        return PcmStream(descriptor, source.options)
    return PcmStream(os.path.expanduser(source.path), source.options)


class PcmStream:
    """One call of raw bytes. A `connectors.base.Connector`. `place`: a path, or a file descriptor that stays open."""

    def __init__(self, place: str | int, options: SourceOptions, *, stall_s: float = _STALL_S) -> None:
        self._options = options
        self._stall_s = stall_s
        self._place_is_stdin = isinstance(place, int)
        self._name = shown(place) if isinstance(place, str) else "standard input"
        channels = options.channels or TRACKS
        self._columns: list[tuple[Track, int]] = sorted(
            ((track, i) for i, track in enumerate(channels) if track is not None), key=lambda c: TRACKS.index(c[0])
        )
        rate, encoding = options.rate or 8000, options.encoding or "s16le"
        try:
            self._decoder = PcmDecoder(encoding, rate, channels=len(channels))
        except UnknownFormat as error:
            raise SourceError(str(error)) from None
        plain = encoding.removeprefix("pcm_")
        width = {"mulaw": 1, "alaw": 1, "f32le": 4}.get(plain, 2) * len(channels)
        self._format = TrackFormat(plain if plain.endswith("law") else f"pcm_{plain}", rate)
        status = self._status(place)
        self.live = not stat.S_ISREG(status.st_mode)
        self.length_ms: int | None = None if self.live else -(-(status.st_size // width) * 1000 // rate)
        piece_ms = min(options.piece_ms, 1000)
        size = max(width, rate * piece_ms // 1000 * width)
        self._source = ByteSource(place, size)
        self._pieces = {track: Pieces(track) for track, _ in self._columns}
        self._same = SameSignal(RATE) if len(self._columns) == 2 else None

    def _status(self, place: str | int) -> os.stat_result:
        try:
            status = os.stat(place)
        except OSError as error:
            raise ConnectorError(f"{self._name} cannot be opened: {error.strerror}") from None
        if stat.S_ISDIR(status.st_mode):
            raise ConnectorError(f"{self._name} is a directory, not raw audio")
        if isinstance(place, int) and os.isatty(place):
            raise ConnectorError("standard input is a terminal: pipe raw audio into the command, or name a file")
        return status

    async def inputs(self) -> AsyncIterator[Input]:
        """See `Connector.inputs`."""
        try:
            async for given in self._call():
                yield given
        finally:
            self._source.close()

    async def _call(self) -> AsyncIterator[Input]:
        try:
            first = await self._source.read()
        except OSError as error:
            raise ConnectorError(f"{self._name} cannot be read: {error.strerror}") from None
        self._refuse_headers(first)
        started = datetime.now(UTC) if self.live else None
        held: list[Input] | None = []
        async for batch in self._body(first):
            last = batch[-1]
            if held is None:
                if isinstance(last, CallEnded) and self._same is not None and self._same.same:
                    message = "both channels held the same signal: the scores of this call mean nothing"
                    yield Notice(last.at, "mono", message)
            else:
                held += batch
                if self._undecided() and isinstance(last, Audio):
                    continue
                batch, held = self._begin(held, started), None
            for given in batch:
                yield given

    def _begin(self, held: list[Input], started: datetime | None) -> list[Input]:
        """The call's first inputs, with one track less where both hold the same."""
        options, why = self._options, None
        tracks = [track for track, _ in self._columns]
        if self._same is not None and self._same.same:
            why, self._same = "both channels hold the same signal", None
            del self._columns[1:], tracks[1:], self._pieces["agent"]
            held = [given for given in held if not (isinstance(given, Audio) and given.track == "agent")]
        elif len(tracks) == 1:
            why = "only one channel is watched"
        call = options.call or ("stdin" if self._place_is_stdin else os.path.splitext(os.path.basename(self._name))[0])
        if started is not None and options.call is None:
            call += f"-{started:%Y%m%dT%H%M%S}"  # the same pipe brings another call next time
        stamp = f"{started:%Y-%m-%dT%H:%M:%SZ}" if started is not None else None
        formats: dict[str, TrackFormat] = dict.fromkeys(tracks, self._format)
        begin: list[Input] = [CallStarted(call, "pcm", stamp, options.agent_id, options.labels, formats)]
        if why is not None:
            message = f"{why}: watched as {tracks[0]}, not scored as two speakers"
            begin.append(Notice(0, "mono", message, tracks[0]))
        return begin + held

    def _refuse_headers(self, first: bytes) -> None:
        if not first:
            raise ConnectorError(f"{self._name} ended without any audio: see what the program before it says")
        if kind := _HEADERS.get(first[:4]):
            name = "FILE" if self._place_is_stdin else self._name
            way = f"watch it as wav:{name}, or write raw samples (ffmpeg -f s16le)"
            raise ConnectorError(f"{self._name} holds {kind}, not raw samples: {way}")

    async def _body(self, data: bytes) -> AsyncIterator[list[Input]]:
        """Audio, notices and, alone with what goes before it, the end: as if both channels counted."""
        samples, failed, stalled = 0, None, False
        while data:
            parts = self._decoder.decode(data)
            samples += len(parts[0]) // 2
            if pieces := self._cut(parts):
                yield pieces
            reading = asyncio.ensure_future(self._source.read())
            try:
                while not (await asyncio.wait([reading], timeout=self._stall_s))[0]:
                    if not stalled:
                        stalled = True
                        message = f"{self._name} has given no audio for {self._stall_s:g} s: waiting for more"
                        yield [Notice(samples * 1000 // RATE, "stalled", message)]
                stalled = False
                data = reading.result()
            except OSError as error:
                failed, data = error.strerror or str(error), b""
            finally:
                reading.cancel()
        rest = self._decoder.finish()
        end = -(-(samples + len(rest[0]) // 2) * 1000 // RATE)
        last = self._cut(rest)
        for track in self._pieces.values():
            last += track.flush()
        if spare := self._decoder.spare_bytes:
            what = f"{spare} byte{'s' if spare > 1 else ''} at the end of {self._name}"
            last.append(Notice(end, "bad_payload", f"{what}: no whole sample, dropped", None, spare))
        last.append(CallEnded(end, "failed", f"{self._name}: {failed}") if failed else CallEnded(end, "end_of_file"))
        yield last

    def _cut(self, parts: tuple[bytes, ...]) -> list[Input]:
        if self._same is not None and not self._same.two_speakers:
            left, right = (np.frombuffer(parts[column], "<i2") for _, column in self._columns)
            self._same.add(left, right)
        return [piece for track, column in self._columns for piece in self._pieces[track].cut(parts[column])]

    def _undecided(self) -> bool:
        """Nothing can be said yet about whether there are two speakers."""
        if self._same is None or self._same.two_speakers:
            return False
        return self._same.same_ms < _SAME_MS and self._pieces["agent"].at < _HELD_MS
