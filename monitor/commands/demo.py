"""`turnwatch demo`: a whole call, without an account, a key or a sound card."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from monitor.commands import options, sinks
from monitor.commands.failure import DONE, SOURCE, WRONG, Failure

if TYPE_CHECKING:
    from monitor.config import Config
    from monitor.runtime.stopping import Stop

SUMMARY = "a whole call against a simulated agent: no account, no key, no sound card"

DESCRIPTION = """\
Holds a call of about a minute on this machine and watches it: a scripted caller talks through the real relay with a
simulated ElevenLabs agent. There are quick answers, a slow one, a barge-in, a backchannel, and an agent that talks
over its caller.
"""

EXAMPLES = """\
examples:
  turnwatch demo
  turnwatch demo --speed max                 the same call at once, without the sockets
  turnwatch demo --json | head -3            as events
  turnwatch demo --tape tapes                and then: turnwatch watch tape:tapes/CALL.tape
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `demo` takes."""
    options.add_speed(parser)
    options.add_judge(parser)
    sinks.add_bell(parser)
    options.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Hold the call."""
    from monitor.commands.output import log_to_stderr
    from monitor.runtime import stopping
    from monitor.runtime.inquiry import bench_for
    from monitor.runtime.judging import NoJudge

    log_to_stderr()
    config = options.config(arguments)
    try:
        bench_for(config)  # a judge that cannot be had is told before anything is shown
    except NoJudge as error:
        raise Failure(WRONG, str(error)) from error
    return stopping.run(lambda stop: _demo(arguments, config, stop), fast=True)


async def _demo(arguments: argparse.Namespace, config: Config, stop: Stop) -> int:
    from connectors.base import ConnectorError
    from monitor.commands.output import add_stdout, finish, judge_line
    from monitor.config import ConfigError
    from monitor.runtime.delivery import Delivery
    from monitor.runtime.demo import Demo
    from monitor.runtime.hearing import NoDetector

    demo = Demo(config, speed=arguments.speed, tape_dir=options.tape_folder(arguments))
    delivery = Delivery()
    add_stdout(
        delivery,
        json=arguments.json,
        status=lambda: demo.calls,
        patient=arguments.speed != 1.0,
        opening=judge_line(config.core.relevancy),
        bell=arguments.bell,
    )
    stop.when_wanted(demo.stop)
    stop.when_wanted(delivery.hurry)
    if arguments.tape is None:
        delivery.when_alone(demo.stop)
    failure: Failure | None = None
    try:
        await demo.run(delivery.deliver)
    except ConfigError as error:
        failure = Failure(WRONG, str(error))
    except (ConnectorError, NoDetector) as error:
        failure = Failure(SOURCE, str(error))
    code = await finish(delivery, stop, SOURCE if demo.cause == "failed" else DONE)
    if failure is not None and stop.code is None:
        raise failure
    return code
