"""What is believed of a detector: a voice under the line's noise is none, and one that a second detector does not hear
is doubted.

Under the gate a frame is noise, but not while a voice dies away: a frame that falls by half against a voiced one before
it is still that voice. Where the line says that the detector cannot be believed, the second one is asked about every
frame, and what it has not heard within `CONFIRMED_FRAMES` is doubted, unless it stands `FAR` over the noise.
"""

from __future__ import annotations

from monitor.core.line.told import LineLog
from monitor.core.line.track import Line
from monitor.core.speech import (
    DOUBTED,
    SILENT,
    VOICED,
    ZERO,
    NewSecond,
    SecondDetector,
    SpeechSettings,
    full_scale,
)
from monitor.core.sure import ASKED, PLAIN, UNASKED

STATES_KEPT = 64
"""So many changes of mind are remembered: a track is heard ten minutes ahead of the other at the most."""

CONFIRMED_FRAMES = 2
FAR = 10
"""Over the gate by a factor of ten (10 dB) a voice needs no second opinion."""


class Belief:
    """One track's. `second`: makes the second detector; None if there is none."""

    def __init__(self, settings: SpeechSettings, rate: int, second: NewSecond | None) -> None:
        self._rate = rate
        self._size = rate // 25
        self._floor = int(full_scale(rate) * 10 ** (settings.floor_dbfs / 10))
        self.line = None if settings.line is None else Line(settings.line, self._floor, full_scale(rate))
        self._new_second = None if settings.detector == "webrtc" else second
        self._always = settings.detector == "silero"
        self.second: SecondDetector | None = None
        """Joined where it is needed."""
        self._unheard = 0  # frames since the second detector has heard a voice
        self._before = 0  # the energy of the last frame, if it was voiced
        self.log = LineLog(full_scale(rate), asked=self._new_second is not None)
        self._states = [(0, PLAIN)]
        self.frame = 0
        """The next frame to come."""
        self._join()

    def kinds(self, voiced: bytes, energies: list[int], pcm: bytes) -> bytearray:
        """What is known of the next frames, after what the detector has said of them."""
        line = self.line
        if line is None:
            return self._piece(voiced, energies, pcm, 0)
        if len(voiced) <= line.left:  # the common case: nothing is cut
            kinds = self._piece(voiced, energies, pcm, line.gate)
            self.frame += len(kinds)
            if line.hear(energies):
                self._looked(line)
            return kinds
        kinds, at, size = bytearray(), 0, self._size
        while at < len(voiced):
            until = at + line.left
            part = energies[at:until]
            kinds += self._piece(voiced[at:until], part, pcm[at * size : until * size], line.gate)
            self.frame += len(part)
            if line.hear(part):
                self._looked(line)
            at = until
        return kinds

    def zeros(self, pcm: bytes, frames: int) -> None:
        """The next frames hold nothing but zeros."""
        self.kinds(bytes(frames), [0] * frames, pcm)

    def state_at(self, frame: int) -> int:
        """Whether the detector was believed at this frame: `PLAIN`, `ASKED` or `UNASKED` (`monitor.core.sure`)."""
        return next((state for since, state in reversed(self._states) if since <= frame), PLAIN)

    def reset(self) -> None:
        """After a long hole in the audio."""
        if self.second is not None:
            self.second.reset()
        self._before = 0

    def _looked(self, line: Line) -> None:
        self.log.note(self.frame, line)
        self._join()

    def _join(self) -> None:
        """Is the second detector wanted, as the line is now?"""
        wanted = self._always or (self.line is not None and self.line.doubtful)
        state = PLAIN if not wanted else UNASKED if self._new_second is None else ASKED
        if state != self._states[-1][1]:
            self._states = [*self._states[1 - STATES_KEPT :], (self.frame, state)]
        if not wanted or self._new_second is None:
            self.second = None
        elif self.second is None:
            self.second = self._new_second(self._rate)
            self._unheard = CONFIRMED_FRAMES + 1

    def _piece(self, voiced: bytes, energies: list[int], pcm: bytes, gate: int) -> bytearray:
        """The same for frames for which one gate holds."""
        kinds = bytearray(voiced)
        if 0 in energies:
            kinds = bytearray(flag or (SILENT if level else ZERO) for flag, level in zip(voiced, energies, strict=True))
        if VOICED in voiced:
            least = max(gate, self._floor)
            if min(energies) < least:
                self._gated(kinds, energies, least)
            else:
                self._before = energies[-1] if voiced[-1] else 0
        else:
            self._before = 0
        if self.second is not None:
            self._doubt(kinds, energies, self.second.voiced(pcm), gate)
        return kinds

    def _gated(self, kinds: bytearray, energies: list[int], least: int) -> None:
        before, floor = self._before, self._floor
        for at, energy in enumerate(energies):
            if kinds[at] != VOICED:
                before = 0
            elif energy < least and (energy < floor or 2 * energy > before):
                kinds[at] = SILENT if energy else ZERO
                before = 0
            else:
                before = energy
        self._before = before

    def _doubt(self, kinds: bytearray, energies: list[int], heard: bytes, gate: int) -> None:
        unheard, far = self._unheard, gate * FAR
        for at, confirmed in enumerate(heard):
            unheard = 0 if confirmed else unheard + 1
            if unheard > CONFIRMED_FRAMES and kinds[at] == VOICED and not (far and energies[at] > far):
                kinds[at] = DOUBTED
        self._unheard = unheard
