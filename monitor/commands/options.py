"""The options that several commands share, and what is made of them."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.failure import WRONG, Failure

if TYPE_CHECKING:
    from connectors.source import SourceOptions
    from monitor.config import Config


def add_output(parser: argparse.ArgumentParser) -> None:
    """What comes out, and by which settings."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--json", action="store_true", help="events as JSON Lines on standard output, nothing else there"
    )
    group.add_argument(
        "--tape", metavar="DIR", help="keep each call as DIR/<call>.tape: everything heard, for a replay"
    )
    settings = parser.add_argument_group("settings")
    settings.add_argument("--config", metavar="FILE", help="a TOML file with settings, one table a section")
    settings.add_argument(
        "--set",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        dest="assignments",
        help="one setting, as in speech.open_ms=80; also TURNWATCH_SPEECH__OPEN_MS in the environment",
    )


def add_speed(parser: argparse.ArgumentParser) -> None:
    """How fast time passes."""
    parser.add_argument(
        "--speed", metavar="max|N", type=speed, default=1.0, help="at once, or N times the speed of the call (1)"
    )


def speed(text: str) -> float | None:
    """`max` -> None, which is as fast as it goes; a number above 0 -> that."""
    if text == "max":
        return None
    value = _number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is neither max nor a number above 0")
    return value


def share(text: str) -> float:
    """A score between 0 and 1."""
    value = _number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a score: those are between 0 and 1")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def config(arguments: argparse.Namespace, extra: tuple[str, ...] = ()) -> Config:
    """The settings: file, environment, `--set`, and then `extra` assignments from a command's own options."""
    from monitor.config import ConfigError, load

    file = Path(arguments.config) if arguments.config else None
    try:
        return load(file, os.environ, (*arguments.assignments, *extra))
    except ConfigError as error:
        raise Failure(WRONG, str(error)) from error


def tape_folder(arguments: argparse.Namespace) -> Path | None:
    """Where tapes go; made if it is not there, so that a call does not have to find out."""
    if arguments.tape is None:
        return None
    folder = Path(arguments.tape)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(WRONG, f"--tape {folder}: cannot make that folder: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise Failure(WRONG, f"--tape {folder}: that folder cannot be written to")
    return folder


def source_options(arguments: argparse.Namespace) -> SourceOptions:
    """What is known about the bytes beforehand."""
    from connectors.base import SourceError
    from connectors.source import SourceOptions, parse_channels

    try:
        channels = parse_channels(arguments.channels) if arguments.channels else None
    except SourceError as error:
        raise Failure(WRONG, f"--{error}") from error
    return SourceOptions(rate=arguments.rate, encoding=arguments.encoding, channels=channels)
