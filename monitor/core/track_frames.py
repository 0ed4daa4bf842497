"""Room 3, one track: its frames as the detector hears them, until the other track has reached them."""

from __future__ import annotations

from monitor.core.belief import Belief
from monitor.core.clock import FRAME_MS
from monitor.core.framing import Block
from monitor.core.speech import (
    ECHO_FRAMES,
    UNKNOWN,
    VOICED,
    ZERO,
    Detector,
    NewSecond,
    SpeechSettings,
    frame_energies,
    silence,
)


class TrackFrames:
    """The frames of one track that wait for the other track: what the detector said, and how loud they were.

    `kinds` and `energy` begin at frame `base`; `energy` has ECHO_FRAMES older ones in front.
    """

    def __init__(
        self, rate: int, settings: SpeechSettings, detector: Detector, second: NewSecond | None = None
    ) -> None:
        self._detector = detector
        self._samples = rate * FRAME_MS // 1000
        self._size = 2 * self._samples
        self._warm = settings.warmup_ms // FRAME_MS
        self._reset_after = settings.reset_after_ms // FRAME_MS
        self._blank = 0
        self.belief = Belief(settings, rate, second)
        self.base = 0
        self.kinds = bytearray()
        self.energy: list[int] = [0] * ECHO_FRAMES
        self._audio: list[tuple[int, bytes]] = []  # (first frame, the samples from there on)

    @property
    def horizon(self) -> int:
        """The first frame that has not come yet."""
        return self.base + len(self.kinds)

    def hear(self, block: Block) -> None:
        """Take the next frames of the track; they must follow the ones before without a hole."""
        first, count, pcm, _ = block
        self.belief.frame = first
        if pcm is None:
            self._blanks(block)
            return
        if self._blank:
            if self._blank > self._reset_after:
                self._detector.reset()
                self.belief.reset()
            self._blank = 0
        voiced = self._detector.voiced(pcm)
        self._audio.append((first, pcm))
        if self._warm:
            silent = min(self._warm, count)
            self._warm -= silent
            voiced = bytes(silent) + voiced[silent:]
        if VOICED not in voiced and pcm == silence(len(pcm)):
            energies = [0] * count
            self.belief.zeros(pcm, count)
            self.kinds += bytes([ZERO]) * count
        else:
            energies = frame_energies(pcm, self._samples)
            self.kinds += self.belief.kinds(voiced, energies, pcm)
        self.energy += energies

    def _blanks(self, block: Block) -> None:
        """Frames in which nothing was sent. The detector hears a little of the silence; none of what is unknown."""
        if not block.unknown and self._blank < self._reset_after:
            heard = min(block.frames, self._reset_after - self._blank)
            quiet = bytes(2 * self._samples * heard)
            self._detector.voiced(quiet)
            self.belief.zeros(quiet, heard)
        if block.unknown:
            self._blank += block.frames
        else:
            self._warm = max(0, self._warm - block.frames)
        self.kinds += bytes([UNKNOWN if block.unknown else ZERO]) * block.frames
        self.energy += [0] * block.frames

    def audio(self, frame: int) -> bytes | None:
        """The samples of a frame that is not released yet, or is still needed; None where none were sent."""
        for first, pcm in reversed(self._audio):
            if first <= frame:
                offset = (frame - first) * self._size
                return pcm[offset : offset + self._size] if offset < len(pcm) else None
        return None

    def loudest(self, at: int, until: int) -> int:
        """The loudest energy of the frames `at` to `until` behind `base`, and of the ECHO_FRAMES before them."""
        last = until + ECHO_FRAMES
        return max(self.energy[at:last])

    def drop(self, count: int, needed: int) -> None:
        """The first `count` frames have been released. Audio is kept from frame `needed` on, and of the ECHO_FRAMES."""
        del self.kinds[:count]
        del self.energy[:count]
        self.base += count
        audio, keep = self._audio, min(needed, self.base - ECHO_FRAMES)
        while audio and audio[0][0] + len(audio[0][1]) // self._size <= keep:
            del audio[0]
