"""What a live call keeps in memory, and what hours of one add.

    PYTHONPATH=. python tests/benchmarks/call_memory.py

Many monitors in the middle of a call, by what the allocator traces; then one call of a day. Takes some minutes.
The allocator does not see the detectors, 0.4 KB a track.
"""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import soundfile as sf

from connectors import inputs
from monitor import CallMonitor

CALL = Path(__file__).resolve().parents[3] / "shared" / "data" / "calls" / "03_barge_in.flac"
CALLS = 200
SECONDS = 60
HOURS = 24
RATE = 8000


def begun() -> CallMonitor:
    """A monitor whose call has just begun."""
    monitor = CallMonitor()
    forms = {track: inputs.TrackFormat("mulaw", RATE) for track in inputs.TRACKS}
    monitor.feed(inputs.CallStarted(call="bench", source="bench", tracks=forms))
    return monitor


def main() -> None:
    """Print the figures."""
    samples, _ = sf.read(CALL, dtype="int16", always_2d=True)
    tracks = [np.ascontiguousarray(samples[:, side]).tobytes() for side in (0, 1)]
    length = len(samples) // RATE * RATE

    def feed(monitor: CallMonitor, first: int, count: int, piece: int) -> None:
        for at in range(first, first + count, piece):
            place = at % length
            for track, pcm in zip(inputs.TRACKS, tracks, strict=True):
                monitor.feed(inputs.Audio(track, at // 8, bytes(pcm[2 * place : 2 * (place + piece)])))

    feed(begun(), 0, RATE, 160)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    monitors = [begun() for _ in range(CALLS)]
    for monitor in monitors:
        feed(monitor, 0, SECONDS * RATE, 160)
    gc.collect()
    each = (tracemalloc.get_traced_memory()[0] - before) / CALLS
    print(f"a live call after {SECONDS} s, mean of {CALLS}: {each / 1024:.1f} KB (goal: 50), detectors not counted")
    del monitors
    gc.collect()
    monitor = begun()
    hour = 3600 * RATE
    feed(monitor, 0, hour // 6, RATE)
    gc.collect()
    early = tracemalloc.get_traced_memory()[0]
    feed(monitor, hour // 6, HOURS * hour - hour // 6, RATE)
    gc.collect()
    grown = (tracemalloc.get_traced_memory()[0] - early) / 1024
    print(f"a call of {HOURS} hours, from its tenth minute on: {grown:+.0f} KB (goal: less than 1024)")


if __name__ == "__main__":
    main()
