"""`turnwatch calls`: the calls in the history."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.failure import DONE, SOURCE, WRONG, Failure

if TYPE_CHECKING:
    from monitor.sinks.history.reading import Call, History
    from monitor.sinks.output import Output

SUMMARY = "the calls in the history, newest first"

DESCRIPTION = """\
Shows the calls that `watch` and `serve` have kept with --history FILE (or the setting history.file), the newest first,
also while they go on; with a CALL, or the beginning of its id, all that is known of that one.

A call that goes on is "running". One is "unfinished" if its program was killed: watching its tape with the same
--history fills in the rest.
"""

EXAMPLES = """\
examples:
  turnwatch calls --history calls.db
  turnwatch calls --history calls.db --since 24h --alerts
  turnwatch calls --history calls.db conv_01h              its turns, verdicts and alerts
  turnwatch calls --history calls.db --json --limit 0 | jq 'select(.turn_taking.score < 0.5).call'
"""

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `calls` takes."""
    parser.add_argument("call", metavar="CALL", nargs="?", help="show this call; the beginning of its id will do")
    parser.add_argument("--history", metavar="FILE", help="the history; otherwise the setting history.file")
    group = parser.add_argument_group("which calls")
    group.add_argument("--agent", metavar="ID", help="only calls with this agent")
    group.add_argument("--alerts", action="store_true", help="only calls that had alerts")
    group.add_argument(
        "--since",
        metavar="WHEN",
        type=since,
        help="only calls that began since then: 30m, 24h, 7d ago, or as in 2026-01-31 or 2026-01-31T14:00",
    )
    group.add_argument("--limit", metavar="N", type=_count, default=50, help="the newest N (50); 0 for all")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each call on standard output")
    settings = parser.add_argument_group("settings")
    settings.add_argument("--config", metavar="FILE", help="a TOML file with settings, one table a section")
    settings.add_argument(
        "--set", metavar="SECTION.KEY=VALUE", action="append", default=[], dest="assignments", help="one setting"
    )


def since(text: str) -> int:
    """-> ms since 1970. A date or time without a zone is meant as this machine's clocks show it."""
    if ago := re.fullmatch(r"(\d{1,9})([smhdw])", text.strip()):
        return max(0, int((time.time() - int(ago[1]) * _UNITS_S[ago[2]]) * 1000))
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(f"{text} is no time: it takes 30m, 24h, 7d, or 2026-01-31T14:00") from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text} is no number of calls")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Show them."""
    import sqlite3

    from monitor.sinks import SinkError
    from monitor.sinks.history.reading import History
    from monitor.sinks.output import Output

    path = _file(arguments)
    if sys.stdout is None:
        raise Failure(SOURCE, "there is no standard output to write to")
    output = Output(sys.stdout)
    try:
        output.open()
        with History(path) as history:
            _show(arguments, history, path, output)
    except BrokenPipeError:  # whoever read has seen enough
        return DONE
    except FileNotFoundError as error:
        hint = "watch and serve write one with --history FILE"
        raise Failure(SOURCE, f"there is no history {path}; {hint}") from error
    except SinkError as error:
        raise Failure(SOURCE, str(error)) from error
    except (sqlite3.Error, OSError) as error:
        raise Failure(SOURCE, f"the history {path} cannot be read: {error}") from error
    return DONE


def _file(arguments: argparse.Namespace) -> Path:
    from monitor.config import ConfigError, load

    own = () if arguments.history is None else (f"history.file={arguments.history}",)
    config = Path(arguments.config) if arguments.config else None
    try:
        file = load(config, os.environ, (*arguments.assignments, *own)).sink("history").file
    except ConfigError as error:
        raise Failure(WRONG, str(error)) from error
    if file is None:
        raise Failure(WRONG, "no history is named: say --history FILE, or set history.file in the configuration")
    return Path(file).expanduser()


def _show(arguments: argparse.Namespace, history: History, path: Path, output: Output) -> None:
    from monitor.commands import calls_shown

    name = None if arguments.call is None else _name(arguments.call, history, path)
    found = list(
        history.calls(
            agent=arguments.agent,
            since_at=arguments.since,
            limit=arguments.limit or None,
            alerts=arguments.alerts,
            call=name,
        )
    )
    if not found:
        narrowed = arguments.agent or arguments.since or arguments.alerts or name
        which = "no such calls" if narrowed else "no calls yet"
        print(f"turnwatch: the history {path} has {which}", file=sys.stderr)
    if arguments.json:
        _as_json(found, history if name else None, output)
    elif name:
        calls_shown.show_each(found, history, output)
    else:
        calls_shown.show_table(found, output)


def _name(given: str, history: History, path: Path) -> str:
    """The id of the call that is meant."""
    from monitor.sinks.literal import literal

    if any(history.calls(call=given, limit=1)):
        return given
    names = history.names(given, 6)
    if len(names) == 1:
        return names[0]
    if not names:
        raise Failure(SOURCE, f"the history {path} has no call {literal(given, 80)}")
    some = ", ".join(literal(name, 60) for name in names[:5])
    more = ", ..." if len(names) > 5 else ""
    raise Failure(WRONG, f"several calls begin with {literal(given, 80)}: {some}{more}; say more of the id")


def _as_json(found: list[Call], history: History | None, output: Output) -> None:
    """`history`: to add all that is known of each."""
    from json import dumps

    from monitor.sinks.history.details import details

    utf_8 = output.encoding.replace("-", "").casefold() == "utf8"
    for call in found:
        told = call.as_dict()
        if history is not None:
            known = details(history, call)
            told = {**told, "turns": known.pop("turns"), **known}
        output.write(dumps(told, ensure_ascii=not utf_8, separators=(",", ":")) + "\n")
