"""How the simulated provider behaves on the wire, as plain data; its odd ways included, each under a name.

Nobody outside knows how ElevenLabs sizes its audio messages, steps its ids or orders some of its events, and what is
known changes. So each of these is a field here, and what a client or a monitor must survive is a row of `FAULTS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from connectors.simulator.wire_audio import wire_rate

DEFAULT_EVENTS = frozenset({"audio", "interruption", "agent_response", "user_transcript", "ping"})
"""What a new ElevenLabs agent sends besides the metadata, as far as this simulator can."""

EVENTS = DEFAULT_EVENTS | {"agent_response_correction", "agent_response_complete", "vad_score"}
"""Everything that can be turned on."""


@dataclass(frozen=True)
class Habits:
    """Times are in ms; those marked *speech* are of the audio, the others of the wall clock.

    - `agent_format`, `caller_format`: what the metadata announces and the audio is in.
    - `ratio`: how much faster than it plays the agent's audio is sent; `burst_ms` (speech): each message holds between
      the first and the second; `pauses`: pairs (speech sent of a line, pause): delivery rests there, once a line.
    - `words_first`: `agent_response` goes out before the first audio of the response, not after it.
    - `id_step`: how far `event_id` moves from one response to the next.
    - `late_ms` (speech): how much of a cut response still comes after the interruption.
    - `interruption_id`: what the interruption names: the cut `response`, a `later` id, or nothing (`missing`).
    - `events`: which events are on (of `EVENTS`).
    - `ping_every`; `ping_ms`: the figure in a ping is the last round trip and null at `first`, always null (`null`),
      or left out (`absent`); `pong_within`: closes with 1002 when a pong takes longer, None: never.
    - `end_code`, `end_reason`: how the agent closes the call; `torn`: instead of that the connection is cut without a
      close frame; `end_at`: so long after the start whatever is being said, None: when the scenario is over;
      `error`: an event of that shape goes before the close.
    - `unknown_types`: sprinkles in messages and fields that no contract describes.
    - `bad_signature`: a wrong or missing signature is refused with HTTP 403, or accepted and closed with 1008.
    """

    agent_format: str = "pcm_16000"
    caller_format: str = "pcm_16000"
    ratio: float = 5.0
    burst_ms: tuple[int, int] = (100, 2000)
    pauses: tuple[tuple[int, int], ...] = ()
    words_first: bool = True
    id_step: int = 1
    late_ms: int = 0
    interruption_id: Literal["response", "later", "missing"] = "response"
    events: frozenset[str] = DEFAULT_EVENTS | {"agent_response_correction"}
    ping_every: int = 2000
    ping_ms: Literal["first", "null", "absent"] = "first"
    pong_within: int | None = None
    end_code: int = 1000
    end_reason: str = ""
    torn: bool = False
    end_at: int | None = None
    error: Literal["error", "client_error"] | None = None
    unknown_types: bool = False
    bad_signature: Literal["http", "close"] = "http"

    def __post_init__(self) -> None:
        wire_rate(self.agent_format)
        wire_rate(self.caller_format)
        low, high = self.burst_ms
        if not 0 < low <= high:
            raise ValueError(f"burst_ms must be two positive numbers, the smaller first, not {low} and {high}")
        if not 0 < self.ratio <= 1000:
            raise ValueError(f"ratio must be above 0 and at most 1000, not {self.ratio}")
        if self.ping_every < 10 or self.id_step < 1:
            raise ValueError("ping_every must be 10 or more, id_step 1 or more")
        if unknown := self.events - EVENTS:
            raise ValueError(f"no such events: {', '.join(sorted(unknown))}; there are {', '.join(sorted(EVENTS))}")

    def with_fault(self, name: str) -> Habits:
        """These habits with the row `name` of `FAULTS` on top. Raises `ValueError`."""
        if name not in FAULTS:
            raise ValueError(f"there is no fault {name!r}; there are {', '.join(FAULTS)}")
        return replace(self, **FAULTS[name][1])


FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "late-audio": ("1.5 s of a cut response still come after the interruption", {"late_ms": 1500}),
    "no-interruption-id": ("the interruption names no response", {"interruption_id": "missing"}),
    "later-interruption-id": ("the interruption names an id beyond the cut response", {"interruption_id": "later"}),
    "steps": ("event_id moves by 7", {"id_step": 7}),
    "words-after": ("agent_response comes after the first audio", {"words_first": False}),
    "no-correction": ("agent_response_correction is off, as by default", {"events": DEFAULT_EVENTS}),
    "flood": ("the whole response at once, in small messages", {"ratio": 1000.0, "burst_ms": (100, 100)}),
    "one-message": ("the whole response in one message", {"burst_ms": (60_000, 60_000)}),
    "drip": ("hardly faster than it plays, in 20 ms messages", {"ratio": 1.1, "burst_ms": (20, 20)}),
    "pause": ("delivery rests for 600 ms after 1 s of speech", {"burst_ms": (1000, 1000), "pauses": ((1000, 600),)}),
    "pong-required": ("closes with 1002 when a pong takes longer than 3 s", {"pong_within": 3000}),
    "null-ping": ("ping_ms is null in every ping", {"ping_ms": "null"}),
    "bare-ping": ("ping_ms is left out of every ping", {"ping_ms": "absent"}),
    "mulaw": ("the agent speaks and hears ulaw_8000", {"agent_format": "ulaw_8000", "caller_format": "ulaw_8000"}),
    "44100": ("the agent speaks pcm_44100 (and hears pcm_16000)", {"agent_format": "pcm_44100"}),
    "unknown-types": ("messages and fields that no contract describes", {"unknown_types": True}),
    "close-1002": (
        "operational failure: error event, then close 1002",
        {"error": "error", "end_code": 1002, "end_reason": "LLM timeout", "end_at": 4000},
    ),
    "close-1008": (
        "bad input: client_error event, then close 1008",
        {"error": "client_error", "end_code": 1008, "end_reason": "override not allowed", "end_at": 4000},
    ),
    "close-1011": ("internal failure, without a word before", {"end_code": 1011, "end_reason": "", "end_at": 4000}),
    "torn": ("the connection is cut without a close frame", {"torn": True, "end_at": 4000}),
}
"""Name -> what it is in a sentence, and the habits that make it. A new fault is one more row."""
