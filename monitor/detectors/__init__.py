"""Voice-activity detectors: one file each, one row in `DETECTORS`.

A detector is a class that is made for one track of a given sample rate and fulfils `monitor.core.speech.Detector`. What
is not a whole number of 20 ms frames, or a rate that it cannot hear, it refuses with a ValueError:

    class Always:
        def __init__(self, rate: int) -> None:
            if rate not in (8000, 16000):
                raise ValueError(f"this detector takes 8000 or 16000 Hz, not {rate}")
            self._bytes = 2 * rate // 50

        def voiced(self, pcm: bytes) -> bytes:
            if not pcm or len(pcm) % self._bytes:
                raise ValueError(f"{len(pcm)} bytes are not a whole number of 20 ms frames")
            return b"\\x01" * (len(pcm) // self._bytes)

        def reset(self) -> None:
            pass

The modules are imported only where they are used: a detector may bring a library that others do without.
"""

from __future__ import annotations

from importlib import import_module

from monitor.core.speech import Detector, NewDetector


class DetectorUnavailable(Exception):
    """A detector's library is missing or broken. The message says what to install."""


DETECTORS = {
    "webrtc": "monitor.detectors.webrtc:WebRtcDetector",
    "energy": "monitor.detectors.energy:EnergyDetector",
    "silero": "monitor.detectors.silero:SileroDetector",
}


def new_detector(name: str = "webrtc", **options: int) -> NewDetector:
    """A maker of detectors of this name, with these options. Raises KeyError for a name that is not in the table, and
    DetectorUnavailable if the library that it needs is missing."""
    module, _, attribute = DETECTORS[name].partition(":")
    made = getattr(import_module(module), attribute)

    def make(rate: int) -> Detector:
        detector: Detector = made(rate, **options)
        return detector

    return make
