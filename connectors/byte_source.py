"""Bytes from a pipe or a file, read by a thread of its own, so that waiting for them holds up nothing else.

A thread, not the event loop's readers: those take no regular files, no console of Windows, and make a shared standard
input non-blocking for its other users. It is a daemon, so a read that never returns does not keep the program alive.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque

_WAITING = 8
"""Pieces read ahead at most. After that the pipe fills, and whoever writes into it has to wait."""


class ByteSource:
    """Reads at most `size` bytes at a time from `place`, until `close`: a file descriptor, which stays open, or a path.

    A path is opened in the thread too: opening a named pipe waits for its writer.
    """

    def __init__(self, place: int | str, size: int) -> None:
        self._place = place
        self._size = size
        self._pieces: deque[bytes] = deque()
        self._error: OSError | None = None
        self._filled: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._room = threading.Semaphore(_WAITING)
        self._closed = False

    async def read(self) -> bytes:
        """The next bytes; empty at the end. Raises OSError where reading failed. May be cancelled and called again."""
        if self._filled is None:
            self._filled, self._loop = asyncio.Event(), asyncio.get_running_loop()
            threading.Thread(target=self._run, name="turnwatch-input", daemon=True).start()
        while not self._pieces:
            self._filled.clear()
            await self._filled.wait()
        if not self._pieces[0]:
            if self._error is not None:
                raise self._error
            return b""
        self._room.release()
        return self._pieces.popleft()

    def close(self) -> None:
        """Nothing is read any more. A read that is waiting in the thread ends with the program at the latest."""
        self._closed = True
        self._room.release()

    def _run(self) -> None:
        place, opened = self._place, None
        try:
            if isinstance(place, str):
                place = opened = os.open(place, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            while self._room.acquire() and not self._closed:
                data = os.read(place, self._size)
                self._hand_over(data)
                if not data:
                    break
        except OSError as error:
            self._error = error
            self._hand_over(b"")
        finally:
            if opened is not None:
                os.close(opened)

    def _hand_over(self, data: bytes) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._take_in, data)
        except RuntimeError:  # the loop is gone: nobody waits any more
            self._closed = True

    def _take_in(self, data: bytes) -> None:
        assert self._filled is not None
        self._pieces.append(data)
        self._filled.set()
