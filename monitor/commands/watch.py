"""`turnwatch watch SOURCE…`: calls from sources that it opens itself."""

from __future__ import annotations

import argparse
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from monitor.commands import options, sinks
from monitor.commands.failure import DONE, MISSED, SOURCE, WRONG, Failure

if TYPE_CHECKING:
    from monitor.config import Config
    from monitor.core.events import CallEnded
    from monitor.runtime.delivery import Delivery
    from monitor.runtime.inquiry import Bench
    from monitor.runtime.stopping import Stop
    from monitor.runtime.watch import Watching
    from monitor.sinks.progress import Progress

log = logging.getLogger("turnwatch")

SUMMARY = "watch recordings, audio from a pipe, or recorded tapes"

DESCRIPTION = """\
Watches one or more calls. A SOURCE is one of

  wav:call.wav                  a recording: left the caller, right the agent (FLAC, Ogg, MP3 as well)
  wav:caller.wav,agent.wav      a recording in two files
  pcm:- or pcm:FILE             raw samples from standard input or a file
  tape:FILE                     a tape that --tape has kept: the same events again, byte for byte

`wav:call.wav?channels=agent,caller` swaps the sides; rate, encoding, call, agent_id and label.NAME go there as well.
"""

EXAMPLES = """\
examples:
  turnwatch watch wav:call.flac
  turnwatch watch wav:call.flac --speed max --json > events.jsonl
  turnwatch watch monday/*.wav --speed max --fail-under 0.7
  ffmpeg -i call.mp4 -f s16le -ac 2 -ar 16000 - | turnwatch watch pcm:- --rate 16000

If whoever reads standard output leaves (as `| head` does), watching goes on for as long as a tape is kept or a
threshold is to be judged; otherwise it ends with exit code 0.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `watch` takes."""
    parser.add_argument("sources", metavar="SOURCE", nargs="+", help="see above")
    options.add_speed(parser)
    parser.add_argument(
        "--fail-under",
        metavar="SCORE",
        type=options.share,
        help="exit code 1 if a call's turn-taking score is under this, or if it has none",
    )
    group = parser.add_argument_group("what the bytes are")
    group.add_argument("--rate", metavar="HZ", type=options.hertz, help="samples a second of raw audio (8000)")
    group.add_argument("--encoding", metavar="NAME", help="s16le (as it is), mulaw or alaw")
    group.add_argument("--channels", metavar="ORDER", help="whose voice each channel holds: caller,agent (as it is)")
    group.add_argument(
        "--transcript",
        metavar="FILE",
        help="words of a recording (.json, .vtt); call.json beside call.wav is found",
    )
    options.add_judge(parser)
    sinks.add_arguments(parser)
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Watch all sources side by side."""
    from monitor.commands.output import log_to_stderr
    from monitor.runtime import stopping

    log_to_stderr()
    config = options.config(arguments, sinks.assignments(arguments))
    bench = _bench(arguments, config)
    calls = _open(arguments, config, bench)
    return stopping.run(lambda stop: _watch(arguments, config, bench, calls, stop))


def _bench(arguments: argparse.Namespace, config: Config) -> Bench:
    """Whom all sources ask; nobody where they are tapes, which hold their answers."""
    from monitor.runtime.inquiry import Bench, bench_for
    from monitor.runtime.judging import NoJudge

    if _tapes_only(arguments):
        return Bench()
    try:
        return bench_for(config)
    except NoJudge as error:
        raise Failure(WRONG, str(error)) from error


def _tapes_only(arguments: argparse.Namespace) -> bool:
    return all(word.startswith("tape:") for word in arguments.sources)


def _open(arguments: argparse.Namespace, config: Config, bench: Bench) -> list[Watching]:
    from connectors.base import ConnectorError, SourceError
    from monitor.runtime.call_names import CallNames
    from monitor.runtime.hearing import NoDetector
    from monitor.runtime.watch import watch

    names = CallNames()
    tapes = options.tape_folder(arguments)
    known = options.source_options(arguments)
    if sum(word.partition("?")[0] == "pcm:-" for word in arguments.sources) > 1:
        raise Failure(WRONG, "standard input can be read only once")
    if arguments.transcript and len(arguments.sources) > 1:
        own = "each recording can have its own: wav:call.wav?transcript=FILE"
        raise Failure(WRONG, f"--transcript holds the words of one recording, and there are several sources; {own}")
    try:
        return [
            watch(word, config=config, speed=arguments.speed, tape_dir=tapes, options=known, bench=bench, names=names)
            for word in arguments.sources
        ]
    except SourceError as error:
        raise Failure(WRONG, str(error)) from error
    except (ConnectorError, NoDetector) as error:
        raise Failure(SOURCE, str(error)) from error


async def _watch(arguments: argparse.Namespace, config: Config, bench: Bench, calls: list[Watching], stop: Stop) -> int:
    import asyncio

    from monitor.commands.output import add_stdout, finish, judge_line
    from monitor.runtime.delivery import Delivery

    delivery = Delivery()
    sinks.attach(delivery, config, patient=True)
    progress = _progress(arguments, calls)
    add_stdout(
        delivery,
        json=arguments.json,
        status=lambda: [call.status for call in calls],
        many=len(calls) > 1,
        progress=progress,
        opening=judge_line(config.core.relevancy, tapes_only=_tapes_only(arguments)),
        bell=arguments.bell,
    )

    def end_all() -> None:
        delivery.hurry()
        for call in calls:
            call.stop()

    stop.when_wanted(end_all)
    if arguments.tape is None and arguments.fail_under is None:
        delivery.when_alone(end_all)
    following = [_follow(call, delivery, arguments.fail_under) for call in calls]
    async with _shown(progress, calls):
        codes = await asyncio.gather(*following)
    await bench.close()
    # A source that failed explains a score that is not there.
    return await finish(delivery, stop, max(codes))


def _progress(arguments: argparse.Namespace, calls: list[Watching]) -> Progress | None:
    """How far the reading is, where that is not the speed of the call. The feed shows it in its own status line."""
    from monitor.sinks.progress import Progress

    lengths = [call.length_ms for call in calls]
    total = sum(length or 0 for length in lengths) if all(lengths) else None
    return Progress(total, drawn=arguments.json) if arguments.speed is None else None


@asynccontextmanager
async def _shown(progress: Progress | None, calls: list[Watching]) -> AsyncIterator[None]:
    """Keep `progress` up to date meanwhile."""
    import asyncio

    async def advance(progress: Progress) -> None:
        while True:
            progress.advance(sum(call.status.now_ms for call in calls))
            await asyncio.sleep(0.1)

    ticking = asyncio.create_task(advance(progress)) if progress else None
    try:
        yield
    finally:
        if progress and ticking:
            ticking.cancel()
            progress.close()


async def _follow(call: Watching, delivery: Delivery, threshold: float | None) -> int:
    """Hand on one call's events. -> the exit code that it asks for."""
    from connectors.base import ConnectorError
    from monitor.core.events import CallEnded

    code = DONE
    try:
        async for event in call:
            await delivery.deliver(event)
            if isinstance(event, CallEnded) and threshold is not None:
                code = _judge(event, threshold)
    except ConnectorError as error:
        log.error("%s", error)
        return SOURCE
    return SOURCE if call.cause == "failed" or call.tape_failed else code


def _judge(ended: CallEnded, threshold: float) -> int:
    figures = ended.summary.get("turn_taking") or {}
    score = figures.get("score")
    if score is None:
        log.error("%s: there is no turn-taking score, so --fail-under %g is missed", ended.call, threshold)
    elif score < threshold:
        log.error("%s: the turn-taking score %.4f is under %g", ended.call, score, threshold)
    else:
        return DONE
    return MISSED
