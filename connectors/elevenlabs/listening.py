"""What goes by on one ElevenLabs conversation socket -> the inputs of a call. Pure: the clock comes in with each frame.

Media time zero is the moment the relay's connection stood. Agent audio is `delivered`: it is stamped with when the
client had it, that is when it was passed on plus the one-way delay. Caller audio is `heard`: see `microphone`.
The call begins with the provider's metadata. If audio or words come first, or the caller has talked for some seconds
without it, the call is begun without: format `pcm_16000`, an id of our own, and a notice.
"""

from __future__ import annotations

from typing import Literal

from connectors.elevenlabs.beginning import FALLBACK_FORMAT, Opened, call_started, plain_id
from connectors.elevenlabs.ending import Ending, call_ended
from connectors.elevenlabs.microphone import Microphone, Placed
from connectors.elevenlabs.round_trip import RoundTrip
from connectors.elevenlabs.voices import Voices
from connectors.inputs import Audio, Cut, Elapsed, Input, Text, Track
from connectors.protocols import elevenlabs as wire
from connectors.protocols import elevenlabs_messages as said
from connectors.protocols.tally import Tally

Direction = Literal["client", "server"]
"""Who sent a frame."""

WAIT_FOR_METADATA_MS = 5000
ONE_WAY_AFTER_MS = 10_000
TELL_EVERY_MS = 1000
MAX_EARLY_BYTES = 1 << 20


class Listener:
    """One call. Every method returns the inputs that are due, in order; the first ever is `CallStarted`."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._now = 0
        self._told_time = -1
        self._tally = Tally(TELL_EVERY_MS, keep_first=True)
        self._round_trip = RoundTrip()
        self._microphone = Microphone()
        self._initiation = said.Initiation(opened.source, opened.version, False)
        self._started = False
        self._metadata: said.Metadata | None = None
        self._voices: Voices | None = None
        self._early: list[tuple[int, bytes]] = []
        self._early_bytes = 0
        self._heard: set[Track] = set()
        self._failure: str | None = None

    def receive(self, direction: Direction, frame: str | bytes, now_ms: int) -> list[Input]:
        """A frame went by at `now_ms` (the relay's clock): from the client when it came, from the server when it had
        been passed on. Never raises for what the frame holds."""
        now = self._advance(now_ms)
        out: list[Input] = []
        match wire.from_server(frame) if direction == "server" else wire.from_client(frame):
            case said.CallerAudio(data):
                self._hear_caller(out, now, data)
            case said.AgentAudio(data, response):
                self._begin(out, now)
                self._hear_agent(out, now, data, response)
            case said.Words(kind, text, response):
                self._begin(out, now)
                if text.strip():
                    out.append(Text("caller" if kind == "transcript" else "agent", now, text, kind, response))
            case said.Interruption(response):
                self._begin(out, now)
                if self._voices and self._voices.agent:
                    self._voices.agent.drop_rest()
                    out.append(Cut("agent", now + self._round_trip.delay_ms, response))
            case said.Ping(number):
                self._round_trip.ping(number, now)
            case said.Pong(number):
                self._round_trip.pong(number, now)
            case said.Metadata() as metadata:
                self._meet(out, now, metadata)
            case said.Initiation() as initiation:
                self._initiation = said.Initiation(
                    initiation.source or self._opened.source,
                    initiation.version or self._opened.version,
                    initiation.text_only,
                )
            case said.Failure(code, name, text):
                self._failure = ": ".join(str(part) for part in (name, text, code) if part is not None) or "unnamed"
                self._tally.count("provider_error", None, f"ElevenLabs reports an error: {self._failure}")
            case said.Unknown(kind):
                self._tally.count("unknown_event", None, f"a message of the unknown type {kind!r} from the {direction}")
            case said.Damaged(reason):
                self._tally.count("bad_payload", None, reason)
        return self._with_notices(out, now)

    def round_trip(self, round_trip_ms: int) -> None:
        """The relay measured the client's round trip by itself."""
        self._round_trip.sample(round_trip_ms)

    def lost(self, frames: int, now_ms: int) -> list[Input]:
        """So many frames were passed on without being shown to this listener: the program was too slow."""
        self._microphone.restart()
        message = "the analysis fell behind: messages were passed on to the other side, but not watched"
        self._tally.count("overload", None, message, frames)
        return self._with_notices([], self._advance(now_ms))

    def stumbled(self, now_ms: int) -> list[Input]:
        """An error of the program in the handling of a frame was caught; the next frames are handled."""
        self._tally.count(
            "analysis_error", None, "an error of Turnwatch (see its log): a message was passed on, but not watched"
        )
        return self._with_notices([], self._advance(now_ms))

    def elapsed(self, now_ms: int) -> list[Input]:
        """The clock reached `now_ms`: called every 50 ms or so, whatever the traffic."""
        now = self._advance(now_ms)
        out: list[Input] = []
        if self._early and now - self._early[0][0] >= WAIT_FOR_METADATA_MS:
            self._begin(out, now)
        if self._started:
            self._place(out, self._microphone.elapsed(now, self._round_trip.delay_ms))
            if now >= ONE_WAY_AFTER_MS and self._heard == {"agent"} and self._voices and self._voices.caller:
                self._heard.add("caller")
                self._tally.count("one_way_audio", "caller", "the client has sent no audio of the caller so far")
            self._tell_time(out, now)
        return self._with_notices(out, now)

    def closed(self, now_ms: int, ending: Ending) -> list[Input]:
        """The conversation is over: the last of the call's inputs. Playing is cut when the close reaches the client."""
        now = self._advance(now_ms)
        out: list[Input] = []
        self._begin(out, now, silent=not self._early)
        self._place(out, self._microphone.flush(self._round_trip.delay_ms))
        out += self._tally.rest(now)
        out.append(call_ended(now + self._round_trip.delay_ms, ending, self._failure))
        return out

    def _advance(self, now_ms: int) -> int:
        self._now = max(self._now, now_ms - self._opened.at_ms)
        return self._now

    def _meet(self, out: list[Input], now: int, metadata: said.Metadata) -> None:
        if self._metadata is not None:
            self._tally.count("bad_payload", None, "a second metadata message, which was ignored")
            return
        self._metadata = metadata
        if self._started:
            self._tally.count(
                "no_metadata", None, "the metadata came after audio or words; its formats hold from here on"
            )
            self._choose_voices()
        self._begin(out, now)

    def _begin(self, out: list[Input], now: int, *, silent: bool = False) -> None:
        """`CallStarted`, unless it was told, and what had come before it. `silent`: nothing came that can be heard."""
        if self._started:
            return
        self._started = True
        if self._initiation.text_only:
            self._tally.count(
                "text_only", None, "the client asked for a conversation in text: there is no audio to watch"
            )
        elif not silent:
            if self._metadata is None:
                self._tally.count(
                    "no_metadata", None, f"no metadata from the agent; audio is taken as {FALLBACK_FORMAT}"
                )
            self._choose_voices()
        call = self._metadata.conversation_id if self._metadata else None
        if call is not None and not plain_id(call):
            self._tally.count(
                "bad_payload", None, "the conversation id is no plain word; the call has an id of our own"
            )
            call = None
        tracks = self._voices.tracks() if self._voices else {}
        out.append(call_started(self._opened, call, self._initiation, tracks))
        for at, data in self._early:
            self._decode_caller(out, at, data)
        self._early.clear()

    def _choose_voices(self) -> None:
        agent = self._metadata.agent_format if self._metadata else None
        caller = self._metadata.caller_format if self._metadata else None
        self._voices = Voices(agent or FALLBACK_FORMAT, caller or FALLBACK_FORMAT)
        if self._metadata and agent is None:
            self._tally.count(
                "no_metadata", None, f"the metadata names no format of the agent; taken as {FALLBACK_FORMAT}"
            )
        for track, trouble in self._voices.troubles.items():
            self._tally.count("unknown_format", "agent" if track == "agent" else "caller", trouble)

    def _hear_agent(self, out: list[Input], now: int, data: bytes, response: int | None) -> None:
        voice = self._voices.agent if self._voices else None
        if not data:
            self._tally.count("empty_audio", "agent", "an audio message without audio")
        if voice is None or not data:
            return
        self._heard.add("agent")
        if pcm := voice.decode(data, response):
            out.append(Audio("agent", now + self._round_trip.delay_ms, pcm, response=response))
        if voice.odd_bytes:
            self._tally.count("bad_payload", "agent", "half a sample at the end of a response", voice.odd_bytes)
            voice.odd_bytes = 0

    def _hear_caller(self, out: list[Input], now: int, data: bytes) -> None:
        if not data:
            self._tally.count("empty_audio", "caller", "a user_audio_chunk without audio")
        elif self._started:
            self._decode_caller(out, now, data)
            self._tell_time(out, now)
        elif self._early_bytes + len(data) <= MAX_EARLY_BYTES:
            self._early.append((now, data))
            self._early_bytes += len(data)
        else:
            self._begin(out, now)
            self._decode_caller(out, now, data)

    def _decode_caller(self, out: list[Input], at: int, data: bytes) -> None:
        voice = self._voices.caller if self._voices else None
        if voice is not None:
            self._heard.add("caller")
            self._place(out, self._microphone.arrive(at, voice.decode(data), self._round_trip.delay_ms))

    def _place(self, out: list[Input], placed: list[Placed]) -> None:
        out += [Audio("caller", at, pcm) for at, pcm in placed]

    def _tell_time(self, out: list[Input], now: int) -> None:
        """`Elapsed`, but not beyond audio that came and waits for its place: it would be taken as missing."""
        waiting = self._microphone.waiting_since
        now = now if waiting is None else min(now, waiting)
        if now > self._told_time:
            self._told_time = now
            out.append(Elapsed(now))

    def _with_notices(self, out: list[Input], now: int) -> list[Input]:
        if self._started:
            out += self._tally.told(now)
        return out
