"""A carrier for tests and trials: opens media streams to a server, as Twilio does, and plays a call into them.

    python -m connectors.simulator.twilio call.wav ws://127.0.0.1:8765/twilio --speed 1 --loss 0.03

The left channel is the caller, the right one the agent. See `--help` for the faults that it can have.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import socket
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from connectors.base import ConnectorError
from connectors.pcm import PcmDecoder, UnknownFormat
from connectors.simulator.twilio_frames import RATE, CarrierSettings, Line, lines
from connectors.twilio.signature import SIGNATURE, signature

_BREATH = 50
"""At full speed the loop gets a turn after so many messages."""


class PlacedCall(msgspec.Struct):
    """What became of a call: its id, how many messages were sent, and the code and reason of each socket's close (None
    where we cut it ourselves)."""

    call_sid: str
    sent: int
    closes: list[tuple[int | None, str]]


class TwilioCarrier:
    """Opens streams to `url` (`ws:` or `wss:`).

    `settings`: what the messages are like. `speed`: 1 for the speed of the call, None for as fast as they are taken.
    `separate`: a stream for each track. `abort`: the connection is reset at the end instead of closed. `lost_at_ms` and
    `away_ms`: the connection is reset there, and after `away_ms` a new stream of the call begins, its time stamps at
    zero. `token`: sent as the parameter of that name; `auth_token`: signs the requests, over `sign_url` if given.
    """

    def __init__(
        self,
        url: str,
        settings: CarrierSettings | None = None,
        *,
        speed: float | None = 1.0,
        separate: bool = False,
        abort: bool = False,
        lost_at_ms: int | None = None,
        away_ms: int = 1000,
        token: str | None = None,
        auth_token: str | None = None,
        sign_url: str | None = None,
        parameters: dict[str, str] | None = None,
    ) -> None:
        self._url = url
        self._settings = settings or CarrierSettings()
        self._speed = speed
        self._separate = separate
        self._abort = abort
        self._lost_at = lost_at_ms
        self._away = away_ms
        self._parameters = dict(parameters or {}) | ({"token": token} if token is not None else {})
        signed = sign_url or urlunsplit(urlsplit(url)._replace(scheme="wss"))
        self._headers = {SIGNATURE: signature(auth_token, signed)} if auth_token is not None else {}

    async def call(self, caller: bytes, agent: bytes, *, call_sid: str | None = None) -> PlacedCall:
        """Play a call (s16le at 8 kHz) to its end. Raises `ConnectorError` if a socket cannot be opened."""
        placed = PlacedCall(call_sid or "CA" + uuid.uuid4().hex, 0, [])
        if self._lost_at is None:
            await self._play(caller, agent, self._settings, placed, abort=self._abort)
            return placed
        cut, back = (2 * RATE * ms // 1000 for ms in (self._lost_at, self._lost_at + self._away))
        unfinished = msgspec.structs.replace(self._settings, stop=False)
        await self._play(caller[:cut], agent[:cut], unfinished, placed, abort=True)
        await asyncio.sleep(self._away / 1000 / self._speed if self._speed else 0)
        await self._play(caller[back:], agent[back:], self._settings, placed, abort=self._abort)
        return placed

    async def _play(
        self, caller: bytes, agent: bytes, settings: CarrierSettings, placed: PlacedCall, *, abort: bool
    ) -> None:
        groups = [(track,) for track in settings.tracks] if self._separate else [settings.tracks]
        streams = [self._lines(caller, agent, settings, tracks, placed.call_sid) for tracks in groups]
        async with contextlib.AsyncExitStack() as stack:
            sockets = [await stack.enter_async_context(await self._connect()) for _ in groups]
            with contextlib.suppress(ConnectionClosed):
                await self._send(sockets, streams, placed)
            for connection in sockets:
                if abort:
                    _reset(connection)
                else:
                    await _closed(connection)
                    placed.closes.append((connection.close_code, connection.close_reason or ""))

    def _lines(
        self, caller: bytes, agent: bytes, settings: CarrierSettings, tracks: tuple[str, ...], call_sid: str
    ) -> Iterator[Line]:
        return lines(
            caller,
            agent,
            stream_sid="MZ" + uuid.uuid4().hex,
            call_sid=call_sid,
            settings=msgspec.structs.replace(settings, tracks=tracks),
            parameters=self._parameters,
        )

    async def _connect(self) -> ClientConnection:
        try:
            return await connect(self._url, additional_headers=self._headers, compression=None, proxy=None)
        except InvalidURI:
            raise ConnectorError(f"{self._url} is no WebSocket URL: it must begin with ws:// or wss://") from None
        except InvalidHandshake as refusal:
            raise ConnectorError(f"{self._url} refuses the stream: {refusal}") from None
        except OSError as error:
            raise ConnectorError(f"{self._url} cannot be reached: {error.strerror or error}") from None

    async def _send(self, sockets: list[ClientConnection], streams: list[Iterator[Line]], placed: PlacedCall) -> None:
        """All streams' messages, each at its time."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        numbered = (_numbered(number, stream) for number, stream in enumerate(streams))
        for due_ms, number, text in heapq.merge(*numbered, key=lambda line: line[0]):
            if self._speed:
                wait = begun + due_ms / 1000 / self._speed - loop.time()
                if wait > 0:
                    await asyncio.sleep(wait)
            elif placed.sent % _BREATH == 0:
                await asyncio.sleep(0)
            await sockets[number].send(text)
            placed.sent += 1


def _numbered(number: int, stream: Iterator[Line]) -> Iterator[tuple[int, int, str]]:
    for line in stream:
        yield line.due_ms, number, line.text


async def _closed(connection: ClientConnection) -> None:
    """Let the server close, for a moment; then do it ourselves."""
    with contextlib.suppress(ConnectionClosed, TimeoutError):
        async with asyncio.timeout(2):
            while True:
                await connection.recv()
    await connection.close()


def _reset(connection: ClientConnection) -> None:
    """Cut the connection as a network does: no close frame, a TCP reset."""
    raw = connection.transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.transport.abort()


def read_recording(path: Path) -> tuple[bytes, bytes]:
    """(caller, agent) as s16le at 8 kHz from the left and right channel of a recording; of a mono one the agent is
    silent. Raises `ConnectorError`."""
    import soundfile

    try:
        samples, rate = soundfile.read(path, dtype="int16", always_2d=True)
        decoder = PcmDecoder("s16le", rate, channels=samples.shape[1])
    except (soundfile.SoundFileError, UnknownFormat, OSError) as error:
        raise ConnectorError(f"{path} cannot be read: {error}") from None
    parts = zip(decoder.decode(samples.tobytes()), decoder.finish(), strict=True)
    channels = [head + tail for head, tail in parts]
    return channels[0], channels[1] if len(channels) > 1 else bytes(len(channels[0]))


if __name__ == "__main__":
    from connectors.simulator.twilio_command import main

    raise SystemExit(main())
