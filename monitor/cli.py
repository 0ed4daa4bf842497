"""The command line: argv -> objects -> `watch`; nothing else. What each command does stands in `monitor.commands`.

Exit codes: 0 done; 1 a threshold given on the command line was missed; 2 the command line or the configuration is
wrong; 3 the source could not be opened or failed; 130 stopped by Ctrl-C, 143 by SIGTERM, after everything open was
flushed.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from monitor.commands import COMMANDS
from monitor.commands.failure import INTERRUPTED, SOURCE, WRONG, Failure

DESCRIPTION = """\
Watches voice-agent calls while they happen: who speaks, who waits, who interrupts whom,
and how natural the turn-taking is, as a running score between 0 and 1.
"""

EPILOG = """\
examples:
  turnwatch demo                                  a whole call, no account needed
  turnwatch watch wav:call.flac                   a recording, at the speed of the call
  turnwatch watch wav:call.flac --speed max --json > events.jsonl
  turnwatch watch wav:call.flac --speed max --fail-under 0.7      exit code 1 if it scores less
  ffmpeg -i call.mp4 -f s16le -ac 2 -ar 16000 - | turnwatch watch pcm:- --rate 16000
  turnwatch serve                                 a relay for ElevenLabs, an endpoint for Twilio

exit codes:
  0 done   1 a threshold was missed   2 the command line or the configuration is wrong
  3 a source or the output failed, or could not be opened   130, 143 stopped by Ctrl-C, by SIGTERM

`turnwatch COMMAND --help` shows what a command takes.
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"turnwatch: {message} (see {self.prog} --help)\n")


class _Version(argparse.Action):
    """`--version`, looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        parser.exit(0, f"turnwatch {version('turnwatch')}\n")


def build_parser() -> argparse.ArgumentParser:
    """The whole command line. Imports nothing heavy."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = _Parser("turnwatch", description=DESCRIPTION, epilog=EPILOG, formatter_class=layout, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, command in COMMANDS.items():
        own = commands.add_parser(
            name,
            help=command.SUMMARY,
            description=command.DESCRIPTION,
            epilog=command.EXAMPLES,
            formatter_class=layout,
            allow_abbrev=False,
        )
        command.add_arguments(own)
        own.set_defaults(run=command.run)
    return parser


def _leave_at_ctrl_c() -> None:
    """Until the command listens for it: nothing is open yet, and an exception in the middle of an import can crash."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. -> its exit code. What the user did wrong is told on one line of standard error."""
    _leave_at_ctrl_c()
    arguments = build_parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
    except Failure as failure:
        print(f"turnwatch: {failure}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:  # before the command could listen for it
        return INTERRUPTED
    except Exception:
        # A code of its own would be read as a missed threshold: Python's is 1.
        logging.exception("this is a fault of turnwatch itself: please report it")
        return SOURCE
    return code


if __name__ == "__main__":
    sys.exit(main())
