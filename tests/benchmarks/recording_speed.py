"""How fast a stereo recording is read: in multiples of real time, over the detector alone, and beside auditok.

    python tests/benchmarks/recording_speed.py [RECORDING]

CPU time of one process, the rounds taken in turn; the ratios are what counts on a busy machine.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import auditok
import numpy as np
import soundfile as sf

from connectors import inputs
from monitor import CallMonitor, watch
from monitor.detectors.webrtc import WebRtcDetector

CALL = Path(__file__).resolve().parents[3] / "shared" / "data" / "calls" / "03_barge_in.flac"
ROUNDS = 7
RATE = 8000


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU that `work` takes."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main(path: Path) -> None:
    """Print the figures."""
    samples, rate = sf.read(path, dtype="int16", always_2d=True)
    if rate != RATE:
        raise SystemExit(f"{path}: give a recording of {RATE} Hz")
    tracks = [np.ascontiguousarray(samples[:, n]).tobytes() for n in (0, 1)]
    seconds = len(samples) / rate
    second = 2 * RATE

    def detector_alone() -> None:
        for pcm in tracks:
            detector = WebRtcDetector(RATE)
            for at in range(0, len(pcm) // 320 * 320, second):
                detector.voiced(pcm[at : min(at + second, len(pcm) // 320 * 320)])

    def core(piece: int) -> None:
        monitor = CallMonitor()
        forms = {track: inputs.TrackFormat("pcm_s16le", RATE) for track in inputs.TRACKS}
        monitor.feed(inputs.CallStarted(call="bench", source="bench", tracks=forms))
        for at in range(0, len(tracks[0]), piece):
            for track, pcm in zip(inputs.TRACKS, tracks, strict=True):
                monitor.feed(inputs.Audio(track, at // 16, pcm[at : at + piece]))
        monitor.finish()

    async def read() -> None:
        async for _ in watch(f"wav:{path}", speed=None):
            pass

    def peer() -> None:
        for pcm in tracks:
            list(
                auditok.split(pcm, sampling_rate=RATE, sample_width=2, channels=1, energy_threshold=50, max_silence=0.3)
            )

    work: dict[str, Callable[[], object]] = {
        "detector alone": detector_alone,
        "core, pieces of 5 s": lambda: core(5 * second),
        "core, pieces of 1 s": lambda: core(second),
        "core, pieces of 20 ms": lambda: core(320),
        "turnwatch watch, file to events": lambda: asyncio.run(read()),
        "auditok, energy only": peer,
    }
    took: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, each in work.items():
            took[name].append(cpu(each))
    floor = median(took["detector alone"])
    print(f"{path.name}: {seconds:.1f} s of two tracks, median of {ROUNDS} rounds")
    for name, times in took.items():
        middle = median(times)
        print(f"{name:34} {seconds / middle:8.0f} x real time   {middle / floor:6.2f} x the detector alone")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CALL)
