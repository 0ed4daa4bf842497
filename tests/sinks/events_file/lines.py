"""A file of events, and what stands in it."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from monitor.core.events import Event
from monitor.sinks.events_file.rotation import Aside
from monitor.sinks.events_file.settings import EventsFileSettings
from monitor.sinks.events_file.sink import EventsFileSink


def sink(path: Path, **settings: Any) -> EventsFileSink:
    return EventsFileSink(path, EventsFileSettings(path=str(path), **settings))


async def keep(path: Path, told: Iterable[Event], **settings: Any) -> EventsFileSink:
    """Give them to a sink from its beginning to its end."""
    file = sink(path, **settings)
    await file.open()
    for event in told:
        await file.deliver(event)
    await file.close()
    return file


def numbers(*paths: Path) -> list[int]:
    """The `seq` of every line; each must be whole."""
    out = []
    for path in paths:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        assert not data or data.endswith(b"\n"), path
        out += [msgspec.json.decode(line)["seq"] for line in data.splitlines()]
    return out


def aside(path: Path) -> list[Path]:
    """What was put aside, the oldest first."""
    return Aside(path, None, False).files()
