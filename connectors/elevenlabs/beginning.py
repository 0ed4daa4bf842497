"""What is known of a conversation when its connection stands, and how its call begins."""

from __future__ import annotations

import re
from typing import NamedTuple

from connectors.elevenlabs.clients import policy_for
from connectors.inputs import CallStarted, PlayoutPolicy, TrackFormat
from connectors.protocols.elevenlabs_messages import Initiation

FALLBACK_FORMAT = "pcm_16000"
"""What audio is taken for where nobody says; the JavaScript SDK does the same with the caller's."""

_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")


class Opened(NamedTuple):
    """`at_ms`: the relay's clock when the connection stood, media time zero; `started_at`: the same as RFC 3339 UTC.
    `fallback_id`: the call's id if the provider gives none. `agent_id`, `source` and `version` come from the client's
    query. `playout`: the configured policy, None to go by the source."""

    at_ms: int
    fallback_id: str
    started_at: str | None = None
    agent_id: str | None = None
    source: str | None = None
    version: str | None = None
    playout: PlayoutPolicy | None = None


def plain_id(call: str) -> bool:
    """Whether a provider's id may stand in file names and on screens: letters, digits and `_.:-`, 128 at most."""
    return _PLAIN_ID.fullmatch(call) is not None


def call_started(
    opened: Opened, call: str | None, initiation: Initiation, tracks: dict[str, TrackFormat]
) -> CallStarted:
    """The first input. `initiation`: what the client said of itself; `call`: the provider's id, if it is usable."""
    labels = {"client": initiation.source, "client_version": initiation.version}
    return CallStarted(
        call=call or opened.fallback_id,
        source="elevenlabs",
        started_at=opened.started_at,
        agent_id=opened.agent_id,
        labels={name: value for name, value in labels.items() if value},
        tracks=tracks,
        playout=opened.playout or policy_for(initiation.source),
    )
