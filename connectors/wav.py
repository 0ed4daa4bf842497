"""Recordings: `wav:call.flac` (left caller, right agent) and `wav:caller.wav,agent.wav`.

| the recording | is watched as |
|---|---|
| one file, two channels | left the caller, right the agent; `?channels=agent,caller` swaps |
| one file, more channels | the first two, or what `channels=` says; told as a notice (`channels`) |
| one file, one channel; or two that hold the same signal | one track, told as a notice (`mono`) |
| two files | the first the caller, the second the agent; rates may differ, the shorter one is silent at its end |

A recording says nothing about when it was made, so `started_at` is None. Its words come from a transcript
(`connectors.transcript_file`), if it has one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from connectors.base import Connector, ConnectorError, SourceError
from connectors.inputs import TRACKS, Audio, CallEnded, CallStarted, Input, Notice, Track, TrackFormat
from connectors.pcm import PcmDecoder, UnknownFormat
from connectors.pieces import Pieces
from connectors.recorded_file import NotReadable, RecordedFile
from connectors.same_signal import SameSignal
from connectors.source import Source, SourceOptions, shown
from connectors.spoken_words import with_words

_UNEQUAL_MS = 1000
_SCAN_MS = 4000


def open_recording(source: Source) -> Connector:
    """Raises `SourceError` for a wrong word, `ConnectorError` for a file that cannot be read."""
    source.refuse_extra()
    if source.options.piece_ms < 1:
        raise SourceError(f"pieces of {source.options.piece_ms} ms: a piece lasts at least 1 ms")
    names = [source.path] if os.path.exists(os.path.expanduser(source.path)) else source.path.split(",")
    if len(names) > 2 or not all(names):
        raise SourceError(f"{source.word}: a recording is one file, or two as in wav:caller.wav,agent.wav")
    files: list[RecordedFile] = []
    try:
        for name in names:
            # A shell does not expand the ~ of wav:~/call.wav.
            files.append(RecordedFile(os.path.expanduser(name)))
        return with_words(Recording(files, source.options), source.options, [file.path for file in files])
    except BaseException as error:
        for file in files:
            file.close()
        if isinstance(error, NotReadable) and len(names) == 1 and source.options.encoding:
            from connectors.pcm_stream import open_pcm

            return with_words(open_pcm(source), source.options)
        raise


class Recording:
    """One recorded call. A `connectors.base.Connector`; the files are open from the beginning."""

    live = False

    def __init__(self, files: list[RecordedFile], options: SourceOptions) -> None:
        self._files = files
        self._options = options
        self._notices: list[Notice] = [
            Notice(0, "bad_header", f"{file.name}: {remark}") for file in files for remark in file.remarks
        ]
        self._legs = self._one_file(files[0]) if len(files) == 1 else self._two_files()
        self._contradictions()
        self.length_ms: int | None = max(file.length_ms for file in files)

    def _one_file(self, file: RecordedFile) -> list[_Leg]:
        wanted = self._options.channels or TRACKS
        if file.channels == 1 and len(wanted) > 1:
            wanted = (wanted[0] or "caller",)
        columns: list[tuple[Track, int]] = [(t, i) for i, t in enumerate(wanted) if t is not None and i < file.channels]
        if not columns:
            raise SourceError(f"{file.name} has {_channels(file)}: channels= names none of them")
        if file.channels > len(wanted):
            heard = " and ".join(f"channel {i + 1} as {track}" for track, i in columns)
            self._tell("channels", f"{file.name} has {_channels(file)}: {heard} is watched, the rest is not")
        return [_Leg(file, sorted(columns, key=lambda column: TRACKS.index(column[0])))]

    def _two_files(self) -> list[_Leg]:
        wanted = self._options.channels or TRACKS
        if len(wanted) != 2 or None in wanted:
            raise SourceError("two files hold one speaker each: channels=caller,agent or channels=agent,caller")
        legs: list[_Leg] = []
        for file, track in zip(self._files, wanted, strict=True):
            assert track is not None
            if file.channels > 1:
                self._tell("channels", f"{file.name} has {_channels(file)}: only the first is watched, as {track}")
            legs.append(_Leg(file, [(track, 0)]))
        short, long = sorted(self._files, key=lambda file: file.length_ms)
        if long.length_ms - short.length_ms > _UNEQUAL_MS:
            message = f"{short.name} ends {(long.length_ms - short.length_ms) / 1000:.1f} s before {long.name}"
            self._tell("length", f"{message}: from there on that side is taken as silent")
        return sorted(legs, key=lambda leg: TRACKS.index(leg.tracks[0]))

    def _contradictions(self) -> None:
        rate, encoding = self._options.rate, self._options.encoding
        for file in self._files:
            if rate is not None and rate != file.rate:
                self._tell(
                    "ignored_option",
                    f"{file.name} says itself that it has {file.rate} Hz; rate={rate} is not used",
                )
            if encoding is not None and encoding.removeprefix("pcm_") != file.encoding.removeprefix("pcm_"):
                self._tell("ignored_option", f"{file.name} holds {file.encoding}; encoding={encoding} is not used")

    def _tell(self, kind: str, message: str) -> None:
        self._notices.append(Notice(0, kind, message))

    async def inputs(self) -> AsyncIterator[Input]:
        """See `Connector.inputs`. Before the first input the channels are compared, as far into the recording as it
        takes to know that they differ."""
        try:
            await self._one_speaker()
            tracks: dict[str, TrackFormat] = {t: leg.format for leg in self._legs for t in leg.tracks}
            options = self._options
            call = options.call or "+".join(os.path.splitext(os.path.basename(f.path))[0] for f in self._files)
            yield CallStarted(call, "wav", None, options.agent_id, options.labels, tracks)
            for notice in self._notices:
                yield notice
            until = 0
            while any(leg.going for leg in self._legs):
                until += options.piece_ms
                for piece in self._step(until):
                    yield piece
            end = max(leg.file.end_ms for leg in self._legs)
            for leg in self._legs:
                if leg.file.damage is not None:
                    message = f"{leg.file.name} can be read for {leg.file.end_ms / 1000:.3f} s only: {leg.file.damage}"
                    yield Notice(end, "bad_payload", message)
            yield CallEnded(end, "end_of_file")
        finally:
            for file in self._files:
                file.close()

    def _step(self, until: int) -> list[Audio]:
        """Everything up to `until` ms, or up to the end of the longest file."""
        pieces = [piece for leg in self._legs if leg.going for piece in leg.read(until)]
        end = until if any(leg.going for leg in self._legs) else max(leg.file.end_ms for leg in self._legs)
        return pieces + [piece for leg in self._legs if not leg.going for piece in leg.pad(end)]

    async def _one_speaker(self) -> None:
        """Finds out whether there is only one signal, and then leaves one track of it."""
        tracks = [track for leg in self._legs for track in leg.tracks]
        if len(tracks) == 2 and await asyncio.to_thread(self._same_signal):
            self._legs[0].keep_first()
            del self._legs[1:]
            why = "both channels hold the same signal"
        elif len(tracks) == 1:
            why = "only one channel is watched" if self._files[0].channels > 1 else "the recording has one channel"
        else:
            return
        (track,) = self._legs[0].tracks
        message = f"{why}: watched as {track}, not scored as two speakers"
        self._notices.insert(0, Notice(0, "mono", message, track))

    def _same_signal(self) -> bool:
        """Reads copies of the files, so that the reading proper begins at the beginning."""
        rate = self._files[0].rate
        if any(file.rate != rate for file in self._files):
            return False
        copies = [RecordedFile(file.path) for file in self._files]
        same = SameSignal(rate)
        try:
            while not same.two_speakers:
                blocks = [copy.read(rate * _SCAN_MS // 1000) for copy in copies]
                shared = min(map(len, blocks))
                if not shared:
                    break
                if len(blocks) == 2:
                    left, right = blocks[0][:shared, 0], blocks[1][:shared, 0]
                else:
                    left, right = (blocks[0][:, column] for column in self._legs[0].columns)
                same.add(left, right)
        finally:
            for copy in copies:
                copy.close()
        return same.same


class _Leg:
    """One file and the tracks that come out of it. `columns`: the channel of each of `tracks`."""

    def __init__(self, file: RecordedFile, columns: list[tuple[Track, int]]) -> None:
        self.file = file
        self.going = True
        self._set(columns)

    def _set(self, columns: list[tuple[Track, int]]) -> None:
        self.tracks = [track for track, _ in columns]
        self.columns = [column for _, column in columns]
        self._pieces = [Pieces(track) for track in self.tracks]
        try:
            self._decoder = PcmDecoder("s16le", self.file.rate, channels=len(columns))
        except UnknownFormat as error:
            raise ConnectorError(f"{shown(self.file.path)}: {error}") from None

    def keep_first(self) -> None:
        """Before anything is read: the other tracks hold nothing of their own."""
        self._set([(self.tracks[0], self.columns[0])])

    @property
    def format(self) -> TrackFormat:
        return TrackFormat(self.file.encoding, self.file.rate)

    def read(self, until: int) -> list[Audio]:
        """The pieces up to `until` ms; `going` is False once the file has come to its end."""
        wanted = self.file.rate * until // 1000 - self.file.frames_read
        block = self.file.read(wanted)
        if self.columns != list(range(self.file.channels)):
            block = block[:, self.columns]
        pcm = self._decoder.decode(block.tobytes())
        pieces = [piece for pieces, part in zip(self._pieces, pcm, strict=True) for piece in pieces.cut(part)]
        if len(block) == wanted:
            return pieces
        self.going = False
        rest = self._decoder.finish()
        for track, part in zip(self._pieces, rest, strict=True):
            pieces += track.cut(part) + track.flush()
        return pieces

    def pad(self, until: int) -> list[Audio]:
        """Silence behind the end of the file."""
        return [piece for pieces in self._pieces for piece in pieces.silence(until)]


def _channels(file: RecordedFile) -> str:
    return f"{file.channels} channel" + "s" * (file.channels != 1)
