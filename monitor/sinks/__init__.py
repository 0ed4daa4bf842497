"""Where events go. To add a sink: a file or folder with a class like this, settings, and a row in `SINKS`.

    class Counter:
        async def open(self) -> None:
            self.count = 0

        async def deliver(self, event: Event) -> None:
            self.count += 1

        async def close(self) -> None:
            print(self.count)

    def make(settings: CounterSettings) -> list[tuple[str, Sink]]:
        return [("counter", Counter())] if settings.enabled else []

A sink whose `deliver` returns only once an alert is safe on disk says `keeps = True` (a class attribute): alerts go to
such sinks first, and to the others when those have them.

A sink gets the events of all calls, each call's in order, one at a time: `deliver` is never entered twice at once. What
it raises ends that sink alone. `close` is called once, also after a failure, and also if `open` failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple, Protocol, runtime_checkable

from monitor.core.events import Event


class Sink(Protocol):
    """Takes events. It stands behind a bounded queue of its own, so it may be slow; it must not block the event loop,
    unless it is given a thread of its own, as every sink of `SINKS` is."""

    async def open(self) -> None:
        """Get ready: connect, open files."""
        ...

    async def deliver(self, event: Event) -> None:
        """Take one event."""
        ...

    async def close(self) -> None:
        """Write what is left, and let go of everything."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A sink that knows how it is doing."""

    def figures(self) -> dict[str, float]:
        """Plain numbers by name, for operators: `spooled`, `dropped`, `delivered`, `failed`, `connected` (1 or 0) where
        they mean something. May be asked from another thread at any time, also before `open`."""
        ...


class SinkError(Exception):
    """A sink's settings are wrong, or it cannot be had. The message says whose fault it is and what to do."""


class Row(NamedTuple):
    """A sink that the configuration can ask for, as `module:name`. `settings`: the class of its section. `make`: from
    these settings -> the sinks that they ask for by name, none where they ask for none. Raises `SinkError`."""

    settings: str
    make: str


SINKS: dict[str, Row] = {
    "events_file": Row("monitor.sinks.events_file.settings:EventsFileSettings", "monitor.sinks.events_file.sink:make"),
    "history": Row("monitor.sinks.history.settings:HistorySettings", "monitor.sinks.history.sink:make"),
    "mqtt": Row("monitor.sinks.mqtt.settings:MqttSettings", "monitor.sinks.mqtt.sink:make"),
    "otel": Row("monitor.sinks.otel.settings:OtelSettings", "monitor.sinks.otel.settings:make"),
    "prometheus": Row("monitor.sinks.prometheus.settings:PrometheusSettings", "monitor.sinks.prometheus.settings:make"),
    "webhook": Row("monitor.sinks.webhook.settings:WebhookSettings", "monitor.sinks.webhook.sink:make"),
}
"""By the name of the section. What a row names is loaded only where something is set in that section."""


def loaded(place: str) -> Any:
    """What stands at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def made(section: str, settings: Any) -> Iterable[tuple[str, Sink]]:
    """The sinks of a section. Raises SinkError."""
    found: Iterable[tuple[str, Sink]] = loaded(SINKS[section].make)(settings)
    return found
