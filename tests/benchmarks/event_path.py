"""What a live message costs on its way from the wire to events, over the detector alone.

    PYTHONPATH=. python tests/benchmarks/event_path.py

A Twilio call in messages of 20 ms: decoded and placed, judged once it is decoded, and both, beside the detector on the
same frames. CPU time, the rounds taken in turn, medians.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import soundfile as sf

from connectors import g711
from connectors.inputs import Input
from connectors.protocols import twilio
from connectors.protocols.twilio_call import CallLimits, TwilioCall
from monitor import CallMonitor
from monitor.detectors.webrtc import WebRtcDetector

CALL = Path(__file__).resolve().parents[3] / "shared" / "data" / "calls" / "03_barge_in.flac"
ROUNDS = 7
FRAME = 160


def messages() -> tuple[list[str], list[bytes]]:
    """The call as a carrier sends it, and its frames as samples."""
    samples, _ = sf.read(CALL, dtype="int16", always_2d=True)
    texts, frames = [], []
    for number, at in enumerate(range(0, len(samples) - FRAME, FRAME)):
        for side, track in enumerate(("inbound", "outbound")):
            pcm = np.ascontiguousarray(samples[at : at + FRAME, side]).tobytes()
            law = g711.compress(g711.MULAW, pcm)
            sequence = 2 * number + side + 2
            texts.append(twilio.media("MZ1", track, law, sequence=sequence, chunk=number + 1, timestamp=at // 8))
            frames.append(pcm)
    return texts, frames


def main() -> None:
    """Print the figures."""
    texts, frames = messages()
    start = twilio.decode(twilio.start("MZ1", "CA1", tracks=("inbound", "outbound")))

    def detector_alone() -> None:
        both = (WebRtcDetector(), WebRtcDetector())
        for number, pcm in enumerate(frames):
            both[number & 1].voiced(pcm)

    def decoded() -> list[Input]:
        call = TwilioCall("CA1", CallLimits())
        stream = call.join(start.start, 1, 0)  # type: ignore[union-attr, arg-type]
        out: list[Input] = []
        for number, text in enumerate(texts):
            out += call.receive(stream, text, number * 10)
        return out

    inputs = decoded()

    def judged() -> None:
        monitor = CallMonitor()
        for given in inputs:
            monitor.feed(given)
        monitor.finish()

    def whole() -> None:
        monitor = CallMonitor()
        call = TwilioCall("CA1", CallLimits())
        stream = call.join(start.start, 1, 0)  # type: ignore[union-attr, arg-type]
        for number, text in enumerate(texts):
            for given in call.receive(stream, text, number * 10):
                monitor.feed(given)
        monitor.finish()

    work: dict[str, Callable[[], object]] = {
        "detector alone": detector_alone,
        "message to inputs": decoded,
        "inputs to events": judged,
        "message to events": whole,
    }
    took: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, each in work.items():
            begun = time.process_time()
            each()
            took[name].append(time.process_time() - begun)
    floor = median(took["detector alone"])
    print(f"{len(texts)} messages of 20 ms, median of {ROUNDS} rounds")
    for name, times in took.items():
        middle = median(times)
        print(f"{name:20} {middle / len(texts) * 1e6:7.1f} us a message   {middle / floor:5.2f} x the detector alone")


if __name__ == "__main__":
    main()
