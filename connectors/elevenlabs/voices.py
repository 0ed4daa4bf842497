"""The wire's audio of either side -> s16le at 8 kHz."""

from __future__ import annotations

from connectors.inputs import TrackFormat
from connectors.pcm import PcmDecoder, UnknownFormat
from connectors.protocols.elevenlabs_messages import audio_format

RATE = 8000


class Voice:
    """One side's audio, in a format of the wire's words (`pcm_16000`, `ulaw_8000`). Raises `UnknownFormat`.

    All its audio is one stream, for nobody knows how ids step: a filter holds the last 3 ms until more comes, and
    samples split between two messages are joined. Half a sample at the end of a response harms no other: it is left
    out, and counted in `odd_bytes`.
    """

    def __init__(self, word: str) -> None:
        known = audio_format(word)
        if known is None:
            raise UnknownFormat(
                f"audio format {word[:40]!r} is not known; known are pcm_8000 to pcm_48000 and ulaw_8000"
            )
        self._encoding, self._rate = known
        self._width = 2 if self._encoding == "s16le" else 1
        self._half_sample = 0
        self._decoder = self._fresh()
        self._response: int | None = None
        self.odd_bytes = 0

    @property
    def track(self) -> tuple[str, int]:
        """Encoding and rate in Hz, as a `TrackFormat` names them."""
        return ("pcm_s16le" if self._encoding == "s16le" else self._encoding), self._rate

    def decode(self, data: bytes, response: int | None = None) -> bytes:
        """The s16le samples that these bytes complete."""
        rest = b""
        if response != self._response:
            self._response = response
            if self._half_sample:
                self.odd_bytes += 1
                rest = self._decoder.finish()[0]
                self.drop_rest()
        self._half_sample = (self._half_sample + len(data)) % self._width
        return rest + self._decoder.decode(data)[0]

    def drop_rest(self) -> None:
        """The response was cut: what the decoder still holds is never heard."""
        self._decoder = self._fresh()
        self._half_sample = 0

    def _fresh(self) -> PcmDecoder:
        return PcmDecoder(self._encoding, self._rate, target=RATE)


class Voices:
    """Both sides of a call, each with its format or, where that cannot be read, absent. `troubles` says why, for each
    track: sentences for the user."""

    def __init__(self, agent_format: str, caller_format: str) -> None:
        self.troubles: dict[str, str] = {}
        self.agent = self._voice("agent", agent_format)
        self.caller = self._voice("caller", caller_format)

    def tracks(self) -> dict[str, TrackFormat]:
        """What a `CallStarted` says of the tracks: agent audio is delivered, caller audio is heard."""
        tracks = {}
        if self.caller is not None:
            tracks["caller"] = TrackFormat(*self.caller.track)
        if self.agent is not None:
            tracks["agent"] = TrackFormat(*self.agent.track, timing="delivered")
        return tracks

    def _voice(self, track: str, word: str) -> Voice | None:
        try:
            return Voice(word)
        except UnknownFormat as unknown:
            self.troubles[track] = f"the {track}'s {unknown}; this side of the call is not watched"
            return None
