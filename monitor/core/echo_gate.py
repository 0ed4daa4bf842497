"""Takes out of a track's voice what is only the other track's voice coming back."""

from __future__ import annotations

from monitor.core.speech import DOUBTED, ECHO_FRAMES, SILENT, VOICED, full_scale
from monitor.core.track_frames import TrackFrames

VOICE, DOUBT = bytes([VOICED]), bytes([DOUBTED])


class EchoGate:
    """Takes out of a track's frames what is only the other track's voice coming back.

    A frame is not speech where its energy is more than `gate_db` under the loudest of the other track's frames in the
    260 ms up to it, if that one is over the floor. Causal: it needs both tracks up to the same frame.
    """

    def __init__(self, gate_db: float | None, floor_dbfs: float, rate: int) -> None:
        self._factor = None if gate_db is None else 10 ** (gate_db / 10)
        self._floor = full_scale(rate) * 10 ** (floor_dbfs / 10)

    def speech(self, track: TrackFrames, other: TrackFrames | None, count: int) -> bytes:
        """The kinds of the track's next `count` frames, echo taken out."""
        kinds = bytes(track.kinds[:count])
        voices = kinds.replace(DOUBT, VOICE) if DOUBTED in kinds else kinds
        first = voices.find(VOICED)
        if first < 0 or self._factor is None or other is None:
            return kinds
        until = voices.rfind(VOICED) + 1
        loudest = other.loudest(first, until)
        if loudest <= self._floor:
            return kinds
        levels, factor = track.energy[ECHO_FRAMES : ECHO_FRAMES + until], self._factor
        faint = [at for at in range(first, until) if voices[at] == VOICED and levels[at] * factor < loudest]
        if not faint:
            return kinds
        out = bytearray(kinds)
        for at in faint:
            loudest = other.loudest(at, at + 1)
            if loudest > self._floor and levels[at] * factor < loudest:
                out[at] = SILENT
        return bytes(out)
