"""What happens to a track's speech: the edges that the timeline is made of."""

from __future__ import annotations

from typing import NamedTuple


class Edge(NamedTuple):
    """Something that happened to a track's speech. `known`: the media time (ms) at which it could be said. `at`: rise
    and open: where the stretch begins; lull and close: where its voice ended. `stall`: a close for want of audio."""

    known: int
    kind: str
    at: int
    stall: bool = False


RISE, FALL, OPEN, LULL, RESUME, CLOSE = "rise", "fall", "open", "lull", "resume", "close"
