"""The open calls, by their `callSid`: puts what streams say through the door, and lets time pass for all of them."""

from __future__ import annotations

import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from connectors.base import Door, Feed
from connectors.inputs import CallEnded, CallStarted, Input
from connectors.pcm import UnknownFormat
from connectors.protocols.media_stream import MediaStream
from connectors.protocols.twilio import Start
from connectors.protocols.twilio_call import TwilioCall
from connectors.twilio.settings import TwilioSettings

log = logging.getLogger("turnwatch.twilio")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,127}")
REMEMBERED_IDS = 10_000

OVER = (1000, "the call is over")
RESTARTING = (1012, "the monitor is being stopped")


class Refused(Exception):
    """A stream that is not let in. The message is for whoever opened it; `code` closes the socket."""

    def __init__(self, message: str, code: int = 1008) -> None:
        super().__init__(message)
        self.code = code


class _Entry:
    def __init__(self, sid: str, call: TwilioCall) -> None:
        self.sid = sid
        self.call = call
        self.feed: Feed | None = None
        self.seats: list[Seat] = []


class Seat:
    """One stream's place in its call. `hang_up` is set by whoever owns the socket: it is called with a close code and
    a reason when the call ends while the socket is still open."""

    def __init__(self, entry: _Entry, stream: MediaStream) -> None:
        self.entry = entry
        self.stream = stream
        self.hang_up: Callable[[int, str], None] | None = None

    @property
    def open(self) -> bool:
        """Whether anything the stream says still counts."""
        return self.stream.open and not self.entry.call.ended


def monotonic_ms() -> int:
    """The clock of live calls: whole ms that never go back or jump."""
    return time.monotonic_ns() // 1_000_000


def _now_utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TwilioCalls:
    """All calls of the endpoint. `clock`: a monotonic clock in ms."""

    def __init__(
        self, door: Door, settings: TwilioSettings | None = None, *, clock: Callable[[], int] = monotonic_ms
    ) -> None:
        self.settings = settings or TwilioSettings()
        self.refused = 0
        """How many streams were not let in."""
        self._door = door
        self._clock = clock
        self._open: dict[str, _Entry] = {}
        self._used: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        """How many calls are open."""
        return len(self._open)

    def join(self, start: Start | None, sequence: int | None) -> Seat:
        """A stream has said what it is. Raises `Refused`."""
        if start is None or not start.call_sid or not start.stream_sid:
            raise Refused("the start message names no streamSid and callSid: only Twilio's messages are understood")
        sid = start.call_sid
        if not _ID.fullmatch(sid):
            raise Refused("the start message's callSid is no id")
        start = self._checked(start)
        entry = self._open.get(sid)
        if entry is None and len(self._open) >= self.settings.max_calls:
            raise Refused(f"{self.settings.max_calls} calls are watched already", code=1013)
        if entry is not None and entry.call.full:
            raise Refused("this call has too many streams")
        call = entry.call if entry is not None else TwilioCall(self._name(sid), self.settings.limits, _now_utc())
        now_ms = self._clock()
        try:
            stream = call.join(start, sequence, now_ms)
        except UnknownFormat as unknown:
            raise Refused(str(unknown), code=1003) from None
        if entry is None:
            entry = self._open[sid] = _Entry(sid, call)
            self._remember(sid)
        seat = Seat(entry, stream)
        entry.seats.append(seat)
        tracks = ", ".join(sorted(stream.carries)) or "unknown tracks"
        log.info("call %s: stream %.64s is open, with %s", call.call, start.stream_sid, tracks)
        self._put(entry, call.elapsed(now_ms))
        return seat

    def receive(self, seat: Seat, text: str) -> None:
        """A message of a stream."""
        entry = seat.entry
        inputs = entry.call.receive(seat.stream, text, self._clock())
        if inputs:
            self._put(entry, inputs)

    def damaged(self, seat: Seat, why: str) -> None:
        """Something came that is no message at all."""
        seat.entry.call.damaged(why)

    def leave(self, seat: Seat, how: str) -> None:
        """A stream's socket is gone."""
        if seat in seat.entry.seats:
            seat.entry.seats.remove(seat)
        self._put(seat.entry, seat.entry.call.leave(seat.stream, self._clock(), how))

    def elapsed(self, now_ms: int | None = None) -> None:
        """Time has passed: to be called every 50 ms or so. `now_ms`: by the same clock as the calls', or None."""
        now = self._clock() if now_ms is None else now_ms
        for entry in list(self._open.values()):
            inputs = entry.call.elapsed(now)
            if inputs:
                self._put(entry, inputs)

    def stop(self) -> None:
        """The program is being stopped: every call ends here."""
        for entry in list(self._open.values()):
            self._put(entry, entry.call.stopped(self._clock()))

    def _put(self, entry: _Entry, inputs: list[Input]) -> None:
        if inputs and isinstance(inputs[0], CallStarted):
            entry.feed = self._door.open(inputs[0])
            inputs = inputs[1:]
        if inputs and entry.feed is not None:
            entry.feed.put(*inputs)
        if entry.call.ended and self._open.get(entry.sid) is entry:
            del self._open[entry.sid]
            last = inputs[-1]
            assert isinstance(last, CallEnded)
            log.info("call %s: %s after %.1f s", entry.call.call, last.cause, last.at / 1000)
            for seat in entry.seats:
                if seat.hang_up is not None:
                    seat.hang_up(*(RESTARTING if last.cause == "stopped" else OVER))

    def _checked(self, start: Start) -> Start:
        """The start message without its token, if it is the right one."""
        parameters = dict(start.custom_parameters or {})
        given = parameters.pop("token", None)
        wanted = self.settings.token
        if wanted is not None and not (
            isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
        ):
            raise Refused('the <Parameter name="token"> of the stream is missing or wrong')
        return msgspec.structs.replace(start, custom_parameters=parameters)

    def _name(self, sid: str) -> str:
        """The call's id: Twilio's, with a number where a call of that id has been watched before."""
        used = self._used.get(sid, 0)
        return f"{sid}-{used + 1}" if used else sid

    def _remember(self, sid: str) -> None:
        self._used[sid] = self._used.pop(sid, 0) + 1
        if len(self._used) > REMEMBERED_IDS:
            self._used.popitem(last=False)
