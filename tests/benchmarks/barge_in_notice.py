"""How soon a caller's barge-in is told: in media time after its first voiced frame, and what the program adds to that.

    PYTHONPATH=. python tests/benchmarks/barge_in_notice.py [CALL.flac ...]

The calls are fed in pieces of 20 ms, as they come over a phone line.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import soundfile as sf

from connectors import inputs
from connectors.pcm import PcmDecoder
from monitor import CallMonitor
from monitor.core.events import TransitionScored

CALLS = Path(__file__).resolve().parents[3] / "shared" / "data" / "calls"
DEFAULT = ("03_barge_in", "04_barge_in_held", "06_backchannels_16k", "10_echo_25db")


def notices(path: Path) -> tuple[list[int], list[float]]:
    """For each barge-in told provisionally: ms of media time, and wall ms that the telling piece took."""
    samples, rate = sf.read(path, dtype="int16", always_2d=True)
    monitor = CallMonitor()
    forms = {track: inputs.TrackFormat("pcm_s16le", rate) for track in inputs.TRACKS}
    monitor.feed(inputs.CallStarted(call=path.stem, source="bench", tracks=forms))
    decoders = {track: PcmDecoder("s16le", rate) for track in inputs.TRACKS}
    places = dict.fromkeys(inputs.TRACKS, 0)
    seen: set[tuple[int, int]] = set()
    media, wall = [], []
    step = rate // 50
    for at in range(0, len(samples), step):
        for side, track in enumerate(inputs.TRACKS):
            pcm = np.ascontiguousarray(samples[at : at + step, side]).tobytes()
            begun = time.perf_counter()
            heard = decoders[track].decode(pcm)[0]
            events = monitor.feed(inputs.Audio(track, places[track] // 8, heard)) if heard else []
            took = (time.perf_counter() - begun) * 1000
            places[track] += len(heard) // 2
            for event in events:
                if isinstance(event, TransitionScored) and event.transition.kind == "user_barge_in":
                    key = (event.transition.from_turn, event.transition.to_turn)
                    if key not in seen:
                        seen.add(key)
                        media.append(event.known_at_ms - event.at_ms)
                        wall.append(took)
    return media, wall


def spread(values: list[int] | list[float]) -> str:
    """Median, 95th percentile and the most."""
    ranked = sorted(values)
    return f"median {median(ranked):.2f}, p95 {ranked[int(0.95 * (len(ranked) - 1) + 0.5)]:.2f}, most {ranked[-1]:.2f}"


def main(paths: list[Path]) -> None:
    """Print the figures."""
    media: list[int] = []
    wall: list[float] = []
    for path in paths:
        more = notices(path)
        media += more[0]
        wall += more[1]
    print(f"{len(media)} barge-ins told (backchannels among them, before they are known as such), {len(paths)} calls")
    print(f"media time after the first voiced frame, ms: {spread(media)} (goal: 120)")
    print(f"wall time added by the program, ms: {spread(wall)}")


if __name__ == "__main__":
    main([Path(p) for p in sys.argv[1:]] or [CALLS / f"{name}.flac" for name in DEFAULT])
