"""The words that tests speak in: who speaks when, and what a monitor says of it.

    turns = turns_of(watch(call(speech("caller", 600, 1800), speech("agent", 2300, 5000))))

Speech is a steady noise, silence a faint one, and the detector of these calls is the one that counts energy: where a
turn starts and ends is then known to the millisecond.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from connectors import inputs
from connectors.inputs import TRACKS, Track
from monitor.core.call import CallMonitor, CoreSettings
from monitor.core.events import Event
from monitor.detectors import new_detector

RATE = 8000
PER_MS = RATE // 1000


class Speech(NamedTuple):
    """`track` speaks in [`start`, `end`), ms."""

    track: Track
    start: int
    end: int


def speech(track: Track, start: int, end: int) -> Speech:
    """`track` speaks from `start` to `end` (ms of the call)."""
    return Speech(track, start, end)


@cache
def noise(ms: int, loudness: int, seed: int) -> bytes:
    """`ms` of noise between +-`loudness`, the same for the same seed."""
    return np.random.default_rng(seed).integers(-loudness, loudness, ms * PER_MS, "<i2", endpoint=True).tobytes()


def voice(ms: int, seed: int = 1) -> bytes:
    """`ms` of something that every detector here takes for a voice."""
    return noise(ms, 5000, seed)


def sound(said: Iterable[Speech], length: int, seed: int = 7) -> dict[Track, bytes]:
    """Both tracks of a call of `length` ms: faint noise, and the given speech in it."""
    pcm = {track: bytearray(noise(length, 2, seed + n)) for n, track in enumerate(TRACKS)}
    for n, (track, start, end) in enumerate(said):
        at = start * PER_MS * 2
        pcm[track][at : at + (end - start) * PER_MS * 2] = voice(end - start, n + 1)
    return {track: bytes(data) for track, data in pcm.items()}


def started(
    call: str = "call", timing: inputs.Timing = "heard", tracks: Sequence[Track] = TRACKS
) -> inputs.CallStarted:
    """The beginning of a call; `timing` is that of the agent's track."""
    forms = {t: inputs.TrackFormat("pcm_s16le", RATE, timing if t == "agent" else "heard") for t in tracks}
    return inputs.CallStarted(call=call, source="test", started_at="2026-01-01T00:00:00Z", tracks=dict(forms))


def pieces(track: Track, pcm: bytes, sizes: Iterable[int]) -> list[inputs.Audio]:
    """One track cut into pieces of so many samples each; what is left over is the last piece."""
    out, at = [], 0
    for samples in sizes:
        out.append(inputs.Audio(track, at // PER_MS, pcm[2 * at : 2 * (at + samples)]))
        at += samples
        if 2 * at >= len(pcm):
            break
    if 2 * at < len(pcm):
        out.append(inputs.Audio(track, at // PER_MS, pcm[2 * at :]))
    return out


def even(track: Track, pcm: bytes, ms: int = 20) -> list[inputs.Audio]:
    """One track in pieces of `ms`."""
    return pieces(track, pcm, [ms * PER_MS] * (len(pcm) // (2 * ms * PER_MS) + 1))


def interleave(parts: Sequence[Sequence[inputs.Input]], rng: random.Random) -> list[inputs.Input]:
    """Several ordered lists as one, each in its own order."""
    rest = [list(part) for part in parts]
    out: list[inputs.Input] = []
    while any(rest):
        out.append(rng.choice([part for part in rest if part]).pop(0))
    return out


def call(*said: Speech, length: int | None = None, cause: Any = "hangup") -> list[inputs.Input]:
    """The tape of a call in 20 ms pieces, by turns the caller's and the agent's."""
    length = length or max((s.end for s in said), default=0) + 3000
    tracks = sound(said, length)
    both = zip(*(even(track, tracks[track]) for track in TRACKS), strict=True)
    audio = [piece for pair in both for piece in pair]
    return [started(), *audio, inputs.CallEnded(length, cause)]


def watch(tape: Iterable[inputs.Input], settings: CoreSettings | None = None, detector: str = "energy") -> list[Event]:
    """What the monitor says of a tape."""
    monitor = CallMonitor(settings or CoreSettings(), new_detector(detector))
    return [event for given in tape for event in monitor.feed(given)] + monitor.finish()


def of(events: Iterable[Event], kind: str) -> list[Any]:
    """The events of one type."""
    return [event for event in events if event.type == kind]


def turns_of(events: Iterable[Event]) -> list[tuple[str, int, int]]:
    """The turns that ended, in order of index: (role, start, end) in ms; a backchannel's role has a `~` before it."""
    turns = sorted((e.turn for e in of(events, "turn.ended")), key=lambda t: t.index)
    return [("~" * t.backchannel + t.role, t.start_ms, t.end_ms) for t in turns]


def transitions_of(events: Iterable[Event]) -> list[tuple[str, int]]:
    """The final transitions in order of the later turn: (kind, gap in ms)."""
    final = [e.transition for e in of(events, "transition.scored") if e.transition.final]
    return [(t.kind, t.gap_ms) for t in sorted(final, key=lambda t: t.to_turn)]
