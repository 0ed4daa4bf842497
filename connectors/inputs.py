"""What a connector yields: the inputs that a call is made of, in the order they are given to the core.

A call is a *tape*: `CallStarted`, then any number of the others, then `CallEnded`. Every time is **call-relative media
time in whole milliseconds**: zero is the start of the call. Audio is always signed 16-bit little-endian mono; turning
a wire's encoding into that is `connectors.pcm`'s work. Nothing here imports anything of ours.

The structs are frozen and tagged, so that a tape is their plain serialisation (`msgspec.msgpack`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

Track = Literal["caller", "agent"]
"""Who is heard on a track. `caller` is the person, `agent` the machine, whoever dialled."""

TRACKS: tuple[Track, Track] = ("caller", "agent")

Timing = Literal["heard", "delivered"]
"""`heard`: the audio's place in time is when it was heard. `delivered`: it arrives ahead of its playing and
queues behind what is already playing; the core's playout room finds out when it is heard."""

Late = Literal["drop", "keep"]
Cutting = Literal["immediate", "message", "fade"]


class Input(msgspec.Struct, frozen=True, tag_field="input", tag=True):
    """The base of all inputs; never used by itself."""


class PlayoutPolicy(msgspec.Struct, frozen=True):
    """How the client that plays `delivered` audio behaves.

    `name` tells people which client was recognised. `buffer_ms`: what the client buffers before it starts to play.
    `cutting`: `immediate` (a cut silences at once), `message` (the piece that is playing when the cut comes plays to
    its
    end) or `fade` (faded over two seconds, and flushed by the next audio). `late`: whether audio of a response that was
    cut, coming after the cut, is dropped by the client or played. `keep_equal`: audio with the very id named by a cut
    counts as new where nothing of that id had been delivered before it; without it, it is late.
    """

    name: str = "immediate_drop"
    buffer_ms: int = 40
    cutting: Cutting = "immediate"
    late: Late = "drop"
    keep_equal: bool = True


class TrackFormat(msgspec.Struct, frozen=True):
    """What a track was on the wire: `encoding` (`pcm_s16le`, `mulaw`, `alaw`, ... or None if unknown) and
    `sample_rate` in Hz (None if unknown). `timing`: see `Timing`. It describes the source, not the audio given to the
    core."""

    encoding: str | None = None
    sample_rate: int | None = None
    timing: Timing = "heard"


class CallStarted(Input, frozen=True):
    """Always the first input. `started_at` is RFC 3339 UTC, the only wall-clock time of a call. `tracks` lists the
    tracks that this call can ever have: a track that is missing there is *absent*, which is different from silent.
    `source` is the connector's name (`elevenlabs`, `twilio`, `wav`, ...)."""

    call: str
    source: str
    started_at: str | None = None
    agent_id: str | None = None
    labels: dict[str, str] = {}
    tracks: dict[str, TrackFormat] = {}
    playout: PlayoutPolicy = PlayoutPolicy()


class Audio(Input, frozen=True):
    """A piece of one track. `at`: for a `heard` track, when its first sample was heard; for a `delivered` one, when the
    client had it in hand. `pcm`: s16le mono, a whole number of samples, of `rate` Hz (8000 or 16000; one rate for each
    track of a call). `response`: the provider's id of the agent response it belongs to, if it has one. Pieces of a
    `heard` track that touch within 40 ms are taken as continuous; a hole beyond that is silence (see `Stall` for holes
    that are not); what lies before the track's position is late and dropped."""

    track: Track
    at: int
    pcm: bytes
    rate: int = 8000
    response: int | None = None


class Cut(Input, frozen=True):
    """The playing of a `delivered` track was cut at `at`. `response`: the id named by the provider, or None (then
    everything delivered so far is meant)."""

    track: Track
    at: int
    response: int | None = None


class Transcribed(msgspec.Struct, frozen=True):
    """What the words of a turn took: requests sent, seconds of sound sent, and US dollars (None: not known)."""

    requests: int
    seconds: float
    cost_usd: float | None


class Text(Input, frozen=True):
    """Words from the source. `at` is when they arrived, which says nothing about when they were heard. `kind`:
    `transcript` (of what was said), `response` (what the agent was going to say), `correction` (what was heard of a cut
    response). `response`: the provider's id, or None. `start`: when the words were spoken, in ms, where that is known
    (a transcript beside a recording). `turn`: the index of the turn whose words they are, where they were asked for (a
    transcriber's result; an empty text says that it recognised nothing); `took`: what that has cost."""

    track: Track
    at: int
    text: str
    kind: Literal["transcript", "response", "correction"]
    response: int | None = None
    start: int | None = None
    turn: int | None = None
    took: Transcribed | None = None


class Stall(Input, frozen=True):
    """What was on `track` in [`at`, `until`) is unknown: lost packets, a dead socket. Unknown is not silence. Of a
    `delivered` track: so much audio, in the client's hands from `at` on, was not seen."""

    track: Track
    at: int
    until: int


class Elapsed(Input, frozen=True):
    """The connector's clock has reached `at`: everything that arrived before has been given. Releases `delivered`
    audio up to here, and shows which `heard` tracks have stopped coming. Recordings need none."""

    at: int


class Notice(Input, frozen=True):
    """Something about the feed itself: see `notice` in the event contract. `count`: how many of them."""

    at: int
    kind: str
    message: str
    track: Track | None = None
    count: int = 1


class Verdict(msgspec.Struct, frozen=True):
    """What the judge says of one assistant turn. `unscored` is anything but a clear answer, with its reason."""

    index: int
    verdict: Literal["yes", "no", "unscored"]
    reason: str | None = None


class ConversationScore(msgspec.Struct, frozen=True):
    """What a judge of whole conversations says: `score` and `confidence` in 0..1, None where it has no answer, and why.
    It covers the conversation as far as it went when it was asked."""

    score: float | None
    confidence: float | None = None
    reason: str | None = None


class Verdicts(Input, frozen=True):
    """A judge's answer to the core's request number `batch`, or why there is none: then every verdict is `unscored`.
    `judge` is the model's name. The rest is what it took: requests sent, tokens, and the cost if it is known.
    `conversation`: the answer of a judge that gives one score for everything, and no verdicts."""

    at: int
    batch: int
    judge: str
    verdicts: tuple[Verdict, ...]
    requests: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    conversation: ConversationScore | None = None


class FleetView(Input, frozen=True):
    """What is known across calls about this call's agent, from `at` on. `barge_in_baseline`: the share of its turns
    that callers of earlier calls barged into, None while nothing was learnt. `inhibited`: rules whose alerts of one
    call are held back, because an alert across calls says the same."""

    at: int
    barge_in_baseline: float | None = None
    inhibited: tuple[str, ...] = ()


class CallEnded(Input, frozen=True):
    """Always the last input, but for answers that are still awaited (`Verdicts`, and `Text` of turns) and notices that
    come with them. `message`: the reason in words (close code and the like), or None."""

    at: int
    cause: Literal["hangup", "disconnected", "end_of_file", "stopped", "failed"]
    message: str | None = None


AnyInput = CallStarted | Audio | Cut | Text | Stall | Elapsed | Notice | Verdicts | FleetView | CallEnded
