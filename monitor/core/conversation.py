"""The words of a call and what the judge makes of them, joined: what the teller tells between the turns.

Three things come in from outside, texts, verdicts and media time, and one thing from within, the turns. Whatever
follows is told as `Happening`s in order. `wake` says when to look again although nothing comes.
"""

from __future__ import annotations

from typing import Any

from connectors.inputs import CallEnded, Input, Text, Track, Verdicts
from monitor.core import events
from monitor.core.events import Turn
from monitor.core.playout import Playout
from monitor.core.questions import JudgeRequest, TranscribeRequest
from monitor.core.relevancy import Happening, Relevancy, turns_kept
from monitor.core.relevancy_settings import RelevancySettings
from monitor.core.text_heard import TextHeard
from monitor.core.timeline import Timeline
from monitor.core.transcript import Transcript
from monitor.core.turn_audio import TurnAudio
from monitor.core.word_places import grid
from monitor.core.words import Told, Words, WordsSettings


class Conversation:
    """One call's words and verdicts. `heard` counts the delivered audio of the agent; `audio` keeps the sound of turns,
    where there is a transcriber."""

    def __init__(self, timeline: Timeline, words: WordsSettings, relevancy: RelevancySettings) -> None:
        self._wait_ms = round(words.wait_s * 1000)
        self.audio = TurnAudio(self._wait_ms) if words.transcribed else None
        self._transcript = Transcript(turns_kept(relevancy))
        self._playout: Playout | None = None
        self.heard = TextHeard()
        self._words = Words(timeline, self._transcript, self.heard)
        self.relevancy = Relevancy(
            relevancy, self._wait_ms, self._transcript, lambda entry: self.heard.shown(entry, self._playout)
        )
        self._closing = self._given_up = False
        self.wake: int | None = None

    def begin(self, call: str, agent: Playout | None) -> None:
        """The call has begun. `agent`: the playout of the agent's track, if that is delivered."""
        self.relevancy.call = call
        if self.audio is not None:
            self.audio.call = call
        self._playout = agent

    def started(self, turn: Turn, now: int) -> list[Happening]:
        """A turn has begun."""
        self._transcript.started(turn)
        if self.audio is not None:
            self.audio.started(turn)
        return self._look(now) if self._words.waiting else []

    def ended(self, turn: Turn, now: int) -> tuple[Turn, list[Happening]]:
        """A turn has ended. -> the turn with the words known by now, and what else follows."""
        entry = self._transcript.ended(turn, now)
        told = [one for one in self._words.look(now, self._playout) if one.turn.index != turn.index]
        self.relevancy.ended(entry)
        if self.audio is not None:
            self.audio.ended(entry.turn, now)
        return entry.turn, [*_told(told), *self._asked(now)]

    def take(self, given: Text | Verdicts, now: int) -> list[Happening]:
        """Words have come, or the judge has answered."""
        if isinstance(given, Verdicts):
            return [*self.relevancy.answer(given), *self._asked(now)]
        if self.audio is not None:
            self.audio.text(given)
        told = self._words.text(given, now, self._playout if given.track == "agent" else None)
        return [*_told(told), *self._asked(now)]

    def take_late(self, given: Input, now: int) -> list[Happening]:
        """An input after the end of the call, at `now`: an answer, more time gone, or a second end."""
        if isinstance(given, Verdicts) or (isinstance(given, Text) and given.turn is not None):
            return self.take(given, now)
        if isinstance(given, CallEnded):
            self._given_up = True
            return [*self._asked(now), *self.relevancy.give_up()]
        return self._asked(now)

    def look(self, now: int) -> list[Happening]:
        """Media time has come to `now`."""
        return self._look(now) if self.wake is not None and self.wake <= now else []

    def close(self, now: int) -> list[Happening]:
        """The call is over and all its turns have ended: what waits is placed, what is due is asked."""
        self._closing = self.heard.over = True
        told = self._words.look(now, self._playout, last=True)
        return [*_told(told), *self._asked(now)]

    def delivered(self, track: Track, response: int | None, length: int) -> None:
        """So many bytes of a response were delivered to be played."""
        if track == "agent":
            self.heard.delivered(response, length)

    def played(self, track: Track, response: int | None, length: int) -> None:
        """So many bytes of a response were heard."""
        if track == "agent":
            self.heard.heard(response, length)

    def waiting(self, now: int) -> bool:
        """Whether any answer is awaited."""
        return bool(self.relevancy.waiting or self.waiting_for_words(now))

    def status(self, now: int) -> dict[str, Any]:
        """What a screen shows of it: see `Status`."""
        judged = self.relevancy.enabled
        return {
            "relevancy": self.relevancy.score.state if judged else None,
            "waiting_for_verdicts": self.relevancy.waiting,
            "waiting_for_words": self.waiting_for_words(now),
        }

    @property
    def summary(self) -> dict[str, Any] | None:
        """The part `relevancy` of the call's summary; None without a judge."""
        return self.relevancy.summary

    @property
    def transcription(self) -> dict[str, Any] | None:
        """The part `transcription` of the call's summary; None without a transcriber."""
        return None if self.audio is None else self.audio.took.summary(self.audio.lost)

    @property
    def troubles(self) -> list[tuple[str, int, str]]:
        """What went wrong with words, for notices: kind, how often, in words."""
        found: list[tuple[str, int, str]] = []
        if count := sum(self._words.unplaced.values()):
            many = "1 text belongs" if count == 1 else f"{count} texts belong"
            found.append(("unplaced_text", count, f"{many} to no turn that was heard"))
        if self.audio is not None and (count := self.audio.lost):
            many = "1 turn was" if count == 1 else f"{count} turns were"
            words = f"{many} not transcribed: the sound was not, or no longer, kept when the turn had ended"
            found.append(("untranscribed", count, words))
        return found

    def questions(self) -> list[JudgeRequest]:
        """What the judge is to be asked, since the last call."""
        asked, self.relevancy.questions = self.relevancy.questions, []
        return asked

    def untranscribed(self) -> list[TranscribeRequest]:
        """The turns that a transcriber is to be asked about, since the last call."""
        return [] if self.audio is None else self.audio.take()

    def waiting_for_words(self, now: int) -> int:
        """How many turns a transcriber still owes an answer for."""
        return 0 if self.audio is None or self._given_up else self.audio.awaited(now)

    def _look(self, now: int) -> list[Happening]:
        return [*_told(self._words.look(now, self._playout)), *self._asked(now)]

    def _asked(self, now: int) -> list[Happening]:
        happenings = self.relevancy.look(now, everything=self._closing and not self.waiting_for_words(now))
        wakes = [wake for wake in (self._words.wake, self.relevancy.wake) if wake is not None]
        self.wake = grid(min(wakes)) if wakes else None
        return happenings


def _told(told: list[Told]) -> list[Happening]:
    return [
        (events.TurnText, one.turn.end_ms, {"turn": one.turn, "text": one.text, "reason": one.reason}) for one in told
    ]
