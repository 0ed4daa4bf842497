"""What the surety of turns and transitions is worth: of those told with it, how many a labeller has as well.

    PYTHONPATH=. python tests/benchmarks/surety.py [FOLDER ...]

FOLDER holds labelled calls as `compose_call.py` makes them; the shared ones if none is given. A turn is right when the
labels have it (start within 250 ms, half of both in common), a transition when both its turns and its kind are, and its
gap is within 150 ms. Each call is heard with Silero at hand and without.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import soundfile as sf

from connectors.inputs import TRACKS, Audio, CallEnded, CallStarted, TrackFormat
from connectors.pcm import PcmDecoder
from monitor import CallMonitor
from monitor.core.encode import encode

SHARED = Path(__file__).resolve().parents[3] / "shared"
GAP_SECONDS = 0.15


def heard(path: Path, heard_with: str) -> list[dict[str, Any]]:
    """The events of a recording."""
    samples, rate = sf.read(path, dtype="int16", always_2d=True)
    monitor = CallMonitor(heard_with=heard_with)
    told = monitor.feed(CallStarted(call=path.stem, source="wav", tracks={track: TrackFormat() for track in TRACKS}))
    for side, track in enumerate(TRACKS):
        decoder = PcmDecoder("s16le", rate)
        told += monitor.feed(Audio(track, 0, decoder.decode(samples[:, side].tobytes())[0] + decoder.finish()[0]))
    told += monitor.feed(CallEnded(len(samples) * 1000 // rate, "end_of_file"))
    return [json.loads(encode(event)) for event in told]


def main() -> None:
    """Print the table."""
    sys.path.insert(0, str(SHARED / "tools"))
    import score_timeline

    folders = [Path(word) for word in sys.argv[1:]] or [SHARED / "data" / "calls"]
    turns: dict[float, list[bool]] = defaultdict(list)
    passes: dict[float, list[bool]] = defaultdict(list)
    for label_file in sorted(path for folder in folders for path in folder.glob("*.json")):
        label = json.loads(label_file.read_text("utf-8"))
        for heard_with in ("webrtc", "webrtc+silero"):
            told = heard(label_file.with_suffix(".flac"), heard_with)
            ended = {e["turn"]["index"]: e["turn"] for e in told if e["type"] == "turn.ended"}
            pairs = score_timeline.match(dict(enumerate(label["turns"])), ended)
            right = {ours: theirs for theirs, ours in pairs.items()}
            for index, turn in ended.items():
                turns[turn["sure"]].append(index in right)
            wanted = {(one["from_turn"], one["to_turn"]): one for one in label["transitions"]}
            for event in told:
                if event["type"] == "transition.scored" and event["transition"]["final"]:
                    one = event["transition"]
                    true = wanted.get((right.get(one["from_turn"]), right.get(one["to_turn"])))
                    near = true is not None and abs(true["gap_seconds"] - one["gap_seconds"]) <= GAP_SECONDS
                    passes[one["sure"]].append(near and true["kind"] == one["kind"])
    for name, table in (("turns", turns), ("transitions", passes)):
        print(f"{name:12} {'sure':>6} {'told':>6} {'right':>6}")
        for sure, answers in sorted(table.items()):
            print(f"{'':12} {sure:6.2f} {len(answers):6d} {sum(answers) / len(answers):6.3f}")


if __name__ == "__main__":
    main()
