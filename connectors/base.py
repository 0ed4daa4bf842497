"""The connector protocol: what everything that attaches to a call looks like, and how it fails.

A connector *opens* a source and yields the inputs of one call at a time, in order, as an asynchronous iterator. It owns
its sockets and files and releases them when the iterator is closed. It knows nothing of `monitor`.

- The first input is `CallStarted`, the last `CallEnded`, whatever happens in between.
- What is damaged is counted and told as a `Notice`; it never ends the call and never vanishes.
- Timing that depends on a clock comes in as an argument (a monotonic clock in milliseconds), never from inside a
  protocol decoder: decoders are pure.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from connectors.inputs import CallStarted, Input


class ConnectorError(Exception):
    """A source cannot be opened or has failed for good. The message says whose fault it is and what to do next; it is
    shown to the user as it stands, on one line."""


class SourceError(ConnectorError):
    """The source word itself is wrong: unknown scheme, bad option. The command line answers with exit code 2."""


class Connector(Protocol):
    """One opened source of one call.

    `live`: the call happens now, its inputs come in their own time. A connector that is not live (a recording, a tape)
    yields as fast as it is read, and whoever reads sets the pace. `length_ms`: how long the call will be, where that is
    known beforehand, for progress.
    """

    live: bool
    length_ms: int | None

    def inputs(self) -> AsyncIterator[Input]:
        """The call's inputs in order. Raises `ConnectorError` if the source cannot be opened. May be called once."""
        ...


class Feed(Protocol):
    """Where a connector that is *called* (a server: the relay, a media-stream endpoint) puts one call's inputs.

    `put` never blocks and never raises. It returns False once inputs had to be dropped because the other side of the
    door is too slow; whoever owns the door tells that as an `overload` notice itself.
    """

    def put(self, *inputs: Input) -> bool:
        """Hand on inputs of this call, in order."""
        ...


class Door(Protocol):
    """Opens a feed for each call that comes in."""

    def open(self, started: CallStarted) -> Feed:
        """Called once a call, with what will be its first input (`open` puts it through itself)."""
        ...
