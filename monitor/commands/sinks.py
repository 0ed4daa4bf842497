"""The options that name sinks, and the sinks that the settings ask for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from monitor.commands.failure import WRONG, Failure

if TYPE_CHECKING:
    from monitor.config import Config
    from monitor.runtime.delivery import Delivery


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where events go besides standard output."""
    group = parser.add_argument_group("where else events go")
    group.add_argument("--mqtt", metavar="URL", help="an MQTT broker, as in mqtt://127.0.0.1 or mqtts://USER@HOST")
    group.add_argument(
        "--webhook",
        metavar="URL",
        action="append",
        default=[],
        help="where alerts are posted to; slack+https://... and pagerduty+https://... speak those formats; repeatable",
    )
    group.add_argument("--history", metavar="FILE", help="an SQLite file that keeps calls, turns, verdicts and alerts")
    add_bell(group)


def add_bell(parser: argparse._ActionsContainer) -> None:
    """Whether alerts are to be heard."""
    parser.add_argument("--bell", action="store_true", help="ring the terminal's bell when an alert is raised")


def assignments(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Settings for what was said on the command line."""
    given = {"mqtt.url": arguments.mqtt, "history.file": arguments.history}
    if arguments.webhook:
        from json import dumps

        given["webhook.urls"] = dumps(arguments.webhook)
    return tuple(f"{key}={value}" for key, value in given.items() if value is not None)


def attach(delivery: Delivery, config: Config, *, patient: bool = False, across_calls: bool = False) -> None:
    """Start every sink that the settings ask for, each in a thread of its own. `patient`: the calls can wait for them.
    `across_calls`: this program looks across calls, and teaches the baselines itself. Raises Failure."""
    import msgspec

    from monitor.sinks import SINKS, SinkError, made

    for section in SINKS:
        if section not in config.sinks:
            continue
        settings = config.sink(section)
        if section == "history" and across_calls:
            settings = msgspec.structs.replace(settings, teach_baselines=False)
        try:
            for name, sink in made(section, settings):
                delivery.add(name, sink, own_thread=True, patient=patient)
        except SinkError as error:
            raise Failure(WRONG, str(error)) from error
