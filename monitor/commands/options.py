"""The options that several commands share, and what is made of them."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from monitor.commands.failure import WRONG, Failure

if TYPE_CHECKING:
    from connectors.source import SourceOptions
    from monitor.config import Config


def add_output(parser: argparse.ArgumentParser, *, tape: bool = True) -> None:
    """What comes out, and by which settings. `tape`: whether it hears calls, and can keep them."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--json", action="store_true", help="events as JSON Lines on standard output, nothing else there"
    )
    if tape:
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


def add_judge(parser: argparse.ArgumentParser) -> None:
    """Who judges relevancy."""
    group = parser.add_argument_group("relevancy: whether the agent's answers are to the point")
    group.add_argument(
        "--judge",
        metavar="WHO",
        type=_judge,
        help="off, openai (or a server that speaks the same), jev, local (a small model on this machine), or "
        "scripted:FILE; local where it is installed, else off",
    )
    group.add_argument("--judge-model", metavar="MODEL", help="its model, instead of its own default")
    group.add_argument("--judge-base-url", metavar="URL", help="where its server is, as in http://127.0.0.1:8000/v1")


def _judge(text: str) -> str:
    from monitor.runtime.judging import JUDGES, named

    try:
        named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if text not in JUDGES and not text.startswith("scripted:"):
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(JUDGES)}, scripted:FILE")
    return text


_NOBODY = {
    "off": "nobody judges, so nobody would be asked there",
    "local": "the local judge has its own model and no server",
    "scripted": "a scripted judge has neither a model nor a server",
}


def _judge_settings(arguments: argparse.Namespace, config: Config) -> tuple[str, ...]:
    """Assignments for what was said of the judge on the command line; `config` is what was set elsewhere."""
    from monitor.runtime.judging import named

    judge, model, base_url = arguments.judge, arguments.judge_model, arguments.judge_base_url
    mode: str = config.relevancy.eval_mode
    given = {}
    if judge is None and (model or base_url) and mode in ("off", "local"):
        judge = "openai"  # a model or a server is named, so it is to be asked
    if judge is not None and not (judge == "jev" and mode == "hybrid"):
        mode, given["script"] = named(judge)
    for option, value in (("--judge-model", model), ("--judge-base-url", base_url)):
        if value is not None and mode in ("off", "local", "scripted"):
            raise Failure(WRONG, f"{option} {value}: {_NOBODY[mode]}; leave it out, or take --judge openai or jev")
    prefix = "system_one_" if judge == "jev" or mode == "system_one" else ""
    given |= {"eval_mode": mode, f"{prefix}model": model, f"{prefix}base_url": base_url}
    return tuple(f"relevancy.{key}={value}" for key, value in given.items() if value is not None)


def _check_eval_mode(assignments: list[str]) -> None:
    from monitor.core.relevancy_settings import EvalMode

    key = "relevancy.eval_mode="
    for word in (one.removeprefix(key).strip() for one in assignments if one.startswith(key)):
        if word.casefold().startswith("scripted:"):
            words = f"a file of verdicts is named by --judge {word}, or by relevancy.script beside eval_mode=scripted"
            raise Failure(WRONG, f"--set {key}{word}: {words}")
        if word not in get_args(EvalMode):
            raise Failure(WRONG, f"--set {key}{word}: it takes one of {', '.join(get_args(EvalMode))}")


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
    from monitor.runtime.judging import default_mode

    file = Path(arguments.config) if arguments.config else None
    given, mode = (*arguments.assignments, *extra), default_mode()
    _check_eval_mode(arguments.assignments)
    try:
        found = load(file, os.environ, given, eval_mode=mode)
        judge = _judge_settings(arguments, found)
        return load(file, os.environ, (*given, *judge), eval_mode=mode)
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
    return SourceOptions(
        rate=arguments.rate, encoding=arguments.encoding, channels=channels, transcript=arguments.transcript
    )


def hertz(text: str) -> int:
    """A sample rate from the command line."""
    rate = int(text)
    if rate < 1:
        raise argparse.ArgumentTypeError(f"{rate} is no sample rate")
    return rate
