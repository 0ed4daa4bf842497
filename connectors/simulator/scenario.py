"""What happens in a simulated call, as plain data: who says what, and on which cue.

The agent's lines come one after another; so do the caller's. A cue speaks of what that side *hears*, so a call comes
out in the same rhythm whatever the machine, the chunking and the delay between the two.
"""

from __future__ import annotations

from dataclasses import dataclass

from connectors.simulator.voices import recording


@dataclass(frozen=True)
class AtTime:
    """`ms` after the start of the conversation."""

    ms: int


@dataclass(frozen=True)
class AfterCaller:
    """For the agent: the caller has said something and has then been silent for `pause_ms`."""

    pause_ms: int


@dataclass(frozen=True)
class OverCaller:
    """For the agent: the caller has been speaking for `speech_ms` and is not done, or has fallen silent earlier for
    `pause_ms`."""

    speech_ms: int
    pause_ms: int = 500


@dataclass(frozen=True)
class AfterAgent:
    """For the caller: the agent's line `line` (counted from 0) has been heard and then `pause_ms` of silence."""

    line: int
    pause_ms: int


@dataclass(frozen=True)
class IntoAgent:
    """For the caller: `ms` of the agent's line `line` have been heard."""

    line: int
    ms: int


AgentCue = AtTime | AfterCaller | OverCaller
CallerCue = AtTime | AfterAgent | IntoAgent


@dataclass(frozen=True)
class AgentLine:
    """One response of the agent. `audio`: a recording's name. `length_ms`: only so much of it is spoken; None: all.
    `interruptible`: whether a barge-in stops it."""

    cue: AgentCue
    audio: str
    text: str
    length_ms: int | None = None
    interruptible: bool = True

    @property
    def duration_ms(self) -> int:
        """How long the line is spoken."""
        whole = recording(self.audio).duration_ms
        return whole if self.length_ms is None else min(self.length_ms, whole)


@dataclass(frozen=True)
class CallerLine:
    """One utterance of the caller. `audio`: a recording's name. `backchannel`: it is a listener's noise, no turn."""

    cue: CallerCue
    audio: str
    text: str
    backchannel: bool = False

    @property
    def duration_ms(self) -> int:
        """How long the line is spoken."""
        return recording(self.audio).duration_ms


@dataclass(frozen=True)
class Scenario:
    """A call. `yield_ms`: for how long the caller must have spoken over the agent before it stops. `hang_up_ms`: the
    agent hangs up so long after its last line has been heard; None: it never does. `repeat`: after the last line
    the agent goes on with the second one, for ever. `caller` may be empty: then somebody else calls."""

    name: str
    about: str
    agent: tuple[AgentLine, ...]
    caller: tuple[CallerLine, ...] = ()
    yield_ms: int = 400
    hang_up_ms: int | None = 900
    repeat: bool = False
