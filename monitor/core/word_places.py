"""Which turn words belong to: they come before, during or after their turns, late, and do not say what they are of.

| words | belong to |
|---|---|
| with the index of a turn | that turn |
| with the time they were spoken | the turn of that time, else the nearest within `NEAR_MS` |
| `transcript` | the latest turn begun before they came in which something was said that has no words yet (it is |
| | *fresh*), and which is long enough to say them in; one that has paused goes before one that is going on. |
| | Without any they add to a turn just spoken, else they wait for the next |
| of the agent, with the id of a delivered response | the turn during which that response was heard |
| of the agent, without | the turn that goes on, or has just ended without words and without an answer; else the next |

Everything is decided at a media time, not when words happen to arrive: a turn may not be known yet when its words are
there. What is decided never depends on words that come later.
"""

from __future__ import annotations

from typing import Final, Literal

from connectors.inputs import Text
from monitor.core.clock import FRAME_MS, Span
from monitor.core.encode import clean_text
from monitor.core.events import ROLE_OF_TRACK, TextReason
from monitor.core.playout import Playout
from monitor.core.text_heard import TextHeard
from monitor.core.timeline import Timeline
from monitor.core.transcript import MAX_TEXT, Entry, Transcript

NEAR_MS: Final = 2000
ABOUT_MS: Final = 500
"""A turn that begins so soon after the time that words are said to have been spoken is theirs without more ado."""
DOUBT_MS: Final = 3000
"""So long words wait for it to be decided whether the speech before them is a turn of its own."""
AHEAD_MS: Final = 10_000
"""So long words wait for a turn that has not begun."""
LATE_MS: Final = 30_000
"""Words come at most so long after their turn has ended."""
JUST_MS: Final = 5000
TOGETHER_MS: Final = 1500
"""Words of one utterance that come in pieces come so close together."""
RESPONSE_OVERLAP_MS: Final = 200

Nowhere = Literal["nowhere"]


class Waiting:
    """Words that have come and have no turn yet. `look`: the next media time at which to look again, or None."""

    __slots__ = ("at", "index", "look", "reason", "response", "role", "start", "text")

    def __init__(self, given: Text) -> None:
        self.role = ROLE_OF_TRACK[given.track]
        self.text = " ".join(clean_text(given.text[:MAX_TEXT]).split())
        self.reason: TextReason = given.kind
        self.at = given.at
        self.response = given.response
        self.index = given.turn
        self.start = given.start
        self.look: int | None = None

    @property
    def timed(self) -> bool:
        """They say where they belong."""
        return self.index is not None or self.start is not None


def grid(ms: int) -> int:
    """The first moment of the core's grid that is not before `ms`."""
    return -(-ms // FRAME_MS) * FRAME_MS


class WordPlaces:
    """Finds the turns that words belong to."""

    def __init__(self, timeline: Timeline, transcript: Transcript, heard: TextHeard) -> None:
        self._timeline = timeline
        self._transcript = transcript
        self._heard = heard

    def find(self, words: Waiting, now: int, playout: Playout | None, last: bool) -> Entry | Nowhere | None:
        """The turn of these words, or None: not known yet. `last`: nothing more will be known."""
        words.look = None
        if words.index is not None:
            return self._at_index(words, words.index, last)
        if words.start is not None:
            return self._at_time(words, words.start, now, last)
        if not last and now < words.at:
            words.look = grid(words.at)
            return None
        # A transcript may carry an id too: it counts the caller's words, and no audio will ever be heard of it.
        agents = words.role == "assistant"
        if agents and words.response is not None and playout is not None and self._heard.has_ids:
            if self._heard.knows(words.response):
                return self._of_response(playout.heard_of(words.response), words, now, last)
            if not last and now < words.at + AHEAD_MS:
                words.look = grid(words.at + AHEAD_MS)
                return None
        if not last and now < words.at + DOUBT_MS and self._in_doubt(words):
            words.look = now + 5 * FRAME_MS
            return None
        found = self._after(words, now) if words.reason == "transcript" else self._with(words, now, playout)
        if found is not None:
            return found
        coming = self._next(words)
        if coming is None and not last and now < words.at + AHEAD_MS:
            words.look = grid(words.at + AHEAD_MS)
            return None
        return coming or next(iter(self._before(words)), "nowhere")

    def _at_index(self, words: Waiting, index: int, last: bool) -> Entry | Nowhere | None:
        entry = self._transcript.get(index)
        if entry is not None:
            return entry if entry.turn.role == words.role else "nowhere"
        newest = max((one.turn.index for one in self._transcript), default=-1)
        return "nowhere" if last or index < newest else None

    def _at_time(self, words: Waiting, start: int, now: int, last: bool) -> Entry | Nowhere | None:
        if now < start and not last:
            words.look = grid(start + NEAR_MS)
            return None
        best, least = None, NEAR_MS + 1
        for entry in self._transcript.newest(words.role):
            end = self._spoken(entry, now).end
            away = max(entry.turn.start_ms - start, start - end, 0)
            if away == 0 and start < end:
                return entry
            if away < least:
                best, least = entry, away
        if best is not None and least <= ABOUT_MS and start < best.turn.start_ms:
            return best
        settled = now >= start + NEAR_MS and not (now < start + NEAR_MS + DOUBT_MS and self._in_doubt(words))
        if last or settled:
            return best or "nowhere"
        words.look = max(grid(start + NEAR_MS), now + 5 * FRAME_MS)
        return None

    def _of_response(
        self, span: tuple[int, int] | None, words: Waiting, now: int, last: bool
    ) -> Entry | Nowhere | None:
        if span is None:
            return "nowhere" if last or self._heard.never_heard(words.response) else None
        for entry in self._transcript.newest(words.role):
            if entry.turn.end_ms < span[0] and entry.told_ms is not None:
                break
            together = Span(*span).overlap(Span(entry.turn.start_ms, entry.turn.end_ms))
            least = 1 if last or span[1] <= now - DOUBT_MS else RESPONSE_OVERLAP_MS
            if entry.told_ms is not None and together >= least:
                return entry
        return "nowhere" if last else None

    def _after(self, words: Waiting, now: int) -> Entry | None:
        """A transcript comes after what it transcribes."""
        known = self._before(words)
        if not known:
            return None
        latest, same = known[0], self._same_id(words)
        fresh = [entry for entry in known if self._is_fresh(entry, words.at)]
        again = latest.holds(words.text) or words.at - latest.words_at <= TOGETHER_MS
        if latest.worded and latest not in fresh and again:
            return latest
        if same is not None and all(entry.turn.index <= same.turn.index for entry in fresh):
            return same  # told again, or corrected
        likely = [entry for entry in fresh if self._can_hold(entry, words)]
        paused = [entry for entry in likely if self._has_paused(entry, words.at)]
        for some in (paused, likely, fresh):
            if some:
                return some[0]
        return latest if words.at - self._spoken(latest, words.at).end <= JUST_MS else None

    def _with(self, words: Waiting, now: int, playout: Playout | None) -> Entry | None:
        """What an agent is going to say comes with the first sound of it, or ahead of it."""
        if (same := self._same_id(words)) is not None:
            return same
        latest = next(iter(self._before(words)), None)
        if latest is None:
            return None
        if latest.told_ms is None:
            return latest if playout is None or not latest.worded or latest.holds(words.text) else None
        users = [entry for entry in self._transcript.newest("user") if entry.turn.start_ms < words.at]
        if any(entry.turn.start_ms >= latest.turn.end_ms for entry in users):
            return None  # the caller has answered it: this is the next
        return latest if not latest.worded or latest.holds(words.text) else None

    def _before(self, words: Waiting) -> list[Entry]:
        """The turns that had begun when the words came, the newest first, no older than words may be late."""
        out = []
        for entry in self._transcript.newest(words.role):
            if entry.told_ms is not None and entry.turn.end_ms < words.at - LATE_MS:
                break
            if entry.turn.start_ms < words.at:
                out.append(entry)
        return out

    def _next(self, words: Waiting) -> Entry | None:
        """The first turn that began after the words came."""
        found = None
        for entry in self._transcript.newest(words.role):
            if entry.turn.start_ms < words.at:
                break
            if entry.turn.start_ms <= words.at + AHEAD_MS:
                found = entry
        return found if found is not None and not found.worded else None

    def _same_id(self, words: Waiting) -> Entry | None:
        if words.response is None:
            return None
        entries = self._transcript.newest(words.role)
        return next((e for e in entries if any(p.response == words.response for p in e.pieces)), None)

    def _spoken(self, entry: Entry, at: int) -> Span:
        """From when to when a turn has been spoken, as far as it is known; up to `at` while it is being spoken."""
        turn = entry.turn
        if entry.told_ms is not None:
            return Span(turn.start_ms, turn.end_ms)
        end = turn.start_ms
        for stretch in self._timeline.sides[turn.role == "assistant"].stretches:
            if stretch.start >= turn.start_ms:
                end = max(end, stretch.end if stretch.closed else at)
        return Span(turn.start_ms, end)

    def _is_fresh(self, entry: Entry, at: int) -> bool:
        """Something was said in it that no words have come for."""
        return not entry.pieces or self._spoken(entry, at).end > entry.words_at + RESPONSE_OVERLAP_MS

    def _has_paused(self, entry: Entry, at: int) -> bool:
        if entry.told_ms is not None:
            return entry.turn.end_ms <= at + 5 * FRAME_MS
        side = self._timeline.sides[entry.turn.role == "assistant"]
        return side.open is None or side.lull is not None

    def _can_hold(self, entry: Entry, words: Waiting) -> bool:
        """Whether so much can be said in so short a turn: 25 characters a second, and a few in the least one."""
        return len(words.text) <= 15 + self._spoken(entry, words.at).duration * 25 // 1000

    def _in_doubt(self, words: Waiting) -> bool:
        """Something was said before the words came of which it is open whether it begins a turn."""
        number = 1 if words.role == "assistant" else 0
        since = words.at if words.start is None else words.start + NEAR_MS
        rising = self._timeline.sides[number].candidate
        return (rising is not None and rising < since) or any(
            stretch.side == number and not stretch.placed and stretch.start < since
            for stretch in self._timeline.placing.queue
        )
