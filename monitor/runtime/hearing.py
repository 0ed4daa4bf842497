"""The core with the default detector plugged in: what most programs want when they say `CallMonitor`."""

from __future__ import annotations

from importlib.util import find_spec

from monitor.core import call
from monitor.core.call import CoreSettings
from monitor.core.speech import Detector, NewDetector, NewSecond, SecondDetector

DETECTOR, WITH_SECOND = "webrtc", "webrtc+silero"
"""The detectors' names, as they stand on tapes: alone, and with Silero at hand."""


SECOND_PERCENT = 65
"""Beside WebRTC, Silero's word counts above this probability."""


class NoDetector(Exception):
    """A voice-activity detector cannot be loaded. The message says what to install."""


def detectors(settings: CoreSettings) -> str:
    """What calls are heard with here, as it stands on their tapes. Raises NoDetector where Silero is asked for by name
    and is not installed."""
    wanted = settings.speech.detector
    if wanted == "webrtc":
        return DETECTOR
    if find_spec("onnxruntime") is not None:
        return WITH_SECOND
    if wanted == "silero":
        raise NoDetector("speech.detector = silero needs the extra: install turnwatch[silero]")
    return DETECTOR


def second_detector(heard_with: str) -> NewSecond | None:
    """What makes the second detector where calls are heard with `heard_with`; None where that names none. Raises
    NoDetector for one that is not installed, or that this version does not know."""
    if "+" not in heard_with:
        return None
    if heard_with != WITH_SECOND:
        raise NoDetector(f"the detectors {heard_with[:40]!r} are not known: a newer turnwatch is needed")
    if find_spec("onnxruntime") is None:
        raise NoDetector("the call was heard with Silero beside WebRTC: install turnwatch[silero] to hear it so again")

    def new_second(rate: int) -> SecondDetector:
        from monitor.detectors.silero import SileroDetector

        return SileroDetector(rate, SECOND_PERCENT)

    return new_second


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
    None, and then NoDetector is raised where that cannot be loaded. `heard_with`: as it stands on the call's tape;
    what is installed if None. A detector of one's own has no second beside it.
    """

    def __init__(
        self,
        settings: CoreSettings | None = None,
        detector: NewDetector | None = None,
        heard_with: str | None = None,
    ) -> None:
        settings = settings or CoreSettings()
        second = None if detector else second_detector(heard_with or detectors(settings))
        super().__init__(settings, detector or default_detector(settings), second)
