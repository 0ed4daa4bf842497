"""One socket that a carrier has opened: from its first message to its last."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NoReturn

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from connectors.protocols.twilio import BadMessage, Message, decode
from connectors.twilio.calls import OVER, Refused, Seat, TwilioCalls, log

MAX_BEFORE_START = 20
"""Messages that may come before `start`."""
MAX_SOCKET_MESSAGE = 1 << 20
"""A message beyond this closes the socket (1009); the port itself may allow more, for other kinds of calls."""
_REASON_BYTES = 120


async def serve_twilio(connection: ServerConnection, calls: TwilioCalls) -> None:
    """Hear one media stream to its end. Never raises for anything that comes over the socket.

    Nothing is ever sent: on a one-way stream Twilio takes that as an error (31924). A stream that is not let in is
    closed with the reason, which also goes to the log."""
    _limit_messages(connection)
    try:
        async with asyncio.timeout(calls.settings.start_timeout_s):
            message = await _start(connection, calls.settings.max_message_bytes)
        seat = calls.join(message.start, message.sequence_number)
    except (Refused, TimeoutError) as refusal:
        calls.refused += 1
        reason = str(refusal) or f"no start message came within {calls.settings.start_timeout_s:g} s"
        log.warning("a media stream from %s is refused: %s", _peer(connection), reason)
        await _close(connection, getattr(refusal, "code", 1008), reason)
        return
    except ConnectionClosed:
        log.info("a socket from %s was closed before it had started a stream", _peer(connection))
        return
    await _hear(connection, calls, seat)


async def _hear(connection: ServerConnection, calls: TwilioCalls, seat: Seat) -> None:
    how = "the server stops"
    closing: list[asyncio.Task[None]] = []

    def hang_up(code: int, reason: str) -> None:
        closing.append(asyncio.create_task(connection.close(code, reason)))

    seat.hang_up = hang_up
    try:
        while seat.open:
            given = await connection.recv()
            if isinstance(given, str):
                calls.receive(seat, given)
            else:
                calls.damaged(seat, "a binary message; media streams are text")
    except ConnectionClosed as closed:
        how = _how(closed)
    finally:
        seat.hang_up = None
        calls.leave(seat, how)
    await _close(connection, *OVER)
    await asyncio.gather(*closing)


async def _start(connection: ServerConnection, max_bytes: int) -> Message:
    """The start message. Raises `Refused`, `ConnectionClosed`."""
    for _ in range(MAX_BEFORE_START):
        given = await connection.recv()
        if not isinstance(given, str):
            raise Refused("media streams are text, not binary messages", code=1003)
        if len(given) > max_bytes:
            _refuse(f"a first message of {len(given)} characters is longer than may be")
        try:
            message = decode(given)
        except BadMessage as bad:
            _refuse(str(bad))
        if message.event == "start":
            return message
    return _refuse(f"no start message among the first {MAX_BEFORE_START}")


def _refuse(why: str) -> NoReturn:
    raise Refused(why)


def _limit_messages(connection: ServerConnection) -> None:
    protocol = connection.protocol
    for name in ("max_message_size", "max_size"):  # the second is the first's name before websockets 16
        size = getattr(protocol, name, 0)
        if size is None or size > MAX_SOCKET_MESSAGE:
            setattr(protocol, name, MAX_SOCKET_MESSAGE)


async def _close(connection: ServerConnection, code: int, reason: str) -> None:
    """Close the socket. What still comes is read and thrown away: behind it comes the other side's answer."""
    cut = reason.encode()[:_REASON_BYTES].decode(errors="ignore")
    closing = asyncio.create_task(connection.close(code, cut))
    with contextlib.suppress(ConnectionClosed):
        while True:
            await connection.recv(decode=False)
    await closing


def _how(closed: ConnectionClosed) -> str:
    """How the socket was closed, in words."""
    frame = closed.rcvd or closed.sent
    if frame is None:
        return "code 1006"
    return f"code {int(frame.code)}" + (f": {frame.reason!a}" if frame.reason else "")


def _peer(connection: ServerConnection) -> str:
    address = connection.remote_address
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "an unknown address"
