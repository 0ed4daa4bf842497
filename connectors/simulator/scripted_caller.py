"""The simulated caller: speaks a scenario's lines when their cues come, over a soft line noise. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from connectors.simulator.device import VirtualDevice
from connectors.simulator.scenario import AfterAgent, AtTime, CallerCue, CallerLine
from connectors.simulator.voices import RATE, samples

NOISE = 32768 * 10 ** (-68 / 20)
"""Root mean square of the line noise: -68 dBFS, under every detector's threshold."""


@dataclass(frozen=True)
class Said:
    """`line` was spoken from `at` (ms, its recording's first sample) on."""

    line: CallerLine
    at: float

    @property
    def end(self) -> float:
        """When its recording's last sample was spoken."""
        return self.at + self.line.duration_ms


class ScriptedCaller:
    """One call. `said`: the lines so far, the one that is being spoken included. `rate`: Hz of the microphone, which
    may be set until it is first used."""

    def __init__(
        self, lines: tuple[CallerLine, ...], device: VirtualDevice, *, rate: int = RATE, seed: int = 0
    ) -> None:
        self.said: list[Said] = []
        self.rate = rate
        self._lines, self._device = lines, device
        self._noise = np.random.default_rng(seed)

    @property
    def done(self) -> bool:
        """Whether the last line has begun."""
        return len(self.said) == len(self._lines)

    def microphone(self, start: int, end: int) -> NDArray[np.int16]:
        """What the microphone took up in [`start`, `end`) ms: s16 at `rate`. To be called in order, when `end`
        has come; a line begins on the very sample that its cue names."""
        self._begin_line(start, end)
        begun = start * self.rate // 1000
        count = end * self.rate // 1000 - begun
        sound = self._noise.normal(0.0, NOISE, count)
        if self.said:
            current = self.said[-1]
            voice = samples(current.line.audio, self.rate)
            offset = begun - round(current.at * self.rate / 1000)
            first, last = max(0, offset), min(len(voice), offset + count)
            if first < last:
                sound[first - offset : last - offset] += voice[first:last]
        return np.clip(np.rint(sound), -32768, 32767).astype(np.int16)

    def _begin_line(self, start: int, end: int) -> None:
        if self.done or (self.said and self.said[-1].end > start):
            return
        line = self._lines[len(self.said)]
        due = self._due(line.cue)
        if due is not None and due < end:
            self.said.append(Said(line, max(due, float(start))))

    def _due(self, cue: CallerCue) -> float | None:
        """When the cue is reached by what is known now; None while it is not."""
        if isinstance(cue, AtTime):
            return float(cue.ms)
        responses = self._device.responses()
        if cue.line >= len(responses):
            return None
        response = responses[cue.line]
        if isinstance(cue, AfterAgent):
            return response.end + cue.pause_ms
        due = response.start + cue.ms
        return due if due < response.end else None
