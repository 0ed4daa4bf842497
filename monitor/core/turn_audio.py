"""Keeps the sound of turns, so that the words of a finished one can be asked for; only where a transcriber is there.

| asked about | |
|---|---|
| a turn that ends without words | yes |
| a backchannel | no: it says nothing that is judged |
| a turn of a party whose words the source itself brings | no: those are waited for |

Memory is bounded. Of a party that is silent the last `LOOK_BACK_MS` are kept (a turn is told some time after it began),
of one that speaks everything since its turn began, but never more than `MAX_MS` and `MAX_TRACK_BYTES`; of a longer turn
the end is asked about. What has been asked and not been taken is bounded by `MAX_ASKED_BYTES`.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from connectors.inputs import Text, Track
from monitor.core.clock import FRAME_MS
from monitor.core.events import Role, Turn
from monitor.core.framing import Block
from monitor.core.questions import TranscribeRequest
from monitor.core.transcription import Transcription

LOOK_BACK_MS: Final = 15_000
MAX_MS: Final = 120_000
MAX_TRACK_BYTES: Final = 2 * 2**20
MAX_ASKED_BYTES: Final = 2 * 2**20
MAX_AWAITED: Final = 256

BEFORE_MS: Final = 200
AFTER_MS: Final = 300
"""So much around a turn goes with it: its soft beginning and end."""

TRACK_OF_ROLE: Final[dict[Role, Track]] = {"user": "caller", "assistant": "agent"}


class _Run:
    """Sound without holes, from frame `first` on."""

    __slots__ = ("first", "pcm")

    def __init__(self, first: int) -> None:
        self.first = first
        self.pcm = bytearray()


class TrackAudio:
    """The sound of one track as far as turns may need it. `rate`: samples a second."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.open: dict[int, int] = {}
        """The turns that go on: index -> start in ms."""
        self.last_end = 0
        """Where the latest turn that has ended did so, in ms."""
        self._frame = 2 * rate * FRAME_MS // 1000
        self._runs: deque[_Run] = deque()
        self._bytes = 0

    @property
    def kept_bytes(self) -> int:
        """How much is kept."""
        return self._bytes

    def hear(self, block: Block, released: int) -> None:
        """The next frames of the track. `released`: the frame that every track of the call has reached; turns are told
        of what lies before it."""
        if block.pcm is not None:
            last = self._runs[-1] if self._runs else None
            if last is None or last.first + len(last.pcm) // self._frame != block.first:
                last = _Run(block.first)
                self._runs.append(last)
            last.pcm += block.pcm
            self._bytes += len(block.pcm)
        self._forget(block.first + block.frames, released)

    def _forget(self, heard: int, released: int) -> None:
        starts = [start - BEFORE_MS for start in self.open.values()]
        wanted = min([released * FRAME_MS - LOOK_BACK_MS, *starts])
        first = max(wanted, heard * FRAME_MS - MAX_MS) // FRAME_MS
        while self._runs:
            run = self._runs[0]
            spare = (self._bytes - MAX_TRACK_BYTES + self._frame - 1) // self._frame
            frames = min(max(first - run.first, spare), len(run.pcm) // self._frame)
            if frames <= 0:
                break
            del run.pcm[: frames * self._frame]
            run.first += frames
            self._bytes -= frames * self._frame
            if not run.pcm:
                self._runs.popleft()

    def cut(self, start: int, end: int) -> bytes:
        """What is kept of [`start`, `end`) ms, from the first sample kept on; holes in it are silent. Empty where
        nothing is kept of it."""
        out = bytearray()
        at: int | None = None
        per_ms = 2 * self.rate // 1000
        for run in self._runs:
            begin = run.first * FRAME_MS
            first, last = max(start, begin), min(end, begin + len(run.pcm) // per_ms)
            if first >= last:
                continue
            if at is not None:
                out += bytes((first - at) * per_ms)
            out += run.pcm[(first - begin) * per_ms : (last - begin) * per_ms]
            at = last
        return bytes(out)


class TurnAudio:
    """The sound of one call's turns, and what is asked about them. `wait_ms`: so long after a turn's end its words may
    take. `call`: the call's id, once it is known. `lost`: turns that should have been asked about and were not. `took`:
    what was asked and what the answers took."""

    def __init__(self, wait_ms: int) -> None:
        self._wait_ms = wait_ms
        self._tracks: dict[Track, TrackAudio] = {}
        self._worded: set[Track] = set()
        self._asked: deque[TranscribeRequest] = deque()
        self._asked_bytes = 0
        self._awaited: dict[int, int] = {}
        self.call = ""
        self.lost = 0
        self.took = Transcription()

    def lay(self, track: Track, rate: int) -> TrackAudio:
        """Where the sound of `track` is to be put, from now on."""
        laid = self._tracks[track] = TrackAudio(rate)
        return laid

    def text(self, given: Text) -> None:
        """Words have come: an answer, be it an empty one, or the source's own words of this party."""
        if given.turn is None:
            self._worded.add(given.track)
        else:
            self._awaited.pop(given.turn, None)
            self.took.add(given)

    def started(self, turn: Turn) -> None:
        """A turn has begun."""
        track = self._tracks.get(TRACK_OF_ROLE[turn.role])
        if track is not None:
            track.open[turn.index] = turn.start_ms

    def ended(self, turn: Turn, now: int) -> None:
        """A turn has ended, which is known at `now` (ms), with the words in `turn.text`."""
        name = TRACK_OF_ROLE[turn.role]
        track = self._tracks.get(name)
        if track is None:
            return
        start = track.open.pop(turn.index, turn.start_ms)
        begin = max(start - BEFORE_MS, min(track.last_end, start))
        end = min([turn.end_ms + AFTER_MS, *(one for one in track.open.values() if one >= turn.end_ms)])
        track.last_end = max(track.last_end, turn.end_ms)
        if turn.backchannel or turn.text or name in self._worded:
            return
        if not track.cut(begin, turn.end_ms):
            self.lost += 1
            return
        pcm, due = track.cut(begin, end), now + self._wait_ms
        self._ask(TranscribeRequest(self.call, turn.index, turn.role, pcm, track.rate, now, due))

    def _ask(self, request: TranscribeRequest) -> None:
        self._asked.append(request)
        self._asked_bytes += len(request.pcm)
        self._awaited[request.turn] = request.due_ms
        self.took.turns += 1
        if len(self._awaited) > MAX_AWAITED:
            del self._awaited[next(iter(self._awaited))]
        while self._asked_bytes > MAX_ASKED_BYTES and len(self._asked) > 1:
            oldest = self._asked.popleft()
            self._asked_bytes -= len(oldest.pcm)
            self._awaited.pop(oldest.turn, None)
            self.took.turns -= 1
            self.lost += 1

    def awaited(self, now: int) -> int:
        """How many turns have been asked about and have no answer yet, though there is still time for it."""
        return sum(now < due for due in self._awaited.values())

    def take(self) -> list[TranscribeRequest]:
        """What is to be asked, since the last call."""
        asked, self._asked = list(self._asked), deque()
        self._asked_bytes = 0
        return asked
