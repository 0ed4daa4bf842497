"""How many tracks of live calls one core carries while Silero is asked about every frame of them.

    PYTHONPATH=. python tests/benchmarks/silero_tracks.py [CALLS]

Calls in babble, side by side, in messages of 20 ms, by the core as it stands: Silero is asked for all of them together.
Beside it the same calls one after the other, and with WebRTC alone. CPU time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import soundfile as sf

from connectors.inputs import TRACKS, Audio, CallStarted, Input, TrackFormat
from monitor import CallMonitor
from monitor.core.call import CoreSettings
from monitor.core.speech import SpeechSettings

CALL = Path(__file__).resolve().parents[3] / "shared" / "data" / "calls" / "09_babble_15db.flac"
SECONDS, APART_MS, FRAME = 10, 130, 160


def messages(skip_ms: int) -> Iterator[Input]:
    """A call that begins so late in the recording."""
    samples, _ = sf.read(CALL, dtype="int16", always_2d=True)
    yield CallStarted(call="c", source="test", tracks={track: TrackFormat() for track in TRACKS})
    for k in range(SECONDS * 50):
        at = skip_ms * 8 + k * FRAME
        for side, track in enumerate(TRACKS):
            yield Audio(track, k * 20, samples[at : at + FRAME, side].tobytes())


def cost(calls: list[list[Input]], detector: str, *, together: bool) -> float:
    """CPU seconds for all of them."""
    settings = CoreSettings(speech=SpeechSettings(detector=detector))  # type: ignore[arg-type]
    monitors = [CallMonitor(settings) for _ in calls]
    begun = time.process_time()
    if together:
        for moment in zip(*calls, strict=True):
            for monitor, given in zip(monitors, moment, strict=True):
                monitor.feed(given)
    else:
        for monitor, call in zip(monitors, calls, strict=True):
            for given in call:
                monitor.feed(given)
    return time.process_time() - begun


def main() -> None:
    """Print the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    calls = [list(messages(k * APART_MS)) for k in range(count)]
    cost(calls[:2], "silero", together=True)
    alone = cost(calls, "webrtc", together=True)
    print(f"{2 * count} tracks, {SECONDS} s of each")
    for name, detector, together in (
        ("WebRTC alone", "webrtc", True),
        ("Silero, call by call", "silero", False),
        ("Silero, all calls together", "silero", True),
    ):
        took = alone if detector == "webrtc" else cost(calls, detector, together=together)
        carried = 2 * count * SECONDS / took
        print(f"{name:28} {carried:8.0f} tracks on one core   {took / alone:5.2f} x WebRTC alone")


if __name__ == "__main__":
    main()
