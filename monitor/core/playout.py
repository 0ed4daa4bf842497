"""From what was delivered to what was heard: bursts wait for their time, a cut ends them.

Audio of a `delivered` track reaches the client ahead of its playing. This room keeps the queue that the client keeps,
by one rule: a piece starts at max(delivered + start buffer, end of the piece before). A cut (an interruption) shortens
the queue the way the client's policy says. Nothing is handed on before its time, so nothing is ever taken back.

| `cutting`   | at a cut, what was queued |
|---|---|
| `immediate` | is silenced at once |
| `message`   | the delivered piece that is playing runs to its own end; the rest is never heard |
| `fade`      | plays on under a fade of 80 dB in 2 s (heard for max(0, 0.5 - 0.75·Δ) s) or until it gets new audio |

Δ is the time from the last delivery to the cut; the fade's figures are derived from the JavaScript client's source.

Which later audio belongs to the cut response is told by ids. The **last** cut's id counts, not the largest; a cut
without an id means the highest id delivered so far. Audio with a smaller id than the cut's is late. Audio with the very
id of the cut is late too, with one exception, `keep_equal`: where nothing of that id had been delivered before the cut,
the cut named the reply that was to come, and it is new. Some clients know no such exception and drop it; their caller
hears silence, so their policy says `keep_equal=False`. Late audio is dropped or played as `late` says.

Times are ms of media time at the client: the sender's clock plus the one-way delay. Places are kept in samples, since a
piece need not last a whole number of ms.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from connectors.inputs import PlayoutPolicy
from monitor.core.clock import Span

MAX_WAITING_S = 600
"""How much audio may wait for its time; a client that is sent more than this ahead is not believed."""

MAX_PIECES = 30_000
MAX_RESPONSES = 512

_FADE_HEARD_MS = 500
"""A fade passes -20 dB, which is taken as inaudible, this long after the cut if audio was delivered at that moment."""


class Heard(NamedTuple):
    """Audio as it was heard: s16le mono from `at_ms` on, of the response with that id (None where there is none)."""

    at_ms: int
    pcm: bytes
    response: int | None


class _Piece:
    """Audio waiting to be heard at samples [`start`, `end`), of which `taken` samples were handed on."""

    __slots__ = ("end", "pcm", "response", "start", "taken")

    def __init__(self, start: int, pcm: bytes, response: int | None) -> None:
        self.start = start
        self.end = start + len(pcm) // 2
        self.pcm = pcm
        self.response = response
        self.taken = 0

    def take(self, until: int) -> bytes:
        """The samples not handed on yet that lie before `until`."""
        first, self.taken = self.taken, min(until, self.end) - self.start
        return self.pcm[2 * first : 2 * self.taken]

    def shorten(self, end: int) -> None:
        """Nothing from sample `end` on is going to be heard."""
        self.pcm = self.pcm[: 2 * (end - self.start)]
        self.end = end


class Playout:
    """The client's queue of one `delivered` track whose audio has `rate` Hz.

    `unheard_ms`: audio that a cut silenced before it was heard. `late_dropped`, `late_dropped_ms`: pieces, and their
    length, that came after their response was cut and which the client drops. `overflow_ms`: audio that would have had
    to wait behind more than `MAX_WAITING_S` of other audio and was left out; the caller should tell it as a notice.
    """

    def __init__(self, policy: PlayoutPolicy, rate: int) -> None:
        self.policy = policy
        self.rate = rate
        self.late_dropped = 0
        self._buffer = policy.buffer_ms * rate // 1000
        self._pieces: deque[_Piece] = deque()
        self._waiting = self._unheard = self._late = self._overflow = 0
        self._end = self._retired_end = self._released = self._delivered = -(1 << 62)
        self._spans: dict[int, tuple[int, int] | None] = {}
        self._highest: int | None = None
        self._cut_id: int | None = None
        self._cut_response_began = False
        self._fading = False

    @property
    def unheard_ms(self) -> int:
        """Audio in ms that was silenced by cuts."""
        return self._unheard * 1000 // self.rate

    @property
    def late_dropped_ms(self) -> int:
        """Audio in ms that came after the cut of its response and was dropped."""
        return self._late * 1000 // self.rate

    @property
    def overflow_ms(self) -> int:
        """Audio in ms that was left out because too much was waiting."""
        return self._overflow * 1000 // self.rate

    @property
    def waiting_ms(self) -> int:
        """Audio in ms that is scheduled and was not handed on yet."""
        return self._waiting * 1000 // self.rate

    def deliver(self, at: int, pcm: bytes, response: int | None = None) -> None:
        """The client has `pcm` (s16le mono; an odd byte at the end is ignored) in hand at `at`."""
        moment = at * self.rate // 1000
        samples = len(pcm) // 2
        if self._is_late(response):
            self.late_dropped += 1
            self._late += samples
            return
        if self._fading:
            self._silence_from(moment)
            self._fading = False
        self._delivered = moment
        if response is not None and (self._highest is None or response > self._highest):
            self._highest = response
        room = MAX_WAITING_S * self.rate - self._waiting if len(self._pieces) < MAX_PIECES else 0
        kept = min(samples, room)
        self._overflow += samples - kept
        if not kept:
            return
        piece = _Piece(max(moment + self._buffer, self._end, self._released), pcm[: 2 * kept], response)
        self._pieces.append(piece)
        self._end = piece.end
        self._waiting += kept
        self._note(piece)

    def skip(self, at: int, length: int) -> Span:
        """The client has `length` ms of audio in hand at `at` that is not known here: what comes later waits behind it.
        -> when (ms) it is heard, unless it is cut."""
        start = max(at * self.rate // 1000 + self._buffer, self._end, self._released)
        self._end = start + min(length, 1000 * MAX_WAITING_S - self.waiting_ms) * self.rate // 1000
        return Span(start * 1000 // self.rate, self._end * 1000 // self.rate)

    def cut(self, at: int, response: int | None = None) -> int:
        """The client is told at `at` to stop playing `response` (None: everything delivered so far). -> the moment (ms)
        from which on nothing of what was queued is heard."""
        self._cut_id = self._highest if response is None else response
        self._cut_response_began = self._cut_id in self._spans
        moment = max(at * self.rate // 1000, self._released)
        if self.policy.cutting == "message":
            playing = next((piece for piece in self._pieces if piece.start <= moment < piece.end), None)
            moment = moment if playing is None else playing.end
        elif self.policy.cutting == "fade":
            since_delivery = max(0, moment - self._delivered)
            moment += max(0, _FADE_HEARD_MS * self.rate // 1000 - 3 * since_delivery // 4)
            self._fading = True
        self._silence_from(moment)
        return moment * 1000 // self.rate

    def release(self, until_ms: int) -> list[Heard]:
        """What is heard before `until_ms` and was not handed on yet, in order of time. Neighbours of one response
        that touch come as one piece."""
        until = until_ms * self.rate // 1000
        self._released = max(self._released, until)
        heard: list[tuple[int, list[bytes], int | None]] = []
        touching = None
        while self._pieces and self._pieces[0].start < until:
            piece = self._pieces[0]
            begin = piece.start + piece.taken
            pcm = piece.take(until)
            if pcm:
                self._waiting -= len(pcm) // 2
                if touching == begin and heard[-1][2] == piece.response:
                    heard[-1][1].append(pcm)
                else:
                    heard.append((begin, [pcm], piece.response))
                touching = begin + len(pcm) // 2
            if piece.end > until:
                break
            self._retired_end = piece.end
            self._pieces.popleft()
        return [Heard(begin * 1000 // self.rate, b"".join(parts), response) for begin, parts, response in heard]

    def heard_of(self, response: int) -> tuple[int, int] | None:
        """From when to when (ms) a response is heard as things stand, time to come included; a cut may still shorten
        it. None for a response that is not heard at all, or is older than the last `MAX_RESPONSES`."""
        span = self._spans.get(response)
        return None if span is None else (span[0] * 1000 // self.rate, span[1] * 1000 // self.rate)

    def _is_late(self, response: int | None) -> bool:
        """Whether the client drops audio with this id as the rest of a response that was cut."""
        if self.policy.late == "keep" or response is None or self._cut_id is None or response > self._cut_id:
            return False
        is_new = response == self._cut_id and self.policy.keep_equal and not self._cut_response_began
        return not is_new

    def _note(self, piece: _Piece) -> None:
        """Remember when the piece's response is heard; the oldest responses are forgotten."""
        if piece.response is None:
            return
        known = self._spans.get(piece.response)
        self._spans[piece.response] = (known[0] if known else piece.start, piece.end)
        if len(self._spans) > MAX_RESPONSES:
            del self._spans[next(iter(self._spans))]

    def _silence_from(self, moment: int) -> None:
        """Nothing from sample `moment` on is going to be heard, but for what was handed on already."""
        moment = max(moment, self._released)
        while self._pieces and self._pieces[-1].end > moment:
            piece = self._pieces[-1]
            end = max(moment, piece.start)
            self._unheard += piece.end - end
            self._waiting -= piece.end - end
            if end > piece.start:
                piece.shorten(end)
            else:
                self._pieces.pop()
        self._end = self._pieces[-1].end if self._pieces else self._retired_end
        for response, span in self._spans.items():
            if span is not None and span[1] > moment:
                self._spans[response] = (span[0], moment) if span[0] < moment else None
