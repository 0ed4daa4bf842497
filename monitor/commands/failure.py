"""How a command ends: the exit codes, and the one line for what went wrong."""

from __future__ import annotations

DONE, MISSED, WRONG, SOURCE, INTERRUPTED = 0, 1, 2, 3, 130


class Failure(Exception):
    """Ends a command with `code`. The message is for the user: one line, whose fault it is and what to do."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(" ".join(message.split()))
        self.code = code
