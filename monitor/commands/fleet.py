"""`turnwatch fleet`: the calls of many `turnwatch serve` on one broker."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from monitor.commands import options, sinks
from monitor.commands.failure import DONE, WRONG, Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.config import Config
    from monitor.core.events import Event
    from monitor.runtime.stopping import Stop
    from monitor.sinks import Sink

SUMMARY = "watch the calls of many monitors on one MQTT broker, and raise alerts across them"

DESCRIPTION = """\
Subscribes to an MQTT broker to which other `turnwatch` programs publish, shows all their calls in one feed, learns what
is usual for each agent, and raises an alert where callers barge in far more often than that, across all its calls. Such
alerts go to every sink, and back to the broker: the programs that watch the calls then hold back their own.

Several may run side by side: one of them raises alerts, and another takes over when it goes. With fleet.group they
share what they show and keep between them.
"""

EXAMPLES = """\
examples:
  turnwatch fleet --mqtt mqtt://127.0.0.1
  turnwatch fleet --mqtt mqtts://USER@HOST --history fleet.db --webhook https://example.org/hook
  turnwatch fleet --mqtt mqtt://127.0.0.1 --set mqtt.site=berlin --json > events.jsonl
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `fleet` takes."""
    sinks.add_arguments(parser)
    options.add_output(parser, tape=False)
    parser.set_defaults(judge=None, judge_model=None, judge_base_url=None)  # nobody is asked here


def run(arguments: argparse.Namespace) -> int:
    """Watch until a signal comes."""
    from monitor.commands.output import log_to_stderr
    from monitor.runtime import stopping

    log_to_stderr()
    config = options.config(arguments, sinks.assignments(arguments))
    return stopping.run(lambda stop: _fleet(arguments, config, stop), fast=True)


async def _fleet(arguments: argparse.Namespace, config: Config, stop: Stop) -> int:
    import msgspec

    from monitor.commands.output import OUTPUT, finish
    from monitor.config import ConfigError
    from monitor.runtime.delivery import Delivery
    from monitor.runtime.fleet_watch import FleetWatch
    from monitor.sinks import SINKS, SinkError, made
    from monitor.sinks.mqtt import connection

    broker = config.sink("mqtt")
    if broker.url is None:
        raise Failure(WRONG, "fleet: whose calls? Give --mqtt URL, the broker that the monitors publish to")
    if not config.fleet.enabled:
        raise Failure(WRONG, "fleet.enabled is false: without it there is nothing for `turnwatch fleet` to do")
    if broker.monitor is None:  # its own name at the broker, also beside a monitor on the same machine
        broker = msgspec.structs.replace(broker, monitor=f"{broker.monitor_name}-fleet")
    delivery = Delivery()
    try:
        connection.check(broker)
        watching = FleetWatch(config, broker, delivery.deliver)
        for section in SINKS:
            if section in config.sinks:
                settings = broker if section == "mqtt" else config.sink(section)
                if section == "history":  # what is learnt here is not what each call says by itself
                    settings = msgspec.structs.replace(settings, teach_baselines=False)
                for name, sink in made(section, settings):
                    own = _OwnOnly(sink, watching.own) if section == "mqtt" else sink
                    delivery.add(name, own, own_thread=True)
    except (SinkError, ConfigError) as error:
        raise Failure(WRONG, str(error)) from error
    delivery.add(OUTPUT, _output(arguments, watching.text), own_thread=True)
    kept = "" if config.sinks.get("history") else "; without --history, what is usual is forgotten at the end"
    print(f"turnwatch: watching the calls of site {broker.site} at the broker{kept}", file=sys.stderr, flush=True)
    await watching.run(stop.wait)
    delivery.hurry()
    return await finish(delivery, stop, DONE, within_s=3.0)


def _output(arguments: argparse.Namespace, text: Callable[[], str]) -> Sink:
    from monitor.sinks.console import ConsoleSink
    from monitor.sinks.jsonl import JsonLinesSink

    if arguments.json:
        return JsonLinesSink(sys.stdout.buffer)
    return ConsoleSink(many=True, progress=_Text(text), bell=arguments.bell)


class _Text:
    """How things stand, in the status line."""

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text


class _OwnOnly:
    """Publishes what the fleet says, and not the calls back to where they come from."""

    def __init__(self, sink: Sink, own: Callable[[Event], bool]) -> None:
        self._sink = sink
        self._own = own

    async def open(self) -> None:
        await self._sink.open()

    async def deliver(self, event: Event) -> None:
        if self._own(event):
            await self._sink.deliver(event)

    async def close(self) -> None:
        await self._sink.close()
