"""The simulated agent: takes a scenario's lines in turn, listens to the caller, yields, hangs up. Pure.

It is told the time and the caller's audio, and says what is to be done, in order. One rule decides what is an answer to
what: an utterance of the caller is answered if it still goes on, or ends, after the agent has fallen silent, or has
silenced it. So a backchannel inside a line is passed over, and a barge-in is not.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

from connectors.simulator.bursts import Burst, plan
from connectors.simulator.habits import Habits
from connectors.simulator.hearing import Hearing
from connectors.simulator.scenario import AgentLine, AtTime, OverCaller, Scenario


@dataclass(frozen=True)
class CallerWords:
    """The transcript of an utterance of the caller. `event`: its id on the wire."""

    text: str
    event: int


@dataclass(frozen=True)
class AgentWords:
    """What the agent is going to say in response `event`."""

    text: str
    event: int


@dataclass(frozen=True)
class Deliver:
    """[`start_ms`, `end_ms`) of `line` goes out as one message of response `event`; `last`: the response ends there."""

    line: AgentLine
    start_ms: int
    end_ms: int
    event: int
    last: bool = False


@dataclass(frozen=True)
class Interrupt:
    """The client must stop playing; `event` as the habits want it."""

    event: int | None


@dataclass(frozen=True)
class Correct:
    """What had been heard of a response when it was cut."""

    original: str
    heard: str
    event: int


@dataclass(frozen=True)
class HangUp:
    """The call is over."""


Action = CallerWords | AgentWords | Deliver | Interrupt | Correct | HangUp


class ScriptedAgent:
    """One call. `words` are the caller's utterances in order, where it is known what they will be; `voice` is False in
    a text conversation, in which lines take no time. Give audio to `hearing`, call `advance` every few ms."""

    def __init__(
        self, scenario: Scenario, habits: Habits, *, words: tuple[str, ...] = (), voice: bool = True, seed: int = 0
    ) -> None:
        self.hearing = Hearing()
        self._scenario, self._habits, self._voice = scenario, habits, voice
        self._words = deque(words)
        self._chance = random.Random(seed)
        self._next = 0
        self._event = 0
        self._begun: float | None = None
        self._line: AgentLine | None = None
        self._line_at = 0.0
        self._pending: deque[Burst] = deque()
        self._untold: AgentWords | None = None
        self._quiet_from = float("-inf")
        self._cut_by: float | None = None
        self._transcribed: float | None = None
        self._over = False

    def type(self, now: float, text: str) -> None:
        """The caller sent `text` instead of speaking."""
        self.hearing.type(now)
        self._words.appendleft(text)

    def advance(self, now: float) -> list[Action]:
        """What there is to do at `now` (ms, never going back)."""
        if self._begun is None:
            self._begun = now
        if self._over:
            return []
        actions: list[Action] = []
        if self.hearing.settle(now):
            actions += self._transcribe()
        if self._is_interrupted(now):
            actions += self._yield(now)
        if self._line is not None and not self._pending and now >= self._quiet_from:
            self._line = None
        if self._line is None and self._is_due(now):
            actions += self._begin(now)
        actions += self._deliver(now)
        if self._is_over(now):
            self._over = True
            actions.append(HangUp())
        return actions

    def _is_due(self, now: float) -> bool:
        if self._next >= len(self._scenario.agent):
            return False
        cue, ear = self._scenario.agent[self._next].cue, self.hearing
        if isinstance(cue, AtTime):
            return now - (self._begun or 0.0) >= cue.ms
        if ear.last is None or (ear.last <= self._quiet_from and ear.number != self._cut_by):
            return False
        if isinstance(cue, OverCaller) and ear.speech_ms() >= cue.speech_ms:
            return True
        return ear.silent_ms(now) >= cue.pause_ms

    def _begin(self, now: float) -> list[Action]:
        actions = self._transcribe()
        line = self._scenario.agent[self._next]
        self._next += 1
        if self._scenario.repeat and self._next == len(self._scenario.agent):
            self._next = 1
        self._event += self._habits.id_step
        self._line, self._line_at, self._quiet_from, self._cut_by = line, now, now, None
        words = AgentWords(line.text, self._event)
        if self._voice:
            self._pending = deque(plan(line.duration_ms, self._habits, self._chance))
        if self._habits.words_first or not self._pending:
            return [*actions, words]
        self._untold = words
        return actions

    def _deliver(self, now: float) -> list[Action]:
        actions: list[Action] = []
        while self._line and self._pending and now >= self._line_at + self._pending[0].due_ms:
            burst = self._pending.popleft()
            last = not self._pending
            actions.append(Deliver(self._line, burst.start_ms, burst.end_ms, self._event, last))
            self._quiet_from = max(now, self._quiet_from) + burst.end_ms - burst.start_ms
            if self._untold:
                actions.append(self._untold)
                self._untold = None
        return actions

    def _is_interrupted(self, now: float) -> bool:
        line, ear = self._line, self.hearing
        if line is None or not line.interruptible or now >= self._quiet_from or ear.start is None:
            return False
        return ear.start > self._line_at and ear.speech_ms() >= self._scenario.yield_ms

    def _yield(self, now: float) -> list[Action]:
        line, event = self._line, self._event
        assert line is not None
        sent = self._pending[0].start_ms if self._pending else line.duration_ms
        heard = max(0.0, sent - (self._quiet_from - now))
        named = {"response": event, "later": event + self._habits.id_step, "missing": None}
        if self._habits.interruption_id == "later":
            self._event += self._habits.id_step
        actions: list[Action] = [Interrupt(named[self._habits.interruption_id])]
        if late := min(self._habits.late_ms, line.duration_ms):
            # Where everything has gone out already, the start stands for what would still have been generated.
            start = sent if sent + late <= line.duration_ms else 0
            actions.append(Deliver(line, start, start + late, event))
        actions.append(Correct(line.text, first_words(line.text, heard / line.duration_ms), event))
        self._pending.clear()
        self._line, self._untold, self._quiet_from, self._cut_by = None, None, now, self.hearing.number
        return actions

    def _transcribe(self) -> list[Action]:
        ear = self.hearing
        if ear.start is None or ear.last is None or ear.number == self._transcribed:
            return []
        self._transcribed = ear.number
        text = self._words.popleft() if self._words else f"({(ear.last - ear.start) / 1000:.1f} s of speech)"
        self._event += self._habits.id_step
        return [CallerWords(text, self._event)]

    def _is_over(self, now: float) -> bool:
        if self._habits.end_at is not None and now - (self._begun or 0.0) >= self._habits.end_at:
            return True
        patience = self._scenario.hang_up_ms
        done = self._line is None and self._next >= len(self._scenario.agent)
        return patience is not None and done and now >= self._quiet_from + patience


def first_words(text: str, share: float) -> str:
    """The whole words in the first `share` (0 to 1) of a text, measured in letters."""
    room = share * len(text)
    words, length = [], 0
    for word in text.split():
        length += len(word) + 1
        if length > room:
            break
        words.append(word)
    return " ".join(words)
