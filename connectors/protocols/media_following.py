"""A track that stays behind while the other one goes on: it follows, so that the call can.

Tracks that share a socket come side by side: one that is 250 ms behind is not being sent, and follows at 60 ms. Tracks
on streams of their own may drift apart; one has to be a second behind, by its time stamps and by the clock.

What it follows with: silence, as long as its sender is there and nothing is missing; otherwise the unknown.
"""

from __future__ import annotations

from connectors.inputs import Input
from connectors.protocols.media_stream import MediaStream
from connectors.protocols.media_track import ABSENT_KEEP_MS, MediaTrack
from connectors.protocols.tally import Tally

APART_MS = 1000
APART_KEEP_MS = 500
NEVER_MS = 10_000
"""A track that was announced and has not been heard for so long is not there."""
DEAD_MS = 2000
"""A stream that has been silent for so long may be dead."""
LOST_PIECE_MS = 20.0
"""A message that is missing from a stream was a piece of about this length."""
MISSED_MS = 1000
"""A track of which nothing is known for so long is told to be missing, before any of it comes back."""


def follow(
    track: MediaTrack,
    lead_at: int,
    stream: MediaStream,
    owner: MediaStream | None,
    silent_ms: int,
    tally: Tally,
    out: list[Input],
) -> None:
    """Bring `track` near `lead_at`, the time of a piece of the other track that came on `stream`. `owner`: the stream
    that `track` was heard on last; it has been silent for `silent_ms` by the clock."""
    order = owner.orders[track.name] if owner is not None else None
    if order is not None and order.held:
        return
    shares = owner is stream or (owner is None and track.name in stream.carries)
    if shares:
        until = lead_at - ABSENT_KEEP_MS
        track.patience_ms = ABSENT_KEEP_MS
    elif silent_ms <= APART_MS or lead_at - track.position_ms <= APART_MS:
        return
    else:
        until = lead_at - APART_KEEP_MS
    unknown_before = track.unknown_ms
    if not track.heard and lead_at >= NEVER_MS:
        if not track.told_never:
            track.told_never = True
            message = f"{track.name} channel absent: it was announced, but nothing came in {NEVER_MS // 1000} s"
            tally.count("one_way_audio", track.name, message)
        track.stall(until, out)
    elif not shares and (owner is None or not owner.open or silent_ms >= DEAD_MS):
        track.stall(until, out)
    else:
        if shares and order is not None and order.number is not None and stream.sequence.last is not None:
            missing = stream.sequence.unseen(order.number, stream.sequence.last)
            track.stall_lost(until, missing * LOST_PIECE_MS, out)
        track.silence(until, out)
    if track.unknown_ms >= max(MISSED_MS, unknown_before + 1) and not (track.told_missing or track.told_never):
        track.told_missing = True
        tally.count("stalled", track.name, f"no audio of the {track.name} comes; it counts as unknown until it is back")
