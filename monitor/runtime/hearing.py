"""The core with the default detector plugged in: what most programs want when they say `CallMonitor`."""

from __future__ import annotations

from monitor.core import call
from monitor.core.call import CoreSettings
from monitor.core.speech import Detector, NewDetector

DETECTOR = "webrtc"
"""The default detector's name, as it stands on tapes."""


class NoDetector(Exception):
    """The voice-activity detector cannot be loaded. The message says what to install."""


def default_detector(settings: CoreSettings) -> NewDetector:
    """What makes the default detector for a track of a given rate. Raises NoDetector: a call without a detector would
    look like a call without turns."""
    try:
        from monitor.detectors.webrtc import WebRtcDetector
    except Exception as error:
        raise NoDetector(str(error)) from error
    mode = settings.speech.detector_mode

    def new_detector(rate: int) -> Detector:
        return WebRtcDetector(rate, mode)

    return new_detector


class CallMonitor(call.CallMonitor):
    """Judges one call without asyncio: `feed(input) -> [events]` for each input, then `finish()`.

    `settings`: the core's settings, defaults if None. `detector`: makes a detector for a track's rate; WebRTC's if
    None, and then NoDetector is raised where that cannot be loaded.
    """

    def __init__(self, settings: CoreSettings | None = None, detector: NewDetector | None = None) -> None:
        settings = settings or CoreSettings()
        super().__init__(settings, detector or default_detector(settings))
