"""What happens to a track's speech: the edges that the timeline is made of."""

from __future__ import annotations

from typing import NamedTuple


class Edge(NamedTuple):
    """Something that happened to a track's speech. `known`: the media time (ms) at which it could be said. `at`: rise
    and open: where the stretch begins; lull and close: where its voice ended. `stall`: a close for want of audio.
    `noise_db`: at a close, how far a noise that the voice dies away in reaches over the level of the trim. `doubted`:
    at a close, the first detector heard a voice in most of what followed. `sure`: how sure an open and a close are."""

    known: int
    kind: str
    at: int
    stall: bool = False
    noise_db: float = 0.0
    doubted: bool = False
    sure: float = 1.0


RISE, FALL, OPEN, LULL, RESUME, CLOSE = "rise", "fall", "open", "lull", "resume", "close"
