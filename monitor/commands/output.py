"""Standard output, and how a command leaves it behind."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence

from monitor.commands.failure import SOURCE, Failure
from monitor.core.call import Status
from monitor.core.relevancy_settings import RelevancySettings
from monitor.runtime.delivery import Delivery
from monitor.runtime.judging import described
from monitor.runtime.stopping import Stop
from monitor.sinks import Sink
from monitor.sinks.console import ConsoleSink
from monitor.sinks.jsonl import JsonLinesSink
from monitor.sinks.progress import Progress

OUTPUT = "standard output"


def log_to_stderr() -> None:
    """One line a message, in the manner of `turnwatch: …`."""
    logging.basicConfig(level=logging.WARNING, format="turnwatch: %(message)s", stream=sys.stderr)
    if hasattr(sys.stderr, "reconfigure"):
        sys.stderr.reconfigure(errors="backslashreplace")


def judge_line(settings: RelevancySettings, *, tapes_only: bool = False) -> str:
    """Which judge listens."""
    return f"relevancy: {'as it was judged when the tape was made' if tapes_only else described(settings)}"


def add_stdout(
    delivery: Delivery,
    *,
    json: bool,
    status: Callable[[], Sequence[Status]],
    many: bool = False,
    progress: Progress | None = None,
    patient: bool = True,
    opening: str | None = None,
    bell: bool = False,
) -> None:
    """Events to standard output: as JSON Lines, or as a feed for people. `status`: how the calls stand that go on.
    `patient`: the calls can wait for whoever reads. `opening`: what people are told first.
    `bell`: alerts ring at a terminal."""
    if sys.stdout is None:
        raise Failure(SOURCE, "there is no standard output to write to")
    sink: Sink
    if json:
        sink = JsonLinesSink(sys.stdout.buffer)
    else:
        sink = ConsoleSink(status=status, many=many, progress=progress, opening=opening, bell=bell)
    delivery.add(OUTPUT, sink, own_thread=True, patient=patient)


async def finish(delivery: Delivery, stop: Stop, code: int, within_s: float = 3.0) -> int:
    """Let all sinks finish, within `within_s` seconds once there is a hurry. -> the exit code: `code`, unless a signal
    came or the output failed. Where a sink hangs even then, the program ends here and now."""
    finished = await delivery.close(within_s)
    failure = delivery.failures.get(OUTPUT)
    if isinstance(failure, BrokenPipeError | SystemExit):
        # Whoever read has left. Python would complain about that once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    elif failure is not None:
        code = SOURCE
    code = stop.code or code
    if not finished:
        sys.stderr.flush()
        os._exit(code)
    return code
