"""A track's decoded samples as `Audio` inputs that begin on whole milliseconds."""

from __future__ import annotations

from connectors.inputs import Audio, Track

RATE = 8000
_BYTES_PER_MS = 2 * RATE // 1000


class Pieces:
    """Counts one track's samples (s16le at 8 kHz) and cuts them at whole ms, so that each `at` is exact."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.at = 0
        """Where the next piece begins, in ms."""
        self._held = b""

    def cut(self, pcm: bytes) -> list[Audio]:
        """What is complete by now: nothing or one piece. Less than a millisecond is kept for the next."""
        pcm = self._held + pcm if self._held else pcm
        whole = len(pcm) - len(pcm) % _BYTES_PER_MS
        self._held = pcm[whole:]
        return self._piece(pcm[:whole])

    def flush(self) -> list[Audio]:
        """The last part of a millisecond, if there is one."""
        held, self._held = self._held, b""
        return self._piece(held)

    def silence(self, until: int) -> list[Audio]:
        """Digital silence up to `until` ms."""
        return self._piece(b"\0" * (_BYTES_PER_MS * max(0, until - self.at)))

    def _piece(self, pcm: bytes) -> list[Audio]:
        if not pcm:
            return []
        piece = Audio(self.track, self.at, pcm, RATE)
        self.at += -(-len(pcm) // _BYTES_PER_MS)
        return [piece]
