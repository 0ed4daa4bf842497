"""A call as it comes over a wire: pieces of 20 ms when they have been spoken, and the connector's clock beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from connectors import inputs
from connectors.inputs import TRACKS, Track
from tests.builders import Speech, even, sound, started

CLOCK_MS = 50
"""How often the connector's clock is told."""


def as_it_comes(
    said: Iterable[Speech],
    length: int,
    silent_from: dict[Track, int] | None = None,
    back_at: dict[Track, int] | None = None,
    tracks: Sequence[Track] = TRACKS,
) -> list[inputs.Input]:
    """The tape of a live call of `length` ms up to its last clock. Nothing comes of a track between `silent_from` and
    `back_at`, ms; what was said in that time is lost."""
    arrived: list[tuple[int, inputs.Input]] = [(at, inputs.Elapsed(at)) for at in range(0, length + 1, CLOCK_MS)]
    heard = sound(said, length)
    for track in tracks:
        gone = (silent_from or {}).get(track, length)
        back = (back_at or {}).get(track, length)
        for piece in even(track, heard[track]):
            if not gone <= piece.at < back:
                arrived.append((piece.at + 20, piece))
    arrived.sort(key=lambda one: one[0])
    return [started(tracks=tracks), *(given for _, given in arrived)]
