"""Room 5: speech frames of a track -> the edges of its stretches.

| state | on a speech frame | on another frame | on an unknown frame |
|---|---|---|---|
| idle | `RISE`: a candidate begins here | - | - |
| candidate | counter +20; sure: `OPEN`, back-dated | counter -20; at 0: `FALL` | stays; after 300 ms as another |
| open | voiced to here; `RESUME` after a lull | `LULL`; after 200 ms: `CLOSE` | not counted for 300 ms |

A candidate is sure when its counter has been at 60 ms, it is 100 ms long and it is no tone. A doubted frame makes a
candidate as a speech frame does, but at least one speech frame makes it sure; to an open stretch it is as another.
Each edge says when it was known. A frame of nothing but zeros is taken as lost for as long as a loss lasts (300 ms),
then as silence.

Both ends are trimmed by level (`monitor.core.levels`). A voice that dies away under noise is lost before it ends: its
end is told later, by so much for each dB of noise over the level of the trim. A start that has been told is never moved
again.
"""

from __future__ import annotations

from collections.abc import Callable

from monitor.core.clock import FRAME_MS
from monitor.core.edges import CLOSE, FALL, LULL, OPEN, RESUME, RISE, Edge
from monitor.core.levels import Levels
from monitor.core.speech import DOUBTED, SILENT, UNKNOWN, VOICED, ZERO, SpeechSettings
from monitor.core.tones import ToneFrame, ToneGuard

NEVER = 1 << 60
TONE_FRAMES_BACK = 6
"""After a tone a voice is found within five frames; each is looked at together with the one before it."""

MAX_CANDIDATE_FRAMES = 15
"""A candidate that has not opened after 300 ms begins anew: nothing may hold the timeline back for longer."""

SLIDE_FRAMES = 5
"""A candidate that is only doubted keeps its last 200 to 300 ms: so far back may a voice begin, once it is sure."""

TAIL_UNDER_DB = 27.0
"""What is louder than this over the level of the trim is another sound, not the noise that a voice dies away in."""

VOICES = bytes([VOICED])
LookAt = Callable[[int, list[int]], list[ToneFrame]]  # (first frame, energies) -> what the tone guard makes of them


class Segmenter:
    """Finds the stretches of one track. Frames come in order, each once."""

    def __init__(self, settings: SpeechSettings, look: LookAt) -> None:
        self._look = look
        self._open_ms = settings.open_ms
        self._close = settings.close_ms // FRAME_MS
        self._shortest = settings.min_stretch_ms
        self._lost_max = settings.lost_max_ms // FRAME_MS
        self._trim = (settings.trim_db, settings.trim_max_ms // FRAME_MS)
        self._counter = 0
        self._start = 0  # the first frame of the candidate or the open stretch
        self._last = 0  # the frame behind the last speech frame
        self._open = False  # told as speech
        self._silent = self._lost = 0
        self._fewest = max(-(-settings.open_ms // FRAME_MS), -(-settings.min_stretch_ms // FRAME_MS))
        self._levels = Levels(0, *self._trim)
        self._guard = ToneGuard()
        self._looked = 0  # the guard has seen every frame before this one
        self._reached = False  # a candidate that was voiced for long enough to open
        self._tone = False  # ... and was found to be a tone
        self._sure = False  # not every frame of it is doubted
        self._tail, self._tail_most = settings.tail_ms_per_db, settings.tail_max_ms
        self._after: list[tuple[int, bool]] = []  # since its last speech frame: energies, and what was doubted

    @property
    def idle(self) -> bool:
        """Nothing is open and nothing is a candidate."""
        return not self._counter and not self._open

    @property
    def soonest(self) -> int:
        """So many frames more, at the least, until an edge can open or close a stretch."""
        if self._open:
            # a run of zeros, long taken for a loss, turns into silence all at once
            return max(1, min(self._close - self._silent, self._lost_max + 1 - self._lost))
        if not self._counter:
            return self._fewest
        return 1 if self._tone else max(1, self._fewest - len(self._levels))

    @property
    def looks_back_to(self) -> int:
        """The tone guard looks at no frame before this one any more; a candidate that was a tone may begin anew."""
        return self._looked - TONE_FRAMES_BACK if self._counter and not self._open else NEVER

    def feed(self, first: int, kinds: bytes, energy: list[int], offset: int = 0) -> list[Edge]:
        """The next frames, from `first` on: their kinds, and in `energy`, from `offset` on, the energies of the voiced
        ones. -> the edges they bring, in order."""
        edges: list[Edge] = []
        at, count = 0, len(kinds)
        while at < count:
            if self._open and kinds[at] == VOICED:
                until = count - len(kinds[at:].lstrip(VOICES))
                self._on(first + at, first + until, energy[at + offset : until + offset], edges)
                at = until
                continue
            if not self._counter and not self._open:
                at = min([k for k in (kinds.find(VOICED, at), kinds.find(DOUBTED, at)) if k >= 0], default=-1)
                if at < 0:
                    break
            self._frame(first + at, kinds[at], energy[at + offset], edges)
            at += 1
        return edges

    def _on(self, k: int, until: int, energy: list[int], edges: list[Edge]) -> None:
        """An open stretch is voiced in the frames from `k` to `until`."""
        if self._silent + self._lost:
            known = (k + 1) * FRAME_MS
            edges.append(Edge(known, RESUME, known))
            self._silent = self._lost = 0
        self._levels.extend(energy)
        self._after.clear()
        self._last = until

    def _frame(self, k: int, kind: int, energy: int, edges: list[Edge]) -> None:
        known = (k + 1) * FRAME_MS
        doubted = self._open and kind == DOUBTED
        kind = SILENT if doubted else kind
        if kind in (VOICED, DOUBTED):
            if not self._counter:
                self._begin(k)
                edges.append(Edge(known, RISE, k * FRAME_MS))
            self._levels.add(energy)
            self._last, self._silent, self._lost = k + 1, 0, 0
            self._counter = min(self._counter + FRAME_MS, MAX_CANDIDATE_FRAMES * FRAME_MS)
            self._after.clear()
            self._sure = self._sure or kind == VOICED
            if self._sure:
                self._candidate(k, known, edges)
            elif k + 1 - self._start >= MAX_CANDIDATE_FRAMES:
                self._slide(known, edges)
            return
        self._levels.add(0)
        self._after.append((energy, doubted))
        if kind != SILENT and self._lost < self._lost_max:
            first_gap = not (self._silent + self._lost)
            self._lost += 1
            if self._open and first_gap:
                edges.append(Edge(known, LULL, self._last * FRAME_MS))
            return
        if kind == ZERO and self._lost >= self._lost_max:
            self._silent = max(self._silent, self._lost)  # a loss does not last so long: it was silence all along
        self._silent += 1
        if self._open:
            if self._silent + self._lost == 1:
                edges.append(Edge(known, LULL, self._last * FRAME_MS))
            if self._silent >= self._close:
                edges.append(self._closed(known, stall=kind == UNKNOWN))
            return
        if self._reached:
            # past its opening a candidate ends as a stretch does, so that a short word is not lost between two rules
            if self._silent >= self._close:
                self._end_candidate(known, edges)
            return
        self._counter -= FRAME_MS
        if self._counter <= 0:
            self._counter = 0
            edges.append(Edge(known, FALL, known))

    def _slide(self, known: int, edges: list[Edge]) -> None:
        self._start = self._looked = self._start + SLIDE_FRAMES
        self._levels.drop(SLIDE_FRAMES)
        edges.append(Edge(known, RISE, self._start * FRAME_MS))

    def _begin(self, k: int) -> None:
        self._start = self._looked = k
        self._levels = Levels(k, *self._trim)
        self._guard = ToneGuard()
        self._reached = self._tone = self._sure = False
        self._silent = self._lost = 0
        self._after.clear()

    def _candidate(self, k: int, known: int, edges: list[Edge]) -> None:
        """A speech frame more for a candidate: does it open?"""
        if self._counter >= self._open_ms:
            self._reached = True
        if not self._reached:
            if k - self._start >= MAX_CANDIDATE_FRAMES:
                energy = self._levels[k]
                self._begin(k)
                self._levels.add(energy)
                self._counter = FRAME_MS
                edges += [Edge(known, FALL, known), Edge(known, RISE, k * FRAME_MS)]
            return
        if self._tone:
            self._listen(k + 1)
            ago = self._guard.recent_voice()
            if ago is None:
                return
            begin = max(self._levels.first, k + 1 - ago)
            self._start, self._tone = begin, False
            self._guard = ToneGuard()
            self._looked = begin
            self._levels.drop(begin - self._levels.first)
            edges.append(Edge(known, RISE, begin * FRAME_MS))
        if (k + 1 - self._start) * FRAME_MS < self._shortest:
            return
        self._listen(k + 1)
        if self._guard.sounds_like_voice():
            self._opened(known, edges)
        elif self._guard.is_tone() and (k + 1 - self._start) * FRAME_MS >= 450:
            self._tone = True
            edges.append(Edge(known, FALL, known))

    def _listen(self, until: int) -> None:
        first = max(self._looked, self._levels.first)
        for frame in self._look(first, self._levels.since(first)[: until - first]):
            self._guard.add(frame)
        self._looked = until

    def _opened(self, known: int, edges: list[Edge]) -> None:
        self._open = True
        self._start = self._levels.start(self._start, self._last - 1)
        edges.append(Edge(known, OPEN, self._start * FRAME_MS))

    def _end_candidate(self, known: int, edges: list[Edge]) -> None:
        """A candidate's voice has ended before it was sure. What was too short or a tone falls; a word stands."""
        self._listen(self._last)
        long = (self._last - self._start) * FRAME_MS >= self._shortest
        if long and self._sure and self._reached and not self._tone and not self._guard.is_tone():
            self._opened(known, edges)
            edges.append(self._closed(known, stall=False))
            return
        if not self._tone:
            edges.append(Edge(known, FALL, known))
        self._counter = 0

    def _closed(self, known: int, *, stall: bool) -> Edge:
        end = self._levels.end(self._last, self._start + self._shortest // FRAME_MS)
        last = end * FRAME_MS
        over = self._levels.noise_over(sorted(self._after)[len(self._after) // 2][0]) if self._after else 0.0
        over = over if 0 < over < TAIL_UNDER_DB else 0.0
        last = min(known, last + min(self._tail_most, round(self._tail * over)))
        self._open, self._counter = False, 0
        self._levels = Levels(0, *self._trim)
        return Edge(known, CLOSE, last, stall, over, 2 * sum(doubted for _, doubted in self._after) > len(self._after))

    def finish(self, known: int) -> list[Edge]:
        """The track ends here: what is open closes, and a candidate that is long enough stands."""
        edges: list[Edge] = []
        if self._open:
            edges.append(self._closed(known, stall=False))
        elif self._counter:
            self._end_candidate(known, edges)
        return edges
