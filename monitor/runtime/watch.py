"""`watch`: the one path for live calls, recordings and tapes.

connector -> pace -> inbox -> tape -> core -> events
                       ^                |
                       +---- judge <----+
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path

import msgspec

import connectors
from connectors.base import Connector, ConnectorError, SourceError
from connectors.inputs import CallEnded, CallStarted, Notice
from connectors.source import Source, SourceOptions
from monitor.config import Config
from monitor.core.call import CoreSettings, Status
from monitor.core.events import Cause, Event
from monitor.runtime.call_names import CallNames
from monitor.runtime.hearing import CallMonitor, detectors
from monitor.runtime.inbox import Bounds, Inbox
from monitor.runtime.inquiry import Bench, bench_for
from monitor.runtime.listener import Core, Listener, NewTape
from monitor.runtime.pace import Pace
from monitor.runtime.tape import Header, Tape, TapeWriter, program_version

log = logging.getLogger("turnwatch.call")

NewCore = Callable[[CoreSettings], Core]

READ_AHEAD = Bounds(inputs=64)
"""How far a source is read ahead of whoever takes the events: it waits, nothing is dropped."""

PACED_PIECE_MS = 40
"""How much of each track is handed on at a time when a recording is watched at the speed of the call."""


def tapes_in(
    folder: str | PathLike[str] | None, settings: CoreSettings, heard_with: str | None = None
) -> NewTape | None:
    """What makes the tape of each call in `folder`; None where no tape is wanted. `heard_with`: the detectors; the
    installed ones if None."""
    if folder is None:
        return None
    header = Header(program_version(), heard_with or detectors(settings), msgspec.to_builtins(settings))
    return lambda call: TapeWriter(Path(folder), call, header)


def open_source(word: str, options: SourceOptions | None = None) -> Connector:
    """The connector for a source word, tapes included. Raises `SourceError` and `ConnectorError`."""
    return connectors.open(word, options, table={**connectors.CONNECTORS, "tape": _open_tape})


def _open_tape(source: Source) -> Connector:
    source.refuse_extra()
    if not source.path:
        raise SourceError("tape: names no file; it is used as in tape:DIR/CALL.tape")
    if source.options.transcript:
        raise SourceError("a tape has the words of its call on it: leave --transcript out")
    return Tape(Path(source.path))


class Watching:
    """One call that is being watched: an asynchronous iterator over its events, from `call.started` to `call.ended`.

    Made by `watch`. Nothing is opened or runs before the first event is asked for. Raises `ConnectorError` there if the
    source cannot be opened; one that fails later ends the call as `failed`. `own`: a `Bench` that ends with the call.
    """

    def __init__(self, connector: Connector, listener: Listener, speed: float | None, own: Bench | None = None) -> None:
        self._connector = connector
        self._listener = listener
        self._own = own
        self._pace = Pace(None if connector.live else speed)
        self._inbox = Inbox(READ_AHEAD)
        self._refusal: ConnectorError | None = None
        self._events = self._run()

    @property
    def length_ms(self) -> int | None:
        """How long the call will be, in ms of media time, where that is known beforehand."""
        return self._connector.length_ms

    @property
    def status(self) -> Status:
        """Where the call stands: who speaks, who waits, the score."""
        return self._listener.status

    @property
    def tape_failed(self) -> bool:
        """A tape was wanted and is not whole."""
        return self._listener.tape_failed

    @property
    def cause(self) -> Cause | None:
        """Why the call ended; None while it goes on."""
        return self._listener.cause

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        return await anext(self._events)

    def stop(self) -> None:
        """End the call here, as `stopped`: what is open is told, then the iteration ends."""
        self._inbox.close("stopped")
        self._listener.hurry()

    async def aclose(self) -> None:
        """Let go of the source. Nothing more is told; to be told what is open, `stop` and iterate on."""
        await self._events.aclose()

    async def _run(self) -> AsyncGenerator[Event, None]:
        pump = asyncio.create_task(self._pump(), name="source")
        try:
            async for event in self._listener.events(self._inbox):
                yield event
        finally:
            pump.cancel()
            with suppress(asyncio.CancelledError):
                await pump
            if self._own is not None:
                await self._own.close()
        if self._refusal is not None and self._inbox.cause != "stopped":
            raise self._refusal

    async def _pump(self) -> None:
        """Carry the connector's inputs into the inbox, and tell it if the source breaks."""
        started, now = False, 0
        inputs = self._connector.inputs()
        try:
            async for given in inputs:
                await self._pace.wait_for(given)
                await self._inbox.offer(given)
                started = started or isinstance(given, CallStarted)
                now = max(now, getattr(given, "at", 0))
        except ConnectorError as error:
            if started:
                self._tell_failure(now, str(error))
            else:
                self._refusal = error
        except Exception as error:
            log.exception("the source failed in a way that it should not: please report it")
            self._tell_failure(now, type(error).__name__)
        finally:
            if close := getattr(inputs, "aclose", None):
                await close()
            self._inbox.close()

    def _tell_failure(self, now: int, reason: str) -> None:
        self._inbox.put(Notice(now, "source_failed", f"the source failed: {reason}"), CallEnded(now, "failed", reason))


def watch(
    source: str | Connector,
    *,
    config: Config | None = None,
    speed: float | None = 1.0,
    tape_dir: str | PathLike[str] | None = None,
    options: SourceOptions | None = None,
    new_core: NewCore = CallMonitor,
    bench: Bench | None = None,
    names: CallNames | None = None,
) -> Watching:
    """Watch one call: `async for event in watch("wav:call.flac")`.

    `source`: a source word (`wav:…`, `pcm:-`, `tape:…`) or an opened connector. `speed`: how fast a recording or tape
    is played, 1.0 being the speed of the call; None: as fast as it goes. `tape_dir`: where a tape is kept. `options`:
    what is known about the source beforehand. `bench`: judge and transcriber, where calls share them; else those of
    `config`. `names`: gives each call of a program a name of its own.
    Where a recording is played faster than the call went, media time stands still while a verdict is
    awaited. A tape is heard with the settings and verdicts that stand on it: its judge is not asked.
    Raises `SourceError` if the word is wrong, `ConnectorError` if the source is, `NoDetector`, `NoJudge`.
    """
    if speed is not None and not speed > 0:
        raise ValueError(f"speed is a number above 0, or None for as fast as it goes; not {speed}")
    if isinstance(source, str):
        options = options or SourceOptions()
        if speed is not None:
            options = msgspec.structs.replace(options, piece_ms=PACED_PIECE_MS)
        source = open_source(source, options)
    replay = isinstance(source, Tape)
    heard_with = source.header.detector if isinstance(source, Tape) else None
    settings = source.settings(CoreSettings) if isinstance(source, Tape) else (config or Config()).core
    own = bench_for(config or Config()) if bench is None and not replay else None
    listener = Listener(
        CallMonitor(settings, heard_with=heard_with) if new_core is CallMonitor else new_core(settings),
        tapes_in(tape_dir, settings, heard_with),
        bench=None if replay else bench or own,
        stands_still=not source.live and (speed is None or speed > 1),
        replay=replay,
        names=names,
    )
    return Watching(source, listener, speed, own)
