"""The default detector: WebRTC's voice activity detector, one instance a track.

Mode 2 on 20 ms frames of 8 kHz audio. Its decisions carry a hidden hangover (about 100 ms in mode 2 on a clean line),
which the speech room trims by energy.
"""

from __future__ import annotations

from monitor.detectors import DetectorUnavailable

try:
    from _webrtcvad import create, init, process, set_mode  # type: ignore[import-not-found, unused-ignore]
except ImportError as error:  # pragma: no cover - exercised by a test in a process of its own
    raise DetectorUnavailable(
        "the voice-activity detector cannot be loaded: install webrtcvad-wheels "
        f"(and remove the old webrtcvad, which claims the same module): {error}"
    ) from error

_FRAME_SAMPLES = {8000: 160, 16000: 320}


class WebRtcDetector:
    """Says of each 20 ms frame whether it holds voice. Stateful: frames must come in order."""

    def __init__(self, rate: int = 8000, mode: int = 2) -> None:
        if rate not in _FRAME_SAMPLES:
            raise ValueError(f"the WebRTC detector takes 8000 or 16000 Hz, not {rate}")
        if mode not in (0, 1, 2, 3):
            raise ValueError(f"the WebRTC detector's mode is 0 to 3, not {mode}")
        self._rate = rate
        self._mode = mode
        self._bytes = 2 * _FRAME_SAMPLES[rate]
        self.reset()

    def reset(self) -> None:
        """Forget everything heard, as after a long hole in the audio."""
        self._vad = create()
        init(self._vad)
        set_mode(self._vad, self._mode)

    def voiced(self, pcm: bytes) -> bytes:
        """One byte, 0 or 1, for each 20 ms frame of `pcm` (s16le, a whole number of frames).

        Raises ValueError for an empty buffer or one that is not a whole number of frames.
        """
        size = self._bytes
        if not pcm or len(pcm) % size:
            raise ValueError(
                f"{len(pcm)} bytes are not a whole number of 20 ms frames of {self._rate} Hz ({size} bytes each)"
            )
        vad, rate, samples = self._vad, self._rate, size // 2
        if len(pcm) == size:
            return b"\x01" if process(vad, rate, pcm, samples) else b"\x00"
        return bytes([process(vad, rate, pcm[i : i + size], samples) for i in range(0, len(pcm), size)])
