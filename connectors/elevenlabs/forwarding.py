"""The traffic of one conversation: every message to the other side, byte for byte and in order, and then its close.

Memory is bounded by back-pressure: a pump reads its next message only when the last one has been taken by the other
side's socket, so a slow client slows the provider down and nothing piles up here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed

from connectors.elevenlabs.ending import SHUTDOWN, Ending, Who
from connectors.elevenlabs.listening import Direction

Passing = Callable[[Direction, "str | bytes"], None]
"""Called with every message: one from the client before it is passed on, one from the server when it has been."""

PATIENCE_S = 30.0
"""How long what a lost side had sent may still take to reach the other, slow one."""

CLOSE_S = 5.0
"""How long the other side has to answer the close before its connection is broken."""

_NO_CODE = (1005, 1006, 1015)
"""Codes that stand for a missing code or frame, and cannot be sent."""

_SHUTDOWNS = (1001, SHUTDOWN)


class Conversation:
    """Two legs joined. Create it in a running loop, `await ended()`, then `await close(ending)`.

    `passing` sees every message. `delay` is told how long each message was in here, by `clock`, in seconds."""

    def __init__(
        self,
        client: Connection,
        server: Connection,
        passing: Passing,
        clock: Callable[[], float],
        delay: Callable[[float], None],
    ) -> None:
        self._client = client
        self._server = server
        self._passing = passing
        self._clock = clock
        self._delay = delay
        self._stopped = asyncio.Event()
        self._pumps = (
            asyncio.create_task(self._from_client(), name="elevenlabs-from-client"),
            asyncio.create_task(self._from_server(), name="elevenlabs-from-server"),
        )

    def stop(self) -> None:
        """The relay is shutting down: `ended` returns."""
        self._stopped.set()

    async def ended(self) -> Ending:
        """Wait until a side has closed and all that it sent has been passed on. -> which side, and how it closed."""
        from_client, from_server = self._pumps
        watches = (
            asyncio.create_task(self._over(self._client, from_client)),
            asyncio.create_task(self._over(self._server, from_server)),
            asyncio.create_task(self._stopped.wait()),
        )
        try:
            await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for watch in watches:
                watch.cancel()
        if self._stopped.is_set():
            return Ending("relay", SHUTDOWN, "")
        if watches[0].done() and not watches[0].cancelled():
            return _ending("client", self._client)
        return _ending("server", self._server)

    async def close(self, ending: Ending) -> None:
        """Close what is still open, as the other side did. The pumps go on meanwhile, since a side that is asked to
        close may have messages in flight before its answer; they lead nowhere."""
        legs = [leg for who, leg in (("client", self._client), ("server", self._server)) if who != ending.who]
        if ending.code is not None and ending.code not in _NO_CODE:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    closing = (leg.close(ending.code, ending.reason) for leg in legs)
                    await asyncio.gather(*closing, return_exceptions=True)
        self.abort()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def abort(self) -> None:
        """Break what is still open. Needs no waiting."""
        for leg in (self._client, self._server):
            break_off(leg)
        for pump in self._pumps:
            pump.cancel()

    async def _over(self, leg: Connection, pump: asyncio.Task[None]) -> None:
        await leg.wait_closed()
        await asyncio.wait({pump}, timeout=PATIENCE_S)

    async def _from_client(self) -> None:
        while (message := await _next(self._client)) is not None:
            began = self._clock()
            self._passing("client", message)
            await self._send(self._server, message, began)

    async def _from_server(self) -> None:
        while (message := await _next(self._server)) is not None:
            began = self._clock()
            await self._send(self._client, message, began)
            self._passing("server", message)

    async def _send(self, leg: Connection, message: str | bytes, began: float) -> None:
        try:
            await leg.send(message)
        except (ConnectionClosed, AttributeError):
            # The other pump reports it. What comes now leads nowhere, but is read so that the close can come through.
            # (The other kind of error: see `break_off`, which the library does not know of.)
            return
        self._delay(self._clock() - began)


def break_off(leg: Connection) -> None:
    """Break a connection, whatever state it is in."""
    # asyncio's transport forgets its loop without marking itself as lost, where its last bytes went out after the other
    # side had closed; it then fails at being broken off, and need not be.
    with contextlib.suppress(AttributeError):
        leg.transport.abort()


async def _next(leg: Connection) -> str | bytes | None:
    try:
        return await leg.recv()
    except ConnectionClosed:
        return None


def _ending(side: Who, leg: Connection) -> Ending:
    """How a closed leg was closed."""
    closed = leg.protocol.close_exc
    if closed.rcvd is not None and closed.rcvd_then_sent is not False:
        return Ending(side, closed.rcvd.code, closed.rcvd.reason)
    if closed.sent is None:
        return Ending(side, None)
    if closed.sent.code in _SHUTDOWNS:
        return Ending("relay", SHUTDOWN, closed.sent.reason)
    return Ending(side, None, f"{closed.sent.code} {closed.sent.reason}".strip())
