"""A recording with its transcript: the words come as `Text` between the pieces of audio, each where it had been said.

Pieces are cut where words end, so that the same audio lies before them however it is read. Everything before that
moment comes before the words, on both tracks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence

import msgspec

from connectors.base import Connector
from connectors.inputs import Audio, CallEnded, CallStarted, Input, Notice, Text
from connectors.source import SourceOptions
from connectors.transcript_file import Spoken, Transcript, read_transcript, transcript_beside, worded

NOTICE = "transcript"
MAX_HELD_BYTES = 2 * 2**20
"""So much of one track waits for the other one to come to the same moment."""


def with_words(connector: Connector, options: SourceOptions, recordings: Sequence[str] = ()) -> Connector:
    """The connector of a recording, with the words of its transcript if it has one: the one that `options` name, else
    what lies beside `recordings`, if that is one file. Raises `SourceError` if the transcript that was named cannot
    be used."""
    transcript = None
    if options.transcript:
        transcript = read_transcript(options.transcript)
    elif options.transcript is None and len(recordings) == 1:
        transcript = transcript_beside(recordings[0])
    return connector if transcript is None else WithWords(connector, transcript)


class WithWords:
    """A recording and what was said in it. A `connectors.base.Connector`."""

    def __init__(self, connector: Connector, transcript: Transcript) -> None:
        self._connector = connector
        self._transcript = transcript
        self.live = connector.live
        self.length_ms = connector.length_ms

    async def inputs(self) -> AsyncIterator[Input]:
        """See `Connector.inputs`."""
        between = WordsBetween(self._transcript)
        inputs = self._connector.inputs()
        try:
            async for given in inputs:
                for one in between.take(given):
                    yield one
        finally:
            if close := getattr(inputs, "aclose", None):
                await close()


class WordsBetween:
    """Puts the words of a transcript between the inputs of a recording. Pure."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._words = deque(transcript.words)
        self._held: deque[Audio] = deque()
        self._held_bytes = 0
        self._reached: dict[str, int] = {}

    def take(self, given: Input) -> list[Input]:
        """The next input of the recording. -> what comes now, in order."""
        if isinstance(given, Audio):
            self._held.append(given)
            return self._audio_and_words()
        if isinstance(given, CallStarted):
            self._reached = dict.fromkeys(given.tracks, 0)
            remarks = [Notice(0, NOTICE, one.message, None, one.count) for one in self._transcript.remarks]
            return [given, *remarks, *self._without_track(given)]
        if isinstance(given, CallEnded):
            return [*self._rest(given.at), given]
        return [given]

    def _without_track(self, started: CallStarted) -> list[Input]:
        """Words on a track that the recording does not have are nobody's."""
        told: list[Input] = []
        lost = [spoken for spoken in self._words if spoken.track not in started.tracks]
        self._words = deque(spoken for spoken in self._words if spoken.track in started.tracks)
        for track in sorted({spoken.track for spoken in lost}):
            count = sum(spoken.track == track for spoken in lost)
            many = worded(count, "turn is", "turns are")
            message = f"{self._transcript.name}: {many} of the {track}, who is not in this recording"
            told.append(Notice(0, NOTICE, message, None, count))
        return told

    def _audio_and_words(self) -> list[Input]:
        out: list[Input] = []
        while True:
            border = self._words[0].end if self._words else None
            self._let_pass(border, out)
            if border is None:
                return out
            if min(self._reached.values(), default=0) < border and self._held_bytes <= MAX_HELD_BYTES:
                return out
            out.append(_text(self._words.popleft()))

    def _let_pass(self, border: int | None, out: list[Input]) -> None:
        """Whatever of the held audio lies before `border`."""
        rest: deque[Audio] = deque()
        for piece in self._held:
            head, tail = _cut(piece, border)
            if head is not None:
                out.append(head)
                self._reached[head.track] = max(self._reached.get(head.track, 0), _end_of(head))
            if tail is not None:
                self._reached[tail.track] = max(self._reached.get(tail.track, 0), tail.at)
                rest.append(tail)
        self._held = rest
        self._held_bytes = sum(len(piece.pcm) for piece in rest)

    def _rest(self, end: int) -> list[Input]:
        """The call is over: what is left, with the words that had not been said to their end by then."""
        out: list[Input] = []
        beyond = 0
        while self._words:
            spoken = self._words.popleft()
            if spoken.start >= end:
                beyond += 1
                continue
            self._let_pass(spoken.end, out)
            out.append(_text(msgspec.structs.replace(spoken, end=min(spoken.end, end))))
        self._let_pass(None, out)
        if beyond:
            many = worded(beyond, "turn lies", "turns lie")
            message = f"{self._transcript.name}: {many} behind the end of the recording"
            out.append(Notice(end, NOTICE, message, None, beyond))
        return out


def _text(spoken: Spoken) -> Text:
    return Text(spoken.track, spoken.end, spoken.text, "transcript", start=spoken.start)


def _end_of(piece: Audio) -> int:
    return piece.at + len(piece.pcm) * 500 // piece.rate


def _cut(piece: Audio, at: int | None) -> tuple[Audio | None, Audio | None]:
    """The piece before and from `at` on."""
    if at is None or _end_of(piece) <= at:
        return piece, None
    if piece.at >= at:
        return None, piece
    middle = 2 * ((at - piece.at) * piece.rate // 1000)
    replace = msgspec.structs.replace
    return replace(piece, pcm=piece.pcm[:middle]), replace(piece, at=at, pcm=piece.pcm[middle:])
