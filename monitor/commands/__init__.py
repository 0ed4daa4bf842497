"""The commands of `turnwatch`, one file each. To add one: a file like the others, and a row here.

    SUMMARY = "says hello"                                    # one line in `turnwatch --help`
    DESCRIPTION = "Says hello to a name."
    EXAMPLES = "examples:\\n  turnwatch hello --name World"

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--name")

    def run(arguments: argparse.Namespace) -> int:            # -> the exit code; what is heavy is imported here
        ...

Nothing heavy is imported at the top of these files: `turnwatch --help` loads them all.
"""

from __future__ import annotations

import argparse
from typing import Protocol

from monitor.commands import calls, demo, fleet, serve, watch

__all__ = ["COMMANDS", "Command"]


class Command(Protocol):
    """What a command's file holds."""

    @property
    def SUMMARY(self) -> str: ...
    @property
    def DESCRIPTION(self) -> str: ...
    @property
    def EXAMPLES(self) -> str: ...

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Say what the command takes."""
        ...

    def run(self, arguments: argparse.Namespace, /) -> int:
        """Do it. -> the exit code. Raises Failure for what the user can mend."""
        ...


COMMANDS: dict[str, Command] = {"demo": demo, "watch": watch, "serve": serve, "fleet": fleet, "calls": calls}
